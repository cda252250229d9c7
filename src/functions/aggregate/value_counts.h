// How often each value came: what mode and exact percentiles are made of.
#pragma once

#include <memory>

#include "functions/aggregate/group_rows.h"

namespace thalweg {

// Counts in Spark's bytes: for each value the size of a binary row (4 bytes, big-endian), the row of value
// and count; −1.
std::shared_ptr<arrow::Array> encodeCounts(const DataTypePtr& type, const GroupSets::Contents& contents,
                                           arrow::MemoryPool* pool);
// The counts again. Throws Error STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE for bytes of another form.
GroupSets::Contents decodeCounts(const DataTypePtr& type, const arrow::Array& bytes);

}  // namespace thalweg
