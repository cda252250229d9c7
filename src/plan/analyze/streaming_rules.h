// What may stand over a stream in which output mode: Spark's rules, in one place.
#pragma once

#include <vector>

#include "connector/sink.h"
#include "plan/logical/node.h"

namespace thalweg {

// Throws the condition with which Spark refuses to start this streaming plan in this mode: STREAMING_OUTPUT_MODE.
// UNSUPPORTED_OPERATION where the mode does not fit, _LEGACY_ERROR_TEMP_3102 (Spark's unnamed condition) for operators.
void checkStreamingPlan(const LogicalNode& plan, OutputMode mode);

// The aggregations over a stream at and below a node, the topmost first.
std::vector<const LogicalAggregate*> streamingAggregates(const LogicalNode& plan);

}  // namespace thalweg
