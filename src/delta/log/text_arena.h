// Many small texts, kept in few pieces of memory.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace thalweg::delta {

// Bytes with stable addresses; grows in chunks of 1 MiB, so that a large table never copies its records to
// grow.
class TextArena {
 public:
  // The copy's address, valid as long as the arena (also where it was moved).
  const char* store(std::string_view bytes);
  size_t sizeBytes() const { return sizeBytes_; }

 private:
  std::deque<std::string> chunks_;
  size_t sizeBytes_ = 0;
};

}  // namespace thalweg::delta
