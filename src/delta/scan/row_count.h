// How many rows a table has, by its log alone.
#pragma once

#include <cstdint>
#include <optional>

#include "delta/snapshot/snapshot.h"

namespace thalweg::delta {

// Rows of the live files by their statistics, less those that deletion vectors take; nothing where a file has
// no statistics, or such as cannot be: fewer rows than its vector takes, or a sum that is no long. Costs a
// walk over the files.
std::optional<int64_t> rowCount(const Snapshot& snapshot);

}  // namespace thalweg::delta
