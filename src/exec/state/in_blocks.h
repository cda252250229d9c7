// Work on many values a block at a time: columns of a block stay in the cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace thalweg {

inline constexpr size_t kBlockSize = 8192;

// Calls f with spans of at most kBlockSize values, in their order.
template <typename T, typename F>
void inBlocks(std::span<const T> values, F&& f) {
  for (size_t at = 0; at < values.size(); at += kBlockSize) f(values.subspan(at, std::min(kBlockSize, values.size() - at)));
}

}  // namespace thalweg
