// Keys with several entries each in a store — sessions, rows of a join — and what is one value of all of a
// key's where they leave memory: how they are joined to one, and how a load that has no room in memory brings
// them together.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "state/cold_tier.h"

namespace thalweg {

// Strings one after the other, each behind its size (4 bytes).
void appendSized(std::string_view bytes, std::string* out);
// The next of them, cut off from `rest`, which has one.
std::string_view takeSized(std::string_view* rest);

// A key's part of the files, as a load found it. Parts of a key are told apart by numbers.
struct KeyPart {
  uint32_t key = 0;  // among the keys of a block
  uint64_t number = 0;
  std::string value;
};

// Parts in any order, on local disk, until they are read by key. Used by one thread.
class KeyParts {
 public:
  // See ColdSorter.
  explicit KeyParts(ColdPartition& partition) : sorter_(partition) {}
  void put(std::string_view key, uint64_t number, std::string_view value) {
    sorter_.put(bytesOf(key, number), value);
  }
  void remove(std::string_view key, uint64_t number) { sorter_.remove(bytesOf(key, number)); }
  // Parts of all keys by their numbers.
  void removeIf(const std::function<bool(uint64_t number)>& isUnwanted);
  // Calls `visit` with some keys at a time, and all their parts: by key, then ascending by number.
  void takeAll(
      const std::function<void(const std::vector<std::string>& keys, std::span<const KeyPart> parts)>& visit);

 private:
  static std::string bytesOf(std::string_view key, uint64_t number);

  ColdSorter sorter_;
};

}  // namespace thalweg
