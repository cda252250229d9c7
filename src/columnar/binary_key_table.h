// Numbers binary rows (columnar/binary_row.h), and forgets them again: the hash table behind keyed state.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace thalweg {

// Open addressing; keys lie in chunks of memory. Numbers of removed keys are given to later ones, so that
// columns indexed by them stay as long as the most keys there ever were. Used by one thread.
class BinaryKeyTable {
 public:
  BinaryKeyTable();

  // The number of a key; a new one gets a free number.
  uint32_t findOrAdd(std::string_view key, bool* added);
  // (*found)[i] = is keys[i] there? Any number of threads at once, while none changes the table.
  void contains(std::span<const std::string_view> keys, std::vector<uint8_t>* found) const;
  // The same for many keys, each with the one before it in the table: numbers[i] is that of keys[i], and
  // `added` gets the i of new ones. Faster than one by one, as memory is asked for ahead of its use.
  void findOrAdd(std::span<const std::string_view> keys, std::vector<uint32_t>* numbers,
                 std::vector<uint32_t>* added);
  // The key must be there. Its view ends.
  void remove(uint32_t number);

  // Valid until the next remove.
  std::string_view key(uint32_t number) const { return {keys_[number].bytes, keys_[number].size}; }
  bool isLive(uint32_t number) const { return keys_[number].size != kFree; }
  // Keys that are there.
  int64_t size() const { return static_cast<int64_t>(keys_.size() - freeNumbers_.size()); }
  // All numbers are below.
  int64_t numbersEnd() const { return static_cast<int64_t>(keys_.size()); }
  std::vector<uint32_t> liveNumbers() const;
  // The same, ascending by the keys' bytes (unsigned).
  std::vector<uint32_t> sortedNumbers() const;
  int64_t keyBytes() const { return liveBytes_; }
  int64_t memoryBytes() const;

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  // Half a hash tells most keys apart without a look at them; the other half is the place.
  struct Slot {
    uint32_t tag;
    uint32_t number;  // kFree where free
  };
  struct Key {
    const char* bytes = nullptr;
    uint32_t size = kFree;
  };
  // Where keys' bytes lie: a chunk is never moved while a key is in it.
  class Arena {
   public:
    const char* copy(std::string_view bytes);
    int64_t usedBytes() const { return usedBytes_; }
    int64_t memoryBytes() const { return memoryBytes_; }

   private:
    std::vector<std::unique_ptr<char[]>> chunks_;
    char* end_ = nullptr;  // of the last chunk
    size_t left_ = 0;      // in it
    int64_t usedBytes_ = 0, memoryBytes_ = 0;
  };

  static uint32_t tagOf(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  size_t slotOf(std::string_view key, uint64_t hash) const;
  uint32_t findOrAdd(std::string_view key, uint64_t hash, bool* added);
  void reserveSlots(size_t keys);
  void compact();

  std::vector<Slot> slots_;  // a power of two
  std::vector<Key> keys_;
  std::vector<uint32_t> freeNumbers_;
  Arena arena_;
  int64_t liveBytes_ = 0;
};

}  // namespace thalweg
