// A value of any type as CAST(… AS STRING) and show() print it: {1, a}, [1, 2], {k -> v}, 1.0E10.
#pragma once

#include <string>

#include <arrow/type_fwd.h>

#include "types/data_type.h"
#include "types/time_zone.h"

namespace thalweg {

// Immutable; safe on any thread.
class ValueText {
 public:
  ValueText(const DataType& type, TimeZone zone) : type_(type), zone_(std::move(zone)) {}
  // Appends the text of a value that is not null.
  void append(const arrow::Array& array, int64_t row, std::string* out) const { appendValue(type_, array, row, out); }

 private:
  void appendValue(const DataType& type, const arrow::Array& array, int64_t row, std::string* out) const;
  void appendOrNull(const DataType& type, const arrow::Array& array, int64_t row, std::string* out) const;
  const DataType& type_;
  TimeZone zone_;
};

}  // namespace thalweg
