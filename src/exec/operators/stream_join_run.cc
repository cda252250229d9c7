#include "exec/operators/stream_join_run.h"

#include <algorithm>

#include <arrow/api.h>

#include "exec/operators/state_output.h"
#include "exec/operators/stream_join_partition.h"

namespace thalweg {

StreamJoinRun::StreamJoinRun(const PhysicalStreamJoin& node, Execution& execution)
    : node_(node),
      execution_(execution),
      state_(*execution.states.at(static_cast<size_t>(node.operatorId()))) {}

void StreamJoinRun::readInputs(RunningOperator& left, RunningOperator& right) {
  const int numLeft = left.numPartitions();
  inputs_[0].resize(static_cast<size_t>(numLeft));
  inputs_[1].resize(static_cast<size_t>(right.numPartitions()));
  execution_.pool->runAll(numLeft + right.numPartitions(), [&](int i) {
    const JoinSide side = i < numLeft ? JoinSide::Left : JoinSide::Right;
    const int partition = i < numLeft ? i : i - numLeft;
    JoinInput& read = inputs_[static_cast<size_t>(side)][static_cast<size_t>(partition)];
    read = readJoinInput(node_, side, side == JoinSide::Left ? left : right, partition, execution_,
                         state_.numPartitions());
    state_.metrics().rowsDroppedByWatermark += read.numLate;
  });
}

std::unique_ptr<RunningOperator> StreamJoinRun::run(RunningOperator& left, RunningOperator& right) {
  {
    const MetricStopwatch watch(state_.metrics().updatesMs);
    readInputs(left, right);
  }
  std::vector<std::vector<std::shared_ptr<arrow::RecordBatch>>> results(
      static_cast<size_t>(state_.numPartitions()));
  execution_.pool->runAll(state_.numPartitions(), [&](int partition) {
    const MetricStopwatch watch(state_.metrics().updatesMs);
    auto& store = static_cast<JoinStore&>(state_.partition(0, partition));
    StreamJoinPartition join(node_, execution_, store.state(), state_.metrics(), partition);
    // Each pair once: the left's new rows meet what the right had before, the right's all that the left has.
    for (const JoinSide side : kJoinSides) {
      for (const JoinInput& input : inputs_[static_cast<size_t>(side)]) {
        for (const JoinInputBatch& batch : input.batches) join.add(side, batch);
      }
    }
    join.evict();
    results[static_cast<size_t>(partition)] = join.takeOutput();
  });
  // Rows that never went to the state.
  StreamJoinOutput alone(node_, execution_.evaluation().memoryPool());
  for (const JoinSide side : kJoinSides) {
    for (const JoinInput& input : inputs_[static_cast<size_t>(side)]) {
      for (const auto& rows : input.alone) alone.addAlone(side, rows->columns(), rows->num_rows());
    }
  }
  for (auto& batch : alone.take()) results[0].push_back(std::move(batch));
  return outputOf(std::move(results), std::min(state_.numPartitions(), execution_.pool->numSlots()));
}

}  // namespace thalweg
