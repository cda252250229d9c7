#include "columnar/byte_order.h"

#include <algorithm>
#include <cstring>

namespace thalweg {
namespace {

using Keys = std::span<const std::string_view>;

struct SortedKey {
  uint64_t bytes;  // eight of the key's, as a number that sorts as they do
  uint32_t index;
};

// Keys that agree before `depth`.
struct Run {
  size_t depth;
  std::span<SortedKey> keys;
};

// Eight bytes of a key from `depth` on; zeros beyond its end.
uint64_t bytesAt(std::string_view key, size_t depth) {
  uint64_t bytes = 0;
  if (depth + 8 <= key.size())
    std::memcpy(&bytes, key.data() + depth, 8);
  else if (depth < key.size())
    std::memcpy(&bytes, key.data() + depth, key.size() - depth);
  return __builtin_bswap64(bytes);
}

// How far the keys of a run agree: at least to its depth.
size_t commonLength(const Run& run, Keys keys) {
  const std::string_view first = keys[run.keys.front().index];
  size_t length = first.size();
  for (const SortedKey& key : run.keys) {
    const std::string_view other = keys[key.index];
    length = std::min(length, other.size());
    const auto begin = static_cast<int64_t>(run.depth);
    const auto end = first.begin() + static_cast<int64_t>(length);
    length = static_cast<size_t>(std::mismatch(first.begin() + begin, end, other.begin() + begin).first - first.begin());
    if (length == run.depth) break;
  }
  return length;
}

// Sorts a run by its next eight bytes, and adds the runs that agree in them too to `more`.
void sortRun(Run run, Keys keys, std::vector<Run>* more) {
  const size_t depth = run.depth;
  const auto sorted = run.keys;
  for (SortedKey& key : sorted) key.bytes = bytesAt(keys[key.index], depth);
  std::sort(sorted.begin(), sorted.end(), [](const SortedKey& a, const SortedKey& b) { return a.bytes < b.bytes; });
  for (auto same = sorted.begin(); same != sorted.end();) {
    const auto end = std::find_if(same, sorted.end(), [&](const SortedKey& key) { return key.bytes != same->bytes; });
    if (end - same == 1) {
      same = end;
      continue;
    }
    // A key that ends here comes before those that go on, of which the zeros may be real.
    const auto longer =
        std::partition(same, end, [&](const SortedKey& key) { return keys[key.index].size() <= depth + 8; });
    std::sort(same, longer,
              [&](const SortedKey& a, const SortedKey& b) { return keys[a.index].size() < keys[b.index].size(); });
    if (end - longer > 1) more->push_back({depth + 8, {longer, end}});
    same = end;
  }
}

}  // namespace

// Eight bytes at a time, past what a run's keys share: comparisons of whole keys would go through memory for each of
// them again and again.
std::vector<uint32_t> byteOrderOf(Keys keys) {
  std::vector<SortedKey> sorted;
  sorted.reserve(keys.size());
  for (uint32_t index = 0; index < keys.size(); ++index) sorted.push_back({0, index});
  std::vector<Run> runs;
  if (keys.size() > 1) runs.push_back({0, sorted});
  while (!runs.empty()) {
    Run run = runs.back();
    runs.pop_back();
    run.depth = commonLength(run, keys);
    sortRun(run, keys, &runs);
  }
  std::vector<uint32_t> order;
  order.reserve(sorted.size());
  for (const SortedKey& key : sorted) order.push_back(key.index);
  return order;
}

}  // namespace thalweg
