// Logical plans to physical operators.
#pragma once

#include <functional>

#include "connector/sink.h"
#include "exec/operators/operator.h"
#include "plan/logical/node.h"

namespace thalweg {

// How aggregations over streams become stateful: in the query's output mode, numbered from the sink towards the sources.
struct StreamingPlanning {
  OutputMode mode = OutputMode::Append;
  // The schema of the keys in an operator's state, where the checkpoint has it: their columns' order is the one to go on with.
  std::function<SchemaPtr(int operatorId)> storedKey;
};

// Expressions are bound to columns by position and constants folded. `constants` gives time zone and time for folding. `streaming` is a
// streaming query's; without it the plan is a batch's.
PhysicalPtr planPhysical(const LogicalPtr& plan, const BatchContext& constants, const StreamingPlanning* streaming = nullptr);

}  // namespace thalweg
