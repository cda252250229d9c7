#include "columnar/binary_key_table.h"

#include "columnar/key_hash.h"

namespace thalweg {
namespace {

constexpr size_t kFirstSlots = 64;
// Bytes of removed keys below this are not worth copying the others.
constexpr size_t kCompactAbove = 1 << 20;

}  // namespace

BinaryKeyTable::BinaryKeyTable() : slots_(kFirstSlots, Slot{0, kFree}) {}

// The slot with the key, or the free one where it belongs.
size_t BinaryKeyTable::slotOf(std::string_view key, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].number != kFree && !(slots_[at].hash == hash && this->key(slots_[at].number) == key))
    at = (at + 1) & mask;
  return at;
}

uint32_t BinaryKeyTable::findOrAdd(std::string_view key, bool* added) {
  const uint64_t hash = hashKeyBytes(key);
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
  keys_[number] = {arena_.size(), static_cast<uint32_t>(key.size())};
  arena_.append(key);
  liveBytes_ += static_cast<int64_t>(key.size());
  slots_[at] = {hash, number};
  if (static_cast<size_t>(size()) * 2 > slots_.size()) resizeSlots(slots_.size() * 2);
  return number;
}

bool BinaryKeyTable::contains(std::string_view key) const {
  return slots_[slotOf(key, hashKeyBytes(key))].number != kFree;
}

void BinaryKeyTable::remove(uint32_t number) {
  const std::string_view removed = key(number);
  const size_t mask = slots_.size() - 1;
  size_t hole = slotOf(removed, hashKeyBytes(removed));
  // Keys behind the hole move into it where that is nearer to the slot of their hash, so that no probe ends
  // too early.
  for (size_t at = (hole + 1) & mask; slots_[at].number != kFree; at = (at + 1) & mask) {
    const size_t home = slots_[at].hash & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    slots_[hole] = slots_[at];
    hole = at;
  }
  slots_[hole].number = kFree;
  liveBytes_ -= keys_[number].size;
  keys_[number] = Key();
  freeNumbers_.push_back(number);
  if (arena_.size() > kCompactAbove && arena_.size() > 2 * static_cast<size_t>(liveBytes_)) compact();
}

void BinaryKeyTable::resizeSlots(size_t count) {
  std::vector<Slot> old(count, Slot{0, kFree});
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.number == kFree) continue;
    size_t at = slot.hash & mask;
    while (slots_[at].number != kFree) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

void BinaryKeyTable::compact() {
  std::string live;
  live.reserve(static_cast<size_t>(liveBytes_) * 2);
  for (Key& key : keys_) {
    if (key.size == kFree) continue;
    const size_t offset = live.size();
    live.append(arena_, key.offset, key.size);
    key.offset = offset;
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

int64_t BinaryKeyTable::memoryBytes() const {
  return static_cast<int64_t>(slots_.capacity() * sizeof(Slot) + keys_.capacity() * sizeof(Key) +
                              freeNumbers_.capacity() * sizeof(uint32_t) + arena_.capacity());
}

}  // namespace thalweg
