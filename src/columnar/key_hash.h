// The hash of encoded keys in memory. Not Spark's: nothing at rest depends on it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace thalweg {

// FNV-like over 8-byte words with a final mix; keys are short.
inline uint64_t hashKeyBytes(std::string_view bytes) {
  uint64_t hash = 0x9e3779b97f4a7c15ULL ^ bytes.size();
  const char* data = bytes.data();
  size_t left = bytes.size();
  while (left >= 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    hash = (hash ^ word) * 0xff51afd7ed558ccdULL;
    hash ^= hash >> 32;
    data += 8;
    left -= 8;
  }
  uint64_t word = 0;
  std::memcpy(&word, data, left);
  hash = (hash ^ word) * 0xc4ceb9fe1a85ec53ULL;
  return hash ^ (hash >> 29);
}

}  // namespace thalweg
