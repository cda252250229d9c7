// Where the keys of one data file lie.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "delta/upsert/key_hasher.h"

namespace thalweg::delta {

// Built once from the hashes of a file's rows, deleted ones too; 16.5 bytes a row, and a search costs two
// cache misses whatever the file's size. Of a hash 96 bits are kept: with ten million rows, a batch of a
// thousand keys meets a false one once in 10^18 batches. Immutable; safe on any thread.
class KeyIndex {
 public:
  // hashes[i] is of row i. Throws unsupported() beyond 2^32 rows.
  explicit KeyIndex(std::span<const KeyHash> hashes);

  int64_t numRows() const { return static_cast<int64_t>(entries_.size()); }
  size_t sizeBytes() const;
  // Appends the rows that have this key, in no order.
  void find(const KeyHash& key, std::vector<int64_t>* rows) const;

 private:
  struct Entry {
    uint64_t high;
    uint32_t low;
    uint32_t row;
  };
  size_t bucketOf(uint64_t high) const { return shift_ == 64 ? 0 : high >> shift_; }

  int shift_ = 64;
  std::vector<uint32_t>
      buckets_;                 // by the first bits of a hash: where its entries begin, one more than buckets
  std::vector<Entry> entries_;  // by bucket
};

}  // namespace thalweg::delta
