// The statistics of a data file some of whose rows are deleted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace thalweg::delta {

// The JSON text that an add action with a deletion vector has: bounds and counts as they are, "tightBounds"
// false, and the number of rows in the file, which the protocol asks of such files. Other text than
// statistics is replaced by the two.
std::string withWideBounds(const std::optional<std::string>& stats, int64_t numRecords);

}  // namespace thalweg::delta
