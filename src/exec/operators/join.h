// Joins: one side is held in memory, by key where the condition has equalities, and the other side's batches
// go past it.
#pragma once

#include "exec/operators/operator.h"
#include "plan/logical/join.h"

namespace thalweg {

enum class BuildSide { Left, Right };

// The side to build is read once, whole, when the first partition is opened, and shared by all partitions of
// the other side, which is never held: a batch of it gives batches of at most 64 k rows. Without keys every
// pair is tried, in blocks of the same size. Rows of the build side that nobody matched come out of the
// partition that ends last.
class PhysicalJoin final : public PhysicalNode {
 public:
  // Keys are bound to their own sides' columns, `condition.rest` to the left's followed by the right's. Semi
  // and anti joins build on the right. `eachOnce`: as LogicalJoin's; the condition has keys alone.
  PhysicalJoin(SchemaPtr schema, JoinType type, BuildSide buildSide, JoinCondition condition,
               PhysicalPtr left, PhysicalPtr right, bool eachOnce = false);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;

  JoinType type() const { return type_; }
  bool buildsLeft() const { return buildSide_ == BuildSide::Left; }
  bool eachOnce() const { return eachOnce_; }
  const JoinCondition& condition() const { return condition_; }
  const PhysicalNode& build() const { return *children()[buildsLeft() ? 0 : 1]; }
  const PhysicalNode& probe() const { return *children()[buildsLeft() ? 1 : 0]; }
  // Rows without a match that come out: of the probing side, of the built one.
  bool keepsProbe() const { return buildsLeft() ? keepsRight(type_) : keepsLeft(type_); }
  bool keepsBuild() const { return buildsLeft() ? keepsLeft(type_) : keepsRight(type_); }

 private:
  JoinType type_;
  BuildSide buildSide_;
  JoinCondition condition_;
  bool eachOnce_;
};

}  // namespace thalweg
