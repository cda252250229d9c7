// One side's rows of a batch, on their way to the partitions of a join's state.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "exec/operators/stream_join.h"

namespace thalweg {

// Rows that may have a partner, in the order of the state's partitions.
struct JoinInputBatch {
  std::shared_ptr<arrow::RecordBatch> rows;
  std::vector<std::shared_ptr<arrow::Array>> keys;
  std::vector<int64_t> starts;  // of each partition's rows, one more than partitions
};

struct JoinInput {
  std::vector<JoinInputBatch> batches;
  // Rows that the side's filter left out, where the join lets them come out without a partner.
  std::vector<std::shared_ptr<arrow::RecordBatch>> alone;
  int64_t numLate = 0;
};

// Reads a partition of an input to its end. Late rows, and rows that neither can have a partner nor come out
// without one, are left out.
JoinInput readJoinInput(const PhysicalStreamJoin& node, JoinSide side, RunningOperator& input, int partition,
                        Execution& execution, int numStatePartitions);

}  // namespace thalweg
