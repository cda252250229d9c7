// The columns that a table's files have statistics of, where its property names them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "delta/actions/actions.h"
#include "types/data_type.h"

namespace thalweg::delta {

inline constexpr std::string_view kStatisticsColumns = "delta.dataSkippingStatsColumns";

// A comma-separated list of dotted names, back-ticks around names that hold other characters than letters,
// digits and underscores; nullopt where the text is none, and no column where it is blank.
std::optional<std::vector<std::vector<std::string>>> parseColumnList(std::string_view text);

// Whether statistics hold the least and greatest values of columns of this type.
bool hasBounds(const DataType& type);

// For the property of a table that gets it, under its schema and partitioning. Throws Error
// DELTA_COLUMN_NOT_FOUND_IN_SCHEMA, DELTA_COLUMN_PATH_NOT_NESTED,
// DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE (of a column, or a field in it, without bounds),
// DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_PARTITIONED_COLUMN, DELTA_DUPLICATE_DATA_SKIPPING_COLUMNS.
void checkStatisticsColumns(const Metadata& metadata);

}  // namespace thalweg::delta
