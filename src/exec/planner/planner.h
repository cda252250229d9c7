// Logical plans to physical operators.
#pragma once

#include "exec/operators/operator.h"
#include "plan/logical/node.h"

namespace thalweg {

// Expressions are bound to columns by position and constants folded. `constants` gives time zone and time for folding.
PhysicalPtr planPhysical(const LogicalPtr& plan, const BatchContext& constants);

}  // namespace thalweg
