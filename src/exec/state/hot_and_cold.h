// A state of which some keys are in memory and the others in the cold tier, as one.
#pragma once

#include <functional>
#include <span>

#include "columnar/binary_key_table.h"
#include "columnar/binary_row.h"
#include "state/cold_tier.h"
#include "state/state_files.h"

namespace thalweg {

// All entries in the order of their keys, for a snapshot. `encode` appends the values of numbers of the table; `cold` may be
// null. Both outlive what is returned, and do not change while it runs.
StateEntries hotAndCold(const BinaryKeyTable& hot, ColdPartition* cold,
                        std::function<void(std::span<const uint32_t> numbers, BinaryRows* values)> encode);

}  // namespace thalweg
