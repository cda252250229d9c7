// Rows' keys as byte strings whose byte order is SQL's order: one comparison, one hash for any number of columns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "types/data_type.h"

namespace thalweg {

struct KeyColumn {
  DataTypePtr type;
  bool ascending = true;
  bool nullsFirst = true;
};

// Equal keys give equal bytes, smaller keys smaller bytes (memcmp), as Spark compares: −0.0 equals 0.0, NaN equals NaN and
// is the greatest, strings by their bytes, nulls equal each other. Immutable; safe on any thread.
class KeyEncoder {
 public:
  // Throws Error DATATYPE_MISMATCH.INVALID_ORDERING_TYPE for maps and other types without an order.
  explicit KeyEncoder(std::vector<KeyColumn> columns);

  // Appends the key of one row to `out`. arrays[i] has the type of column i.
  void append(const std::vector<std::shared_ptr<arrow::Array>>& arrays, int64_t row, std::string* out) const;

 private:
  std::vector<KeyColumn> columns_;
};

}  // namespace thalweg
