#include "delta/log/text_arena.h"

#include <algorithm>

namespace thalweg::delta {

const char* TextArena::store(std::string_view bytes) {
  constexpr size_t kChunkBytes = 1 << 20;
  // A chunk is never grown past its capacity: addresses into it must hold.
  if (chunks_.empty() || chunks_.back().size() + bytes.size() > chunks_.back().capacity()) {
    // Doubling from small keeps the layer of a small commit small.
    const size_t wanted =
        chunks_.empty() ? bytes.size() : std::min(kChunkBytes, 2 * chunks_.back().capacity());
    chunks_.emplace_back();
    chunks_.back().reserve(std::max(wanted, bytes.size()));
  }
  std::string& chunk = chunks_.back();
  const size_t at = chunk.size();
  chunk.append(bytes);
  sizeBytes_ += bytes.size();
  return chunk.data() + at;
}

}  // namespace thalweg::delta
