// What a logical join of two streams becomes: its condition in Spark's parts, and by what its state ends.
#pragma once

#include "exec/operators/stream_join.h"
#include "expr/batch_context.h"
#include "plan/logical/join.h"

namespace thalweg {

// Throws Error _LEGACY_ERROR_TEMP_1181 where the condition has no equality of the two sides,
// _LEGACY_ERROR_TEMP_3077 where a side has two columns with a watermark, and UNSUPPORTED_FEATURE for
// null-safe equalities of types without a default value.
StreamJoin planStreamJoin(const LogicalJoin& join, const BatchContext& constants);

}  // namespace thalweg
