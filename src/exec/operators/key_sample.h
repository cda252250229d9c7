// Where to cut rows into ranges of about equal size, by a sample of their keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

// A fixed number of keys, drawn evenly from all that were added; the beginnings of long ones. Memory is
// bounded whatever the rows are. Used by one thread.
class KeySample {
 public:
  // Samples with different seeds draw independently; the same rows give the same sample on every run.
  explicit KeySample(uint64_t seed) : random_(seed) {}

  // A key as columnar/key_encoder.h encodes it: bytes order as the rows do.
  void add(std::string_view key);
  // As if the other's keys had been added here: neither side weighs more than its rows.
  void take(KeySample other);

  // The last keys of all ranges but the last one, ascending, each once: as even as equal keys let them be,
  // and fewer than asked for where there are fewer keys.
  std::vector<std::string> bounds(int numRanges) &&;

 private:
  // Each key gets a random rank, and those of the lowest ranks stay.
  struct Entry {
    uint64_t rank;
    std::string key;
    bool operator<(const Entry& other) const { return rank < other.rank; }
  };
  void addRanked(uint64_t rank, std::string_view key);

  std::vector<Entry> entries_;  // a heap, the highest rank first
  std::mt19937_64 random_;
};

}  // namespace thalweg
