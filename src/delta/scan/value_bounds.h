// Values in the order of their columns, and the bounds that a data file's statistics give for them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <arrow/type_fwd.h>

#include "types/data_type.h"

namespace thalweg::delta {

// A value in one of three orders; nothing where it cannot be ordered with certainty (null, NaN, decimals,
// bytes, nested ones).
using OrderedValue = std::variant<std::monostate, int64_t, double, std::string>;
OrderedValue orderedValue(const arrow::Scalar& scalar);
// Of a value that is not null.
OrderedValue orderedValue(const arrow::Array& array, int64_t row);

bool isSet(const OrderedValue& value);
// False where one of the two is not set, or of another order.
bool isLess(const OrderedValue& left, const OrderedValue& right);

// What is known of the values of one column in one file. Bounds that are not set are unbounded.
struct ValueBounds {
  OrderedValue min;
  OrderedValue max;
  std::optional<int64_t> nullCount;
  std::optional<int64_t> numRecords;

  bool mayHaveNulls() const { return !nullCount || *nullCount != 0; }
  bool allNull() const { return nullCount && numRecords && *numRecords > 0 && *nullCount == *numRecords; }
};

// The parsed `stats` of an add action. Text that is no statistics knows nothing. Used by one thread.
class StatisticsView {
 public:
  explicit StatisticsView(std::string_view stats);
  ~StatisticsView();

  // Of the single value that lies at `path` (physical names from the top).
  ValueBounds boundsOf(const std::vector<std::string>& path, const DataType& type) const;
  std::optional<int64_t> numRecords() const;

 private:
  struct Document;
  std::unique_ptr<Document> document_;
};

}  // namespace thalweg::delta
