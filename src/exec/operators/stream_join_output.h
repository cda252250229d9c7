// The rows that come out of a join of two streams.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "exec/operators/stream_join.h"

namespace thalweg {

// Used by one thread.
class StreamJoinOutput {
 public:
  using Columns = std::vector<std::shared_ptr<arrow::Array>>;

  StreamJoinOutput(const PhysicalStreamJoin& node, arrow::MemoryPool* pool);
  void addPairs(Columns left, Columns right, int64_t numRows);
  // Rows of a side without the other's; of a semi join, the left's as they are.
  void addAlone(JoinSide side, Columns columns, int64_t numRows);
  std::vector<std::shared_ptr<arrow::RecordBatch>> take() { return std::move(batches_); }

 private:
  const PhysicalStreamJoin& node_;
  arrow::MemoryPool* pool_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches_;
};

}  // namespace thalweg
