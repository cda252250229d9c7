// Bounds of a column while its values pass, and their forms for footers and for those who wrote the file.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "formats/parquet/parquet_file.h"

namespace parquet {
class ColumnDescriptor;
class EncodedStatistics;
}  // namespace parquet

namespace thalweg {

// Of integers (decimals unscaled) and floating-point numbers. NaN is only noted, and is no bound.
template <typename Value, typename Given = int64_t>
class NumberBounds {
 public:
  void add(Value value) {
    low_ = value < low_ ? value : low_;
    high_ = value > high_ ? value : high_;
    any_ = true;
    if constexpr (std::is_floating_point_v<Value>) nan_ |= value != value;
  }
  ParquetBounds get() const {
    ParquetBounds bounds;
    bounds.hasNan = nan_;
    if (!any_ || low_ > high_) return bounds;  // the latter: nothing but NaN
    bounds.min = static_cast<Given>(low_);
    bounds.max = static_cast<Given>(high_);
    return bounds;
  }

 private:
  static constexpr Value highest() {
    if constexpr (std::is_floating_point_v<Value>) return std::numeric_limits<Value>::infinity();
    if constexpr (sizeof(Value) == 16) return static_cast<Value>(~static_cast<unsigned __int128>(0) >> 1);
    return std::numeric_limits<Value>::max();
  }
  static constexpr Value lowest() {
    if constexpr (std::is_floating_point_v<Value>) return -std::numeric_limits<Value>::infinity();
    if constexpr (sizeof(Value) == 16) return -highest() - 1;
    return std::numeric_limits<Value>::lowest();
  }

  Value low_ = highest();
  Value high_ = lowest();
  bool any_ = false;
  bool nan_ = false;
};

// Of bytes, in unsigned order. Compares eight bytes at once: most values are settled by their front.
class BinaryBounds {
 public:
  void add(std::string_view value) {
    const uint64_t front = frontOf(value);
    if (!any_) {
      min_ = max_ = value;
      minFront_ = maxFront_ = front;
      any_ = true;
      return;
    }
    if (front < minFront_ || (front == minFront_ && value < min_)) {
      min_ = value;
      minFront_ = front;
    }
    if (front > maxFront_ || (front == maxFront_ && value > max_)) {
      max_ = value;
      maxFront_ = front;
    }
  }
  ParquetBounds get() const {
    ParquetBounds bounds;
    if (!any_) return bounds;
    bounds.min = min_;
    bounds.max = max_;
    return bounds;
  }

 private:
  static uint64_t frontOf(std::string_view value) {
    uint64_t front = 0;
    if (value.size() >= 8) {
      std::memcpy(&front, value.data(), 8);
      return __builtin_bswap64(front);
    }
    for (size_t i = 0; i < value.size(); ++i)
      front |= uint64_t{static_cast<uint8_t>(value[i])} << (56 - 8 * i);
    return front;
  }

  std::string min_;
  std::string max_;
  uint64_t minFront_ = 0;
  uint64_t maxFront_ = 0;
  bool any_ = false;
};

// Widens `bounds` to hold `more` too; both are of one column.
void widen(ParquetBounds& bounds, const ParquetBounds& more);

// As a footer has them, by the format's rules: plain values, no floating-point bound where there is only NaN,
// zeros that hold both signs, and no bound longer than 4096 bytes, for readers may take a bound for a value.
parquet::EncodedStatistics footerStatistics(const ParquetBounds& bounds, int64_t nullCount,
                                            const parquet::ColumnDescriptor& column);

}  // namespace thalweg
