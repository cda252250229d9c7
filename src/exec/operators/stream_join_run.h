// One batch of a join of two streams.
#pragma once

#include <memory>
#include <vector>

#include "exec/operators/stream_join_input.h"

namespace thalweg {

// The inputs are read and split by the partitions of the state, then a task a partition joins, keeps and lets
// go. Both outlive it.
class StreamJoinRun {
 public:
  StreamJoinRun(const PhysicalStreamJoin& node, Execution& execution);
  // What comes out, in at most as many partitions as there are threads.
  std::unique_ptr<RunningOperator> run(RunningOperator& left, RunningOperator& right);

 private:
  void readInputs(RunningOperator& left, RunningOperator& right);

  const PhysicalStreamJoin& node_;
  Execution& execution_;
  OperatorState& state_;
  std::array<std::vector<JoinInput>, 2> inputs_;  // a side, a partition of its input
};

}  // namespace thalweg
