// The join of two streams: each side's rows meet the other's of all batches, which the state keeps for as
// long as partners may come.
#pragma once

#include <array>

#include "exec/state/join_state.h"
#include "exec/state/operator_state.h"
#include "expr/expression.h"
#include "plan/analyze/stream_join_bounds.h"
#include "plan/logical/join.h"

namespace thalweg {

// What a join of two streams is.
struct StreamJoin {
  struct Side {
    // Bound to the side's columns; of the same number and types on both sides, none of them null-safe.
    std::vector<ExpressionPtr> keys;
    // What a row of this side must be to have a partner at all; null: nothing.
    ExpressionPtr filter;
    // The column that carries the watermark: rows that it has passed are late.
    std::optional<EventTimeKey> eventTime;
    // Until when rows have partners to come; empty: for ever. Not asked where keys end.
    std::vector<StreamJoinBound> bounds;
  };
  JoinType type = JoinType::Inner;
  std::array<Side, 2> sides;
  // The key that carries a watermark: rows of both sides end by it.
  std::optional<EventTimeKey> keyExpiry;
  // What must hold of a pair besides, bound to the left's columns followed by the right's; null: nothing.
  ExpressionPtr condition;

  const Side& side(JoinSide side) const { return sides[static_cast<size_t>(side)]; }
  // Do rows of this side come out without a partner?
  bool keeps(JoinSide side) const { return side == JoinSide::Left ? keepsLeft(type) : keepsRight(type); }
};

// Output: pairs at once; rows without a partner when the watermark says that none can come; of a semi join,
// rows of the left with their first partner, which then leave the state. Rows with a null in their key have
// no partner. Both inputs are read when it is started: what comes out of a batch is held in memory.
class PhysicalStreamJoin final : public StatefulNode {
 public:
  // Inner, outer and left semi joins.
  PhysicalStreamJoin(SchemaPtr schema, StreamJoin join, int operatorId, PhysicalPtr left, PhysicalPtr right);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;

  std::string operatorName() const override { return "symmetricHashJoin"; }
  std::vector<StoreDefinition> stores() const override { return layout_.stores(); }
  std::vector<std::unique_ptr<StorePartition>> makePartition() const override {
    return JoinStore::makeAll(layout_);
  }
  std::string fingerprint() const override { return nameOf(join_.type); }
  bool wantsAnotherBatch(int64_t usedWatermarkMs, int64_t watermarkMs) const override;
  // Both sides' event times may go on: the earliest that either side may still give out.
  std::optional<int64_t> outputWatermark(int64_t inputMs) const override;

  const StreamJoin& join() const { return join_; }
  const JoinStateLayout& layout() const { return layout_; }
  const PhysicalNode& input(JoinSide side) const { return *children()[static_cast<size_t>(side)]; }
  // The event time in milliseconds up to which rows of a side have no partner to come; none: they always may.
  std::optional<int64_t> stateWatermarkMs(JoinSide side, int64_t inputMs) const;

 private:
  StreamJoin join_;
  JoinStateLayout layout_;
};

}  // namespace thalweg
