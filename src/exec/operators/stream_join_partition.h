// A join of two streams within one partition of its state: where rows meet, are kept, and end.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "exec/operators/stream_join_input.h"
#include "exec/operators/stream_join_output.h"

namespace thalweg {

// One batch's work, by one thread: all of the left's rows are added, then all of the right's, then what has
// ended leaves.
class StreamJoinPartition {
 public:
  // `partition` is the state's.
  StreamJoinPartition(const PhysicalStreamJoin& node, Execution& execution, JoinState& state,
                      StateMetrics& metrics, int partition);

  // Joins the partition's rows of a batch with what the state has of the other side, and keeps those that may
  // have partners yet.
  void add(JoinSide side, const JoinInputBatch& batch);
  void evict();
  std::vector<std::shared_ptr<arrow::RecordBatch>> takeOutput() { return output_.take(); }

 private:
  // New rows of a side, while they meet the other's.
  struct Probe {
    JoinSide side;
    std::shared_ptr<arrow::RecordBatch> rows;
    std::vector<std::shared_ptr<arrow::Array>> keys;
    std::vector<uint32_t> keyNumbers;
    std::vector<uint8_t> hasNullKey;  // empty: none has
    std::vector<uint8_t> matched;
    std::vector<int64_t> rowSizes;  // in bytes
  };
  void match(Probe& probe);
  void tryPairs(Probe& probe);
  std::vector<int32_t> holdingPairs(const Probe& probe, std::vector<std::shared_ptr<arrow::Array>>* left,
                                    std::vector<std::shared_ptr<arrow::Array>>* right) const;
  void noteMatches(Probe& probe, const std::vector<int32_t>& pairs);
  void keep(const Probe& probe);
  bool isKept(const Probe& probe, size_t row, const std::optional<int64_t>& time) const;
  std::vector<std::optional<int64_t>> expiryTimes(const Probe& probe) const;
  void leave(JoinSide side, const std::vector<uint32_t>& rows);
  void emitUnmatched(JoinSide side, const std::vector<uint32_t>& rows);
  void emitHeld(JoinSide side, const std::vector<uint32_t>& rows);

  const PhysicalStreamJoin& node_;
  const StreamJoin& join_;
  Execution& execution_;
  EvaluationContext context_;
  JoinState& state_;
  StateMetrics& metrics_;
  StreamJoinOutput output_;
  std::shared_ptr<arrow::Schema> pairSchema_;
  // Of each side, in microseconds, up to when its rows end with this batch.
  std::array<std::optional<int64_t>, 2> endMicros_;
  // The pairs that are tried next: a row of the probe, one of the state.
  std::vector<int32_t> probeRows_;
  std::vector<uint32_t> heldRows_;
  std::vector<uint32_t> gone_;  // rows of the left of a semi join that have come out
  int64_t pairBytes_ = 0;
  // Reused from batch to batch.
  BinaryRows keyBytes_, rowBytes_;
};

}  // namespace thalweg
