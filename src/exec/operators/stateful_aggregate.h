// Aggregation over a stream: the batch's groups are merged into those of all batches before it.
#pragma once

#include "connector/sink.h"
#include "exec/state/aggregate_state.h"
#include "exec/state/operator_state.h"

namespace thalweg {

// Output as PhysicalAggregate's. Which groups come out is the output mode's:
//   append    groups that the watermark has passed, once, and they leave the state
//   update    groups that this batch changed; those that the watermark has passed leave the state in silence
//   complete  all groups; none ever leaves
// In append and update, rows of groups that the watermark of the batch before had passed are late: they are
// dropped.
class PhysicalStatefulAggregate final : public StatefulNode {
 public:
  // `eventTime` names the grouping column by which groups end, if there is one. With `panes` the child's rows
  // have panes for windows.
  PhysicalStatefulAggregate(SchemaPtr schema, std::vector<ExpressionPtr> grouping, Aggregates aggregates,
                            OutputMode mode, std::optional<EventTimeKey> eventTime, std::optional<WindowPanes> panes,
                            int operatorId, PhysicalPtr child);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;

  std::string operatorName() const override { return "stateStoreSave"; }
  std::vector<StoreDefinition> stores() const override;
  std::vector<std::unique_ptr<StorePartition>> makePartition() const override;
  // Without grouping columns all is in the first partition.
  int numPartitionsUsed(int numPartitions) const override { return grouping_.empty() ? 1 : numPartitions; }
  std::string fingerprint() const override;
  bool wantsAnotherBatch(int64_t usedWatermarkMs, int64_t watermarkMs) const override;

 private:
  friend class StatefulAggregateRun;
  std::vector<ExpressionPtr> grouping_;
  Aggregates aggregates_;
  OutputMode mode_;
  AggregateStateLayout layout_;
};

}  // namespace thalweg
