// Memory for rows of bytes that come and go, mostly in the order in which they came.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace thalweg {

// Rows lie in chunks; a chunk goes when its last row has. Views hold until their row is removed. Used by one
// thread.
class RowArena {
 public:
  // Where a row lies.
  struct Place {
    uint32_t chunk = 0;
    uint32_t offset = 0;
    uint32_t size = 0;
  };

  // Throws Error UNSUPPORTED_FEATURE for a row of 4 GB or more.
  Place add(std::string_view bytes);
  void remove(const Place& place);
  std::string_view get(const Place& place) const {
    return {chunks_[place.chunk].bytes.get() + place.offset, place.size};
  }
  // For changes in place, of the same size.
  char* bytes(const Place& place) { return chunks_[place.chunk].bytes.get() + place.offset; }

  // True where removed rows hold on to more memory than there are rows: who owns the places then moves all
  // rows into another arena.
  bool isSparse() const;
  int64_t memoryBytes() const { return reservedBytes_; }
  int64_t liveBytes() const { return liveBytes_; }

 private:
  struct Chunk {
    std::unique_ptr<char[]> bytes;
    uint32_t capacity = 0;
    uint32_t used = 0;
    uint32_t live = 0;
  };
  void openChunk(size_t size);
  void release(uint32_t chunk);

  std::vector<Chunk> chunks_;
  std::vector<uint32_t> freeChunks_;  // numbers without memory
  uint32_t current_ = kNone;          // where rows are added
  int64_t reservedBytes_ = 0;
  int64_t liveBytes_ = 0;
  static constexpr uint32_t kNone = UINT32_MAX;
};

}  // namespace thalweg
