// Intervals as text: "10 seconds", "interval 1 hour 30 minutes", "1 day".
#pragma once

#include <cstdint>
#include <string_view>

namespace thalweg {

// Microseconds of an interval text (units microseconds to weeks; months count 31 days, as watermarks have it). Throws Error
// CANNOT_PARSE_INTERVAL.
int64_t parseIntervalMicros(std::string_view text);

// The same for a trigger, whose Errors say what is wrong: INVALID_INTERVAL_FORMAT.UNRECOGNIZED_NUMBER, .INVALID_UNIT ….
int64_t parseTriggerIntervalMicros(std::string_view text);

// Does the text count months or years, which have no fixed length?
bool countsMonths(std::string_view text);

}  // namespace thalweg
