// Which columns of a streaming query's output tell its rows apart in update mode.
#pragma once

#include <optional>
#include <vector>

#include "plan/logical/node.h"

namespace thalweg {

// The positions in the plan's output of the columns that its streaming aggregation groups by, renamed or not;
// in place of a struct (a window) its members may be there, and of a window of time one of them. No
// positions: it groups by nothing and has one row. Nothing: the stream has no aggregation, and its rows are
// only added. Throws unsupported() naming the column where a grouping column is not in the output, and where
// an operator above the aggregation makes several rows of a group's one.
std::optional<std::vector<int>> upsertKeyColumns(const LogicalNode& plan);

}  // namespace thalweg
