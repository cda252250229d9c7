// Aggregation by sessions over a stream: the batch's sessions are merged into those of all batches before it.
#pragma once

#include "connector/sink.h"
#include "exec/state/operator_state.h"
#include "exec/state/session_state.h"

namespace thalweg {

// Output as PhysicalSessionAggregate's. Append: sessions that the watermark has passed come out, once, and
// leave the state. Complete: all sessions, and none ever leaves. Rows whose own session the watermark of the
// batch before had passed are late, and dropped, whatever the mode: they could join no session that is still
// there.
class PhysicalStatefulSessions final : public StatefulNode {
 public:
  // `session` numbers the grouping expression that is each row's own session; `hasWatermark`: its time is an
  // event time.
  PhysicalStatefulSessions(SchemaPtr schema, std::vector<ExpressionPtr> grouping, size_t session,
                           Aggregates aggregates, OutputMode mode, bool hasWatermark, int operatorId,
                           PhysicalPtr child);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;

  std::string operatorName() const override { return "sessionWindowStateStoreSaveExec"; }
  std::vector<StoreDefinition> stores() const override;
  std::vector<std::unique_ptr<StorePartition>> makePartition() const override;
  std::string fingerprint() const override;
  bool wantsAnotherBatch(int64_t usedWatermarkMs, int64_t watermarkMs) const override;

 private:
  friend class StatefulSessionsRun;
  std::vector<ExpressionPtr> grouping_;
  Aggregates aggregates_;
  OutputMode mode_;
  bool hasWatermark_;
  SessionStateLayout layout_;
};

}  // namespace thalweg
