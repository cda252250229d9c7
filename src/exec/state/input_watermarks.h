// How event time passes through a plan: what each operator with state may rely on. The one watermark of a
// query enters at its watermark nodes; an operator with state may hold rows back, and what is above it learns
// of event time what that leaves (Spark's rules).
#pragma once

#include <cstdint>
#include <vector>

#include "exec/operators/operator.h"

namespace thalweg {

// Of each stateful operator of the plan, by its number, the watermark of its input in milliseconds, where
// `watermarkMs` is the query's: the least that its inputs have, those without a watermark left out, and 0
// where none has one. Throws Error _LEGACY_ERROR_TEMP_3076 where a watermark lies over another one, once
// there is one at all, as Spark does.
std::vector<int64_t> inputWatermarks(const PhysicalNode& plan, int64_t watermarkMs);

}  // namespace thalweg
