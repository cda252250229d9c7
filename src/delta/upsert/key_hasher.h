// The keys of rows as hashes: equal keys have equal hashes, and different ones differ for all practical
// purposes.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "columnar/key_encoder.h"
#include "types/data_type.h"

namespace thalweg::delta {

struct KeyHash {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const KeyHash&) const = default;
};

// Hashes the bytes of columnar/key_encoder.h, so keys are equal as Spark groups them: nulls equal each other,
// −0.0 equals 0.0, all NaN are one. Seeded anew with every hasher: nobody can make records whose keys
// collide, and hashes of two hashers have nothing in common. Immutable; safe on any thread.
class KeyHasher {
 public:
  // Throws Error DATATYPE_MISMATCH.INVALID_ORDERING_TYPE for types that nothing is grouped by (maps). No
  // types: all keys are one.
  explicit KeyHasher(const std::vector<DataTypePtr>& types);

  // Appends the hash of each of the rows; columns[i] has the i-th type.
  void hash(const std::vector<std::shared_ptr<arrow::Array>>& columns, int64_t numRows,
            std::vector<KeyHash>* hashes) const;

 private:
  KeyEncoder encoder_;
  std::vector<unsigned char> secret_;
};

}  // namespace thalweg::delta
