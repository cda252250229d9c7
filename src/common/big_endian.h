// Numbers as bytes, the most significant first: what sorts as they do, and what Java writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace thalweg {

// sizeof(Integer) bytes; of a signed one those of its two's complement.
template <typename Integer>
void appendBigEndian(Integer value, std::string* out) {
  const auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
  char bytes[sizeof(Integer)];
  for (size_t i = 0; i < sizeof(Integer); ++i)
    bytes[i] = static_cast<char>(bits >> (8 * (sizeof(Integer) - 1 - i)));
  out->append(bytes, sizeof(Integer));
}

// The number that the first eight bytes are; `bytes` has at least as many.
inline uint64_t loadBigEndian64(std::string_view bytes) {
  uint64_t value = 0;
  for (const char byte : bytes.substr(0, sizeof(value))) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

}  // namespace thalweg
