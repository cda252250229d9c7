// Statistics that a checkpoint keeps as typed columns, as the JSON text that adds carry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <arrow/type_fwd.h>

namespace thalweg::delta {

// The JSON text of one row of `stats_parsed` {numRecords, minValues, maxValues, nullCount, tightBounds}; nullopt where the
// row is null. Null leaves are left out; values of types that statistics do not have are left out too.
std::optional<std::string> parsedStatsToJson(const arrow::Array& statsParsed, int64_t row);

}  // namespace thalweg::delta
