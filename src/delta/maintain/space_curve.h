// Rows' places on a curve through the space of several columns: rows that are near on it are near in every
// column.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "columnar/key_encoder.h"
#include "types/data_type.h"

namespace thalweg::delta {

// A column of single values: a table's own, or one inside of structs.
struct CurveColumn {
  std::vector<int> path;  // indexes from the rows' columns down
  DataTypePtr type;
};

// The values of a curve's columns in a batch, nulls where a struct around them is null.
std::vector<std::shared_ptr<arrow::Array>> curveValues(const arrow::RecordBatch& rows,
                                                       const std::vector<CurveColumn>& columns);

// Z-order: each column's values fall into ranges that hold about as many rows each, and the ranges' numbers
// are interleaved, the first column's highest bit first; null comes before all values. Immutable.
class SpaceCurve {
 public:
  // The place of each row.
  std::vector<uint64_t> places(const arrow::RecordBatch& rows) const;
  // The rows' indexes along the curve; rows of one place stay in their order.
  std::vector<int64_t> order(const arrow::RecordBatch& rows) const;
  // At most `count` − 1 places that part the rows into parts of about equal size, ascending.
  std::vector<uint64_t> cuts(int count) const;

 private:
  friend class CurveSample;

  // A column's ranges: range i holds the keys from bound i − 1 on, up to and without bound i.
  class Ranges {
   public:
    // `keys`: of a sample. `bits`: of a range's number.
    Ranges(std::vector<std::string> keys, int bits);
    size_t find(const std::string& key) const;
    size_t count() const { return bounds_.size() + 1; }

   private:
    std::vector<std::string> bounds_;        // ascending
    std::vector<unsigned __int128> fronts_;  // of the bounds: nearly all comparisons end there
  };
  struct Axis {
    Ranges ranges;
    std::vector<uint64_t> bits;  // of each range, where the column has its bits in a place
  };
  Axis makeAxis(size_t column, std::vector<std::string> keys) const;
  uint64_t placeOf(const std::vector<std::string>& keys) const;

  std::vector<CurveColumn> columns_;
  std::vector<KeyEncoder> encoders_;  // one a column
  std::vector<Axis> axes_;            // one a column
  std::vector<uint64_t> sample_;      // places, ascending
};

// What a curve is made from: a sample of the rows, of a size that does not grow with them. Rows are taken by
// a generator with a fixed seed: the same rows give the same curve. Used by one thread.
class CurveSample {
 public:
  // At most 64 columns.
  explicit CurveSample(std::vector<CurveColumn> columns);
  void add(const arrow::RecordBatch& rows);
  int64_t numRows() const { return numRows_; }
  // `columns` are where the curve will find its columns, in rows that may have others too.
  SpaceCurve finish(std::vector<CurveColumn> columns) &&;

 private:
  SpaceCurve curve_;
  std::minstd_rand random_{1};
  std::vector<std::vector<std::string>> rows_;
  int64_t numRows_ = 0;
};

}  // namespace thalweg::delta
