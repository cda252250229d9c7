// Whether a watermark lets the state of a join of two streams end: Spark's test before it starts an outer or
// a semi join.
#pragma once

#include "plan/logical/join.h"

namespace thalweg {

// True where a key of the join is an event time: rows leave the state by key.
bool hasWatermarkInKeys(const LogicalJoin& join);

// True where the condition holds rows of `held` to a time not earlier than what the other side's watermark
// gives
// ("held.time >= other.time - interval 1 hour"): rows of `held` leave the state by their time. Both are sides
// of the join.
bool isBoundedByWatermarkOf(const LogicalJoin& join, const LogicalNode& held, const LogicalNode& other);

}  // namespace thalweg
