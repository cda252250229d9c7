// What is known of a plan's rows without reading any.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/logical/node.h"

namespace thalweg {

// How many rows a plan gives at most: of local rows, tables that know, and what takes rows from those.
std::optional<int64_t> mostRows(const LogicalNode& node);

// The results of an aggregation that only counts the rows of a table which knows them, as constants; nothing for others. Of plans
// that run once: a streaming query's next batch may see another version.
std::optional<std::vector<ExpressionPtr>> knownCounts(const LogicalAggregate& aggregate);

}  // namespace thalweg
