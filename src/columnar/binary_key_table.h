// Numbers binary rows (columnar/binary_row.h), and forgets them again: the hash table behind keyed state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

// Open addressing over 64-bit hashes; keys lie in one arena. Numbers of removed keys are given to later ones,
// so that columns indexed by them stay as long as the most keys there ever were. Used by one thread.
class BinaryKeyTable {
 public:
  BinaryKeyTable();

  // The number of a key; a new one gets a free number.
  uint32_t findOrAdd(std::string_view key, bool* added);
  // Is the key there? Any number of threads at once, while none changes the table.
  bool contains(std::string_view key) const;
  // The key must be there. Its view ends.
  void remove(uint32_t number);

  // Valid until the next findOrAdd or remove.
  std::string_view key(uint32_t number) const {
    return std::string_view(arena_).substr(keys_[number].offset, keys_[number].size);
  }
  bool isLive(uint32_t number) const { return keys_[number].size != kFree; }
  // Keys that are there.
  int64_t size() const { return static_cast<int64_t>(keys_.size() - freeNumbers_.size()); }
  // All numbers are below.
  int64_t numbersEnd() const { return static_cast<int64_t>(keys_.size()); }
  std::vector<uint32_t> liveNumbers() const;
  int64_t keyBytes() const { return liveBytes_; }
  int64_t memoryBytes() const;

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  struct Slot {
    uint64_t hash;
    uint32_t number;  // kFree where free
  };
  struct Key {
    size_t offset = 0;
    uint32_t size = kFree;
  };
  size_t slotOf(std::string_view key, uint64_t hash) const;
  void resizeSlots(size_t count);
  void compact();

  std::vector<Slot> slots_;  // a power of two
  std::vector<Key> keys_;
  std::vector<uint32_t> freeNumbers_;
  std::string arena_;
  int64_t liveBytes_ = 0;
};

}  // namespace thalweg
