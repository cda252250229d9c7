// The texts inside typed literals: dates, timestamps, intervals, in the forms that Spark takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace thalweg::sql {

// [+-]yyyy[-M[-d]], what follows a blank or 'T' behind the day ignored; days since 1970-01-01.
std::optional<int32_t> dateFromText(std::string_view text);

// A date as above with [ |T]H:m[:s[.fraction]] and a zone; microseconds of the wall clock since the epoch.
struct TimestampText {
  int64_t localMicros = 0;
  std::string zone;  // empty: none given
};
std::optional<TimestampText> timestampFromText(std::string_view text);

// A sum of units. Fields are the places in kIntervalUnits' order that were named.
struct IntervalValue {
  int64_t months = 0;
  int64_t micros = 0;
  // Least and greatest field named: YEAR 0, MONTH 1; DAY 0, HOUR 1, MINUTE 2, SECOND 3 (weeks are days, fractions seconds).
  int firstYearMonth = 9, lastYearMonth = -1;
  int firstDayTime = 9, lastDayTime = -1;
  bool hasYearMonth() const { return lastYearMonth >= 0; }
  bool hasDayTime() const { return lastDayTime >= 0; }

  // Adds `amount` (digits, a fraction only of seconds) of a unit ("day", "DAYS"); false for a bad unit, a bad number or
  // an overflow.
  bool add(std::string_view amount, std::string_view unit);
};

// Whether a word is an interval's unit, in singular or plural.
bool isIntervalUnit(std::string_view word);

// "1 day -2 hours", "interval 3 weeks".
std::optional<IntervalValue> intervalFromText(std::string_view text);

// '1-2' YEAR TO MONTH, '1 02:03:04.5' DAY TO SECOND, '02:03' HOUR TO MINUTE …
std::optional<IntervalValue> intervalFromRange(std::string_view text, std::string_view from, std::string_view to);

}  // namespace thalweg::sql
