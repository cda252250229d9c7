#include "delta/upsert/key_index.h"

#include <bit>
#include <limits>

#include "common/error.h"

namespace thalweg::delta {
namespace {

constexpr size_t kEntriesPerBucket = 8;  // on average: two cache lines

}  // namespace

KeyIndex::KeyIndex(std::span<const KeyHash> hashes) {
  if (hashes.size() > std::numeric_limits<uint32_t>::max()) {
    throw unsupported("replacing rows by key in data files of more than 4,294,967,295 rows");
  }
  const int bits = std::bit_width(hashes.size() / kEntriesPerBucket);
  shift_ = 64 - bits;
  buckets_.assign((size_t{1} << bits) + 1, 0);
  entries_.resize(hashes.size());
  for (const KeyHash& hash : hashes) ++buckets_[bucketOf(hash.high) + 1];
  for (size_t i = 1; i < buckets_.size(); ++i) buckets_[i] += buckets_[i - 1];
  std::vector<uint32_t> next(buckets_.begin(), buckets_.end() - 1);
  for (size_t row = 0; row < hashes.size(); ++row) {
    const KeyHash& hash = hashes[row];
    entries_[next[bucketOf(hash.high)]++] = {hash.high, static_cast<uint32_t>(hash.low),
                                             static_cast<uint32_t>(row)};
  }
}

size_t KeyIndex::sizeBytes() const {
  return entries_.size() * sizeof(Entry) + buckets_.size() * sizeof(uint32_t);
}

void KeyIndex::find(const KeyHash& key, std::vector<int64_t>* rows) const {
  const size_t bucket = bucketOf(key.high);
  for (uint32_t i = buckets_[bucket]; i < buckets_[bucket + 1]; ++i) {
    const Entry& entry = entries_[i];
    if (entry.high == key.high && entry.low == static_cast<uint32_t>(key.low)) rows->push_back(entry.row);
  }
}

}  // namespace thalweg::delta
