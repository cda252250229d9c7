// What a table's metadata must satisfy, whoever changes it.
#pragma once

#include "delta/actions/actions.h"

namespace thalweg::delta {

// For metadata that takes the place of `before` (null: of a new table). Throws Error
// - RESERVED_CDC_COLUMNS_ON_WRITE for a new column named as those of the change data feed, where the feed is
//   on, and DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS where it is switched on over such columns: the feed could
//   not tell them from its own;
// - DELTA_UNSUPPORTED_DATA_TYPES for columns, at any level, of types that Delta has not: intervals.
void checkNewMetadata(const Metadata* before, const Metadata& after);

}  // namespace thalweg::delta
