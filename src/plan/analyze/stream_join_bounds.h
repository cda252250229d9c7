// Whether a watermark lets the state of a join of two streams end, and up to which event time: Spark's test
// before it starts an outer or a semi join, and its reckoning while it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/logical/join.h"

namespace thalweg {

// Which pair of keys of a join has an event time: rows leave the state by key. The first one of the left's,
// else of the right's.
std::optional<size_t> watermarkedKey(const std::vector<JoinKey>& keys);
bool hasWatermarkInKeys(const LogicalJoin& join);

// What a part of a join's condition says of one side's event times, once the watermark stands for the other
// side's: time > watermark + offset, or ≥ where `inclusive`.
struct StreamJoinBound {
  double offsetMicros = 0;
  bool inclusive = false;
};

// The bounds of `held` in a condition (null: none; "held.time >= other.time - interval 1 hour"). Both are
// sides of the join, and the condition's columns are theirs.
std::vector<StreamJoinBound> boundsByWatermarkOf(const ExpressionPtr& condition, const LogicalNode& held,
                                                 const LogicalNode& other);
bool isBoundedByWatermarkOf(const LogicalJoin& join, const LogicalNode& held, const LogicalNode& other);

// The time in milliseconds up to which, itself included, rows have no partner to come: the least that the
// bounds give; none without bounds.
std::optional<int64_t> stateWatermarkMs(const std::vector<StreamJoinBound>& bounds, int64_t watermarkMs);

}  // namespace thalweg
