// Rewrites logical plans into cheaper ones with the same rows.
#pragma once

#include <vector>

#include "plan/logical/node.h"

namespace thalweg {

// All rules, in order. Deterministic; never changes the output's names, ids or types.
LogicalPtr optimize(const LogicalPtr& plan);

// What of a condition a table can judge its files by: comparisons of a column with a literal, joined by AND and OR. Constants
// must be folded (expr/constant_folding.h).
std::vector<ColumnPredicate> columnPredicates(const ExpressionPtr& condition);

// The rules, one a file.
LogicalPtr pruneColumns(const LogicalPtr& plan);
LogicalPtr pushDownFilters(const LogicalPtr& plan);
LogicalPtr pushDownPredicates(const LogicalPtr& plan);
LogicalPtr collapseProjects(const LogicalPtr& plan);

}  // namespace thalweg
