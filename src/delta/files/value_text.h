// Values as the text that Java gives them: partition values, statistics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "types/time_zone.h"

namespace thalweg::delta {

// Double.toString / Float.toString: "1.0", "1.0E10", "NaN", "-Infinity"; the shortest digits that read back
// the same.
std::string javaText(double value);
std::string javaText(float value);

// Days since the epoch as yyyy-MM-dd. Nothing outside the years 1 to 9999.
std::optional<std::string> dateText(int64_t days);
std::optional<int32_t> parseDateText(std::string_view text);

// Microseconds since the epoch with a separator (' ' or 'T') between date and time. With `fractionDigits` −1
// the fraction has as many digits as it needs (none to six), else just so many, cut off towards the past.
std::optional<std::string> timestampText(int64_t micros, char separator, int fractionDigits);

// "2024-01-01 10:00:00[.ffffff]" or with 'T', with nothing, "Z" or an offset ("+01:00") at its end. Texts
// without an offset are of `zone`. Nothing where it does not parse.
std::optional<int64_t> parseTimestampText(std::string_view text, const TimeZone& zone = TimeZone());

}  // namespace thalweg::delta
