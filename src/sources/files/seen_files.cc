#include "sources/files/seen_files.h"

#include <algorithm>

namespace thalweg {
namespace {

constexpr size_t kFirstCapacity = 1024;

}  // namespace

SeenFiles::Slot SeenFiles::keyOf(std::string_view uri) const {
  if (nameOnly_) uri = uri.substr(uri.rfind('/') + 1);
  // FNV-1a of 128 bits.
  using Wide = unsigned __int128;
  constexpr Wide kPrime = (Wide{1} << 88) + 0x13b;
  Wide hash = (Wide{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
  for (const char c : uri) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  Slot slot{static_cast<uint64_t>(hash >> 64), static_cast<uint64_t>(hash), 0};
  if (slot.high == 0 && slot.low == 0) slot.low = 1;
  return slot;
}

// The key's slot, or the empty one where it belongs. There is always an empty one.
size_t SeenFiles::find(const Slot& key) const {
  const size_t mask = slots_.size() - 1;
  size_t at = (key.low ^ (key.high >> 17)) & mask;
  while ((slots_[at].high != 0 || slots_[at].low != 0) &&
         (slots_[at].high != key.high || slots_[at].low != key.low)) {
    at = (at + 1) & mask;
  }
  return at;
}

void SeenFiles::insert(const Slot& slot) {
  Slot& place = slots_[find(slot)];
  if (place.high == 0 && place.low == 0) ++count_;
  place = slot;
  oldestMs_ = std::min(oldestMs_, slot.timestampMs);
}

void SeenFiles::rebuild(size_t capacity, int64_t oldestMs) {
  std::vector<Slot> old(capacity);
  old.swap(slots_);
  count_ = 0;
  oldestMs_ = INT64_MAX;
  for (const Slot& slot : old) {
    if ((slot.high != 0 || slot.low != 0) && slot.timestampMs >= oldestMs) insert(slot);
  }
}

void SeenFiles::add(std::string_view uri, int64_t timestampMs) {
  if ((count_ + 1) * 4 > slots_.size() * 3) rebuild(std::max(kFirstCapacity, slots_.size() * 2), INT64_MIN);
  Slot slot = keyOf(uri);
  slot.timestampMs = timestampMs;
  insert(slot);
  newestMs_ = std::max(newestMs_, timestampMs);
}

bool SeenFiles::isNew(std::string_view uri, int64_t timestampMs) const {
  if (timestampMs < purgedBelowMs_) return false;
  if (slots_.empty()) return true;
  const Slot& slot = slots_[find(keyOf(uri))];
  return slot.high == 0 && slot.low == 0;
}

void SeenFiles::purge() {
  // A file's time may lie before 1970 or far ahead; the maximum age may be "for ever".
  if (__builtin_sub_overflow(newestMs_, maxAgeMs_, &purgedBelowMs_)) purgedBelowMs_ = INT64_MIN;
  if (oldestMs_ < purgedBelowMs_) rebuild(slots_.size(), purgedBelowMs_);
}

}  // namespace thalweg
