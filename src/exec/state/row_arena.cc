#include "exec/state/row_arena.h"

#include <algorithm>
#include <cstring>

#include "common/error.h"

namespace thalweg {
namespace {

// A state has an arena a partition and side, most of them small.
constexpr size_t kFirstChunk = 4096;
constexpr size_t kLargestChunk = size_t{1} << 20;
// Less is not worth moving rows for.
constexpr int64_t kSparseAbove = int64_t{4} << 20;

}  // namespace

RowArena::Place RowArena::add(std::string_view bytes) {
  if (bytes.size() >= UINT32_MAX) throw unsupported("A row of 4 GB in a query's state");
  if (current_ == kNone || chunks_[current_].capacity - chunks_[current_].used < bytes.size())
    openChunk(bytes.size());
  Chunk& chunk = chunks_[current_];
  const Place place{current_, chunk.used, static_cast<uint32_t>(bytes.size())};
  if (!bytes.empty()) std::memcpy(chunk.bytes.get() + chunk.used, bytes.data(), bytes.size());
  chunk.used += place.size;
  ++chunk.live;
  liveBytes_ += place.size;
  return place;
}

void RowArena::openChunk(size_t size) {
  const uint32_t full = current_;
  const size_t next = std::clamp(static_cast<size_t>(reservedBytes_), kFirstChunk, kLargestChunk);
  Chunk chunk;
  chunk.capacity = static_cast<uint32_t>(std::max(size, next));
  chunk.bytes = std::make_unique_for_overwrite<char[]>(chunk.capacity);
  reservedBytes_ += chunk.capacity;
  if (freeChunks_.empty()) {
    current_ = static_cast<uint32_t>(chunks_.size());
    chunks_.push_back(std::move(chunk));
  } else {
    current_ = freeChunks_.back();
    freeChunks_.pop_back();
    chunks_[current_] = std::move(chunk);
  }
  if (full != kNone && chunks_[full].live == 0) release(full);
}

void RowArena::release(uint32_t number) {
  reservedBytes_ -= chunks_[number].capacity;
  chunks_[number] = Chunk();
  freeChunks_.push_back(number);
}

void RowArena::remove(const Place& place) {
  Chunk& chunk = chunks_[place.chunk];
  liveBytes_ -= place.size;
  if (--chunk.live > 0) return;
  if (place.chunk == current_)
    chunk.used = 0;
  else
    release(place.chunk);
}

bool RowArena::isSparse() const {
  return reservedBytes_ > kSparseAbove && reservedBytes_ > 2 * liveBytes_;
}

}  // namespace thalweg
