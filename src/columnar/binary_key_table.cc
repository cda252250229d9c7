#include "columnar/binary_key_table.h"

#include <algorithm>
#include <cstring>

#include "columnar/byte_order.h"
#include "columnar/key_hash.h"

namespace thalweg {
namespace {

constexpr size_t kFirstSlots = 64;
constexpr size_t kFirstChunk = 4 << 10;
constexpr size_t kLargestChunk = 1 << 20;
// Bytes of removed keys below this are not worth copying the others.
constexpr int64_t kCompactAbove = 1 << 20;
// Keys whose memory is on its way at the same time.
constexpr size_t kBlock = 32;

}  // namespace

const char* BinaryKeyTable::Arena::copy(std::string_view bytes) {
  if (left_ < bytes.size()) {
    const size_t usual = std::clamp(static_cast<size_t>(memoryBytes_), kFirstChunk, kLargestChunk);
    left_ = std::max(usual, bytes.size());
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
    memoryBytes_ += static_cast<int64_t>(left_);
    end_ = chunks_.back().get() + left_;
  }
  char* place = end_ - left_;
  std::memcpy(place, bytes.data(), bytes.size());
  left_ -= bytes.size();
  usedBytes_ += static_cast<int64_t>(bytes.size());
  return place;
}

BinaryKeyTable::BinaryKeyTable() : slots_(kFirstSlots, Slot{0, kFree}) {}

// The slot with the key, or the free one where it belongs.
size_t BinaryKeyTable::slotOf(std::string_view key, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].number != kFree && !(slots_[at].tag == tagOf(hash) && this->key(slots_[at].number) == key))
    at = (at + 1) & mask;
  return at;
}

uint32_t BinaryKeyTable::findOrAdd(std::string_view key, bool* added) {
  reserveSlots(static_cast<size_t>(size()) + 1);
  return findOrAdd(key, hashKeyBytes(key), added);
}

uint32_t BinaryKeyTable::findOrAdd(std::string_view key, uint64_t hash, bool* added) {
  const size_t at = slotOf(key, hash);
  *added = slots_[at].number == kFree;
  if (!*added) return slots_[at].number;
  uint32_t number;
  if (freeNumbers_.empty()) {
    number = static_cast<uint32_t>(keys_.size());
    keys_.emplace_back();
  } else {
    number = freeNumbers_.back();
    freeNumbers_.pop_back();
  }
  keys_[number] = {arena_.copy(key), static_cast<uint32_t>(key.size())};
  liveBytes_ += static_cast<int64_t>(key.size());
  slots_[at] = {tagOf(hash), number};
  return number;
}

// A key costs up to three misses of the cache, one after the other: its slot, where its bytes are, the bytes.
// A block of keys takes each of the three steps together.
void BinaryKeyTable::findOrAdd(std::span<const std::string_view> keys, std::vector<uint32_t>* numbers,
                               std::vector<uint32_t>* added) {
  numbers->resize(keys.size());
  added->clear();
  uint64_t hashes[kBlock];
  uint32_t candidates[kBlock];
  for (size_t begin = 0; begin < keys.size(); begin += kBlock) {
    const auto block = keys.subspan(begin, std::min(kBlock, keys.size() - begin));
    reserveSlots(static_cast<size_t>(size()) + block.size());
    const size_t mask = slots_.size() - 1;
    for (size_t i = 0; i < block.size(); ++i) {
      hashes[i] = hashKeyBytes(block[i]);
      __builtin_prefetch(&slots_[hashes[i] & mask]);
    }
    for (size_t i = 0; i < block.size(); ++i) {
      const Slot& slot = slots_[hashes[i] & mask];
      candidates[i] = slot.number != kFree && slot.tag == tagOf(hashes[i]) ? slot.number : kFree;
      if (candidates[i] != kFree) __builtin_prefetch(&keys_[candidates[i]]);
    }
    for (size_t i = 0; i < block.size(); ++i) {
      if (candidates[i] != kFree) __builtin_prefetch(keys_[candidates[i]].bytes);
    }
    for (size_t i = 0; i < block.size(); ++i) {
      bool isNew = false;
      (*numbers)[begin + i] = findOrAdd(block[i], hashes[i], &isNew);
      if (isNew) added->push_back(static_cast<uint32_t>(begin + i));
    }
  }
}

void BinaryKeyTable::contains(std::span<const std::string_view> keys, std::vector<uint8_t>* found) const {
  found->resize(keys.size());
  const size_t mask = slots_.size() - 1;
  uint64_t hashes[kBlock];
  for (size_t begin = 0; begin < keys.size(); begin += kBlock) {
    const auto block = keys.subspan(begin, std::min(kBlock, keys.size() - begin));
    for (size_t i = 0; i < block.size(); ++i) {
      hashes[i] = hashKeyBytes(block[i]);
      __builtin_prefetch(&slots_[hashes[i] & mask]);
    }
    for (size_t i = 0; i < block.size(); ++i) {
      const Slot& slot = slots_[hashes[i] & mask];
      if (slot.number != kFree && slot.tag == tagOf(hashes[i])) __builtin_prefetch(&keys_[slot.number]);
    }
    for (size_t i = 0; i < block.size(); ++i)
      (*found)[begin + i] = slots_[slotOf(block[i], hashes[i])].number != kFree;
  }
}

void BinaryKeyTable::remove(uint32_t number) {
  const std::string_view removed = key(number);
  const size_t mask = slots_.size() - 1;
  size_t hole = slotOf(removed, hashKeyBytes(removed));
  // Keys behind the hole move into it where that is nearer to the slot of their hash, so that no probe ends
  // too early.
  for (size_t at = (hole + 1) & mask; slots_[at].number != kFree; at = (at + 1) & mask) {
    const size_t home = hashKeyBytes(key(slots_[at].number)) & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    slots_[hole] = slots_[at];
    hole = at;
  }
  slots_[hole].number = kFree;
  liveBytes_ -= keys_[number].size;
  keys_[number] = Key();
  freeNumbers_.push_back(number);
  if (arena_.usedBytes() > kCompactAbove && arena_.usedBytes() > 2 * liveBytes_) compact();
}

// Room for so many keys: two thirds of the slots at most are taken.
void BinaryKeyTable::reserveSlots(size_t keys) {
  if (keys * 3 <= slots_.size() * 2) return;
  slots_.assign(slots_.size() * 2, Slot{0, kFree});
  const size_t mask = slots_.size() - 1;
  for (uint32_t number = 0; number < keys_.size(); ++number) {
    if (!isLive(number)) continue;
    const uint64_t hash = hashKeyBytes(key(number));
    size_t at = hash & mask;
    while (slots_[at].number != kFree) at = (at + 1) & mask;
    slots_[at] = {tagOf(hash), number};
  }
}

void BinaryKeyTable::compact() {
  Arena live;
  for (Key& key : keys_) {
    if (key.size != kFree) key.bytes = live.copy({key.bytes, key.size});
  }
  arena_ = std::move(live);
}

std::vector<uint32_t> BinaryKeyTable::liveNumbers() const {
  std::vector<uint32_t> numbers;
  numbers.reserve(static_cast<size_t>(size()));
  for (uint32_t number = 0; number < keys_.size(); ++number) {
    if (isLive(number)) numbers.push_back(number);
  }
  return numbers;
}

std::vector<uint32_t> BinaryKeyTable::sortedNumbers() const {
  const std::vector<uint32_t> live = liveNumbers();
  std::vector<std::string_view> keys;
  keys.reserve(live.size());
  for (const uint32_t number : live) keys.push_back(key(number));
  std::vector<uint32_t> numbers = byteOrderOf(keys);
  for (uint32_t& number : numbers) number = live[number];
  return numbers;
}

int64_t BinaryKeyTable::memoryBytes() const {
  return static_cast<int64_t>(slots_.capacity() * sizeof(Slot) + keys_.capacity() * sizeof(Key) +
                              freeNumbers_.capacity() * sizeof(uint32_t)) +
         arena_.memoryBytes();
}

}  // namespace thalweg
