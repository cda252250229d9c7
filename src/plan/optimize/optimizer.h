// Rewrites logical plans into cheaper ones with the same rows.
#pragma once

#include <vector>

#include "plan/logical/node.h"

namespace thalweg {

// All rules, in order. Deterministic; never changes the output's names, ids or types.
LogicalPtr optimize(const LogicalPtr& plan);

// What of a condition a table can judge its files by: those of its parts that compare a column to a literal.
std::vector<ScanPredicate> scanPredicates(const ExpressionPtr& condition);

// The rules, one a file.
LogicalPtr pruneColumns(const LogicalPtr& plan);
LogicalPtr pushDownFilters(const LogicalPtr& plan);
LogicalPtr pushDownPredicates(const LogicalPtr& plan);
LogicalPtr collapseProjects(const LogicalPtr& plan);

}  // namespace thalweg
