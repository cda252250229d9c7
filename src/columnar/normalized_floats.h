// Floating point numbers as keys have them.
#pragma once

#include <cmath>
#include <limits>
#include <memory>

#include <arrow/type_fwd.h>

#include "types/data_type.h"

namespace thalweg {

// 0.0 for −0.0 and one NaN for all.
template <typename Float>
Float normalizedFloat(Float value) {
  if (value == 0) return 0;
  return std::isnan(value) ? std::numeric_limits<Float>::quiet_NaN() : value;
}

// The array with 0.0 for −0.0 and one NaN for all, also inside nested values: what Spark makes of grouping columns before
// it groups by them, and shows of them. The array itself where it has neither. Any thread.
std::shared_ptr<arrow::Array> normalizeFloats(const DataType& type, std::shared_ptr<arrow::Array> array,
                                              arrow::MemoryPool* pool);

}  // namespace thalweg
