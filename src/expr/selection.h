// Which rows of a batch count while an expression is evaluated.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

namespace thalweg {

// All rows of a batch, or an ascending list of row numbers. Rows outside a selection are computed or not, as is cheaper,
// but never raise an error. Cheap to copy; immutable.
class Selection {
 public:
  static Selection all(int64_t numRows) { return Selection(numRows, nullptr); }
  static Selection of(int64_t numRows, std::vector<int32_t> rows) {
    return Selection(numRows, std::make_shared<const std::vector<int32_t>>(std::move(rows)));
  }

  bool isAll() const { return !rows_; }
  bool isEmpty() const { return count() == 0; }
  // Rows of the batch, and rows that are selected.
  int64_t numRows() const { return numRows_; }
  int64_t count() const { return rows_ ? static_cast<int64_t>(rows_->size()) : numRows_; }

  // Calls f(row) for each selected row, in order.
  template <typename F>
  void forEach(F&& f) const {
    if (!rows_) {
      for (int64_t row = 0; row < numRows_; ++row) f(row);
    } else {
      for (int32_t row : *rows_) f(static_cast<int64_t>(row));
    }
  }

 private:
  Selection(int64_t numRows, std::shared_ptr<const std::vector<int32_t>> rows) : numRows_(numRows), rows_(std::move(rows)) {}
  int64_t numRows_;
  std::shared_ptr<const std::vector<int32_t>> rows_;
};

}  // namespace thalweg
