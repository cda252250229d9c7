#include "delta/log/text_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace thalweg::delta {
namespace {

constexpr size_t kChunkBytes = 4 << 20;
constexpr size_t kLargePageBytes = 2 << 20;

}  // namespace

void TextArena::Free::operator()(char* bytes) const {
  std::free(bytes);
}

TextArena::Chunk TextArena::makeChunk(size_t capacity) {
  const bool large = capacity >= kChunkBytes;
  if (large) capacity = (capacity + kLargePageBytes - 1) / kLargePageBytes * kLargePageBytes;
  Chunk chunk;
  chunk.bytes.reset(static_cast<char*>(large ? std::aligned_alloc(kLargePageBytes, capacity)
                                             : std::malloc(std::max<size_t>(capacity, 1))));
  if (!chunk.bytes) throw std::bad_alloc();
  // A wish: where it is not granted, pages are small ones.
  if (large) ::madvise(chunk.bytes.get(), capacity, MADV_HUGEPAGE);
  chunk.capacity = capacity;
  return chunk;
}

const char* TextArena::store(std::string_view bytes) {
  // A chunk is never grown past its capacity: addresses into it must hold.
  if (chunks_.empty() || chunks_.back().capacity - chunks_.back().size < bytes.size()) {
    // Doubling from small keeps the layer of a small commit small.
    const size_t wanted = chunks_.empty() ? bytes.size() : std::min(kChunkBytes, 2 * chunks_.back().capacity);
    chunks_.push_back(makeChunk(std::max(wanted, bytes.size())));
  }
  Chunk& chunk = chunks_.back();
  char* const at = chunk.bytes.get() + chunk.size;
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  chunk.size += bytes.size();
  sizeBytes_ += bytes.size();
  return at;
}

}  // namespace thalweg::delta
