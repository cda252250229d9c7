// Many small texts, kept in few pieces of memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace thalweg::delta {

// Bytes with stable addresses; grows in chunks that double up to 4 MiB, so that a large table never copies
// its records to grow. Chunks of that size lie in the system's large pages where it has them: to touch memory
// for the first time costs as much as to fill it.
class TextArena {
 public:
  // The copy's address, valid as long as the arena (also where it was moved).
  const char* store(std::string_view bytes);
  size_t sizeBytes() const { return sizeBytes_; }

 private:
  struct Free {
    void operator()(char* bytes) const;
  };
  struct Chunk {
    std::unique_ptr<char, Free> bytes;
    size_t size = 0;
    size_t capacity = 0;
  };
  static Chunk makeChunk(size_t capacity);

  std::vector<Chunk> chunks_;
  size_t sizeBytes_ = 0;
};

}  // namespace thalweg::delta
