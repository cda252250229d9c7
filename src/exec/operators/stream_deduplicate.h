// Deduplication over a stream: the first row of each key in the stream's life, or within the watermark's
// delay.
#pragma once

#include "exec/state/dedup_state.h"
#include "exec/state/operator_state.h"
#include "expr/expression.h"

namespace thalweg {

// How keys are compared and for how long: what PhysicalStreamDeduplicate is made of, bound to its child.
struct StreamDeduplication {
  std::vector<ExpressionPtr> keys;
  std::vector<StructField> keyFields;
  // The row's event time, a timestamp; null where the child has none. Rows that the watermark of the batch
  // before had passed are late, and dropped.
  ExpressionPtr eventTime;
  // Which of the keys it is, if any: a key is then kept until the watermark passes it, else for ever.
  std::optional<EventTimeKey> eventTimeKey;
  // Keys are kept for this long after the event time of their first row, whether they have an event time or
  // not. Needs an event time.
  std::optional<int64_t> withinDelayMs;
};

// Passes on the first row of each key at once, with all its columns, in the order of the input. Partitions
// come out as they come in. What is held is the keys, and, while a batch runs, the rows that may be first.
class PhysicalStreamDeduplicate final : public StatefulNode {
 public:
  PhysicalStreamDeduplicate(StreamDeduplication deduplication, int operatorId, PhysicalPtr child);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;

  std::string operatorName() const override;
  std::vector<StoreDefinition> stores() const override;
  std::vector<std::unique_ptr<StorePartition>> makePartition() const override;
  std::string fingerprint() const override { return operatorName(); }
  std::map<std::string, int64_t> customMetrics(const StateMetrics& metrics) const override {
    return {{"numDroppedDuplicateRows", metrics.duplicatesDropped}};
  }
  bool wantsAnotherBatch(int64_t usedWatermarkMs, int64_t watermarkMs) const override {
    return watermarkMs > usedWatermarkMs;
  }

 private:
  friend class StreamDeduplicateRun;
  StreamDeduplication deduplication_;
  DedupStateLayout layout_;
};

}  // namespace thalweg
