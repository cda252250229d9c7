// One schema for files that have different ones.
#pragma once

#include "types/data_type.h"

namespace thalweg {

// The left's columns, then those that only the right has; nested ones alike. Decimals of one
// scale get the larger precision, every other type must be the same. Throws Error CANNOT_MERGE_SCHEMAS naming
// both.
SchemaPtr mergedSchema(const SchemaPtr& left, const SchemaPtr& right, bool caseSensitive);

}  // namespace thalweg
