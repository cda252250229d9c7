#include "exec/operators/key_sample.h"

#include <algorithm>

namespace thalweg {
namespace {

constexpr size_t kMostKeys = 20'000;
// Ranges are cut between keys that differ in what is kept of them.
constexpr size_t kMostKeyBytes = 256;

}  // namespace

void KeySample::add(std::string_view key) {
  addRanked(random_(), key);
}

void KeySample::addRanked(uint64_t rank, std::string_view key) {
  if (entries_.size() == kMostKeys) {
    if (rank >= entries_.front().rank) return;
    std::pop_heap(entries_.begin(), entries_.end());
    entries_.pop_back();
  }
  entries_.push_back({rank, std::string(key.substr(0, kMostKeyBytes))});
  std::push_heap(entries_.begin(), entries_.end());
}

void KeySample::take(KeySample other) {
  for (const Entry& entry : other.entries_) addRanked(entry.rank, entry.key);
}

std::vector<std::string> KeySample::bounds(int numRanges) && {
  std::vector<std::string> keys;
  keys.reserve(entries_.size());
  for (Entry& entry : entries_) keys.push_back(std::move(entry.key));
  entries_.clear();
  std::sort(keys.begin(), keys.end());
  const double step = static_cast<double>(keys.size()) / numRanges;
  std::vector<std::string> bounds;
  double target = step;
  for (size_t i = 0; i < keys.size() && bounds.size() + 1 < static_cast<size_t>(numRanges); ++i) {
    if (static_cast<double>(i + 1) < target || (!bounds.empty() && keys[i] <= bounds.back())) continue;
    bounds.push_back(keys[i]);
    target += step;
  }
  return bounds;
}

}  // namespace thalweg
