// What exact and approximate percentiles share: values as doubles, and doubles as results.
#pragma once

#include <memory>
#include <span>

#include <arrow/buffer_builder.h>

#include "functions/aggregate/group_columns.h"

namespace thalweg {

// Numbers as doubles; of dates, times and intervals their days, microseconds or months.
std::shared_ptr<arrow::Array> toDoubles(const std::shared_ptr<arrow::Array>& values, const DataType& type);
// Back, without what a type of whole numbers cannot hold.
std::shared_ptr<arrow::Array> fromDoubles(const std::shared_ptr<arrow::Array>& numbers, const DataType& type);

// A number, or a list of them, for each group.
class PercentileResults {
 public:
  PercentileResults(bool isArray, arrow::MemoryPool* pool)
      : isArray_(isArray), numbers_(pool), offsets_(pool), valid_(pool) {}
  void add(const std::vector<double>& numbers);
  void addNull();
  // As values of the type, or lists of such.
  std::shared_ptr<arrow::Array> finish(const DataTypePtr& type);

 private:
  bool isArray_;
  arrow::DoubleBuilder numbers_;
  arrow::TypedBufferBuilder<int32_t> offsets_;
  arrow::TypedBufferBuilder<bool> valid_;
};

}  // namespace thalweg
