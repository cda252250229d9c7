// The format "rate": rows made at a steady pace, for tests and demos.
#pragma once

#include <memory>

#include "common/options.h"
#include "connector/stream_source.h"

namespace thalweg {

// Columns timestamp and value (a count from 0). Options rowsPerSecond (1), rampUpTime (0s), numPartitions (2 unless set).
// Offsets are whole seconds since the start, which sources/<i>/0 keeps in milliseconds; the first batch is empty. The same
// range gives the same rows. Throws Error with kind IllegalArgument for options that do not parse.
std::unique_ptr<StreamSource> openRateStream(const Options& options, const StreamSourceContext& context);

SchemaPtr rateSchema();

// The number of rows made until the end of a second, with the pace rising over the first `rampUpSeconds` seconds: Spark's
// formula, in whole steps a second.
int64_t rateValueAtSecond(int64_t second, int64_t rowsPerSecond, int64_t rampUpSeconds);

}  // namespace thalweg
