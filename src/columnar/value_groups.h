// Rows of a batch put together by equal values.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

namespace thalweg {

struct ValueGroup {
  int64_t firstRow = 0;
  std::vector<int64_t> rows;  // their numbers, in order; empty: all rows of the batch
};

// The rows by their values in these columns, nulls equal to each other, groups in order of first appearance;
// without columns one group. Of single values only. A batch without rows is the caller's to leave out.
std::vector<ValueGroup> groupByValues(const arrow::RecordBatch& rows, const std::vector<int>& columns);

// The group's rows of `rows`, which may have other columns than the batch that was grouped.
std::shared_ptr<arrow::RecordBatch> rowsOfGroup(const std::shared_ptr<arrow::RecordBatch>& rows,
                                                const ValueGroup& group);

}  // namespace thalweg
