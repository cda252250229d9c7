// Patterns of java.time.format.DateTimeFormatter as Spark takes them: timestampFormat, dateFormat,
// date_format, to_date, to_timestamp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "types/time_zone.h"

namespace thalweg {

// What a text said of a point in time; missing parts have Spark's defaults (1970-01-01, midnight).
struct DateTimeFields {
  int32_t days = 0;
  int64_t microsOfDay = 0;
  std::optional<TimeZone> zone;
};

// A compiled pattern; immutable, safe on any thread.
// Letters: G y u M L d D Q q E a h H k K m s S V z O X x Z, quoted text, optional sections [ ]. English names
// only.
class DateTimePattern {
 public:
  // Throws Error INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_WEEK_BASED_PATTERN (Y w W u-as-week …),
  // INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION for other letters or counts that Spark 3
  // and later refuse, and unsupported() for letters that Spark takes and this does not.
  static DateTimePattern compile(std::string_view pattern);
  // Throws the same errors for letters that only formatting takes (E, F, q, Q).
  void requireParsable() const;

  // The whole text must match, strictly (digits exactly as many as letters, where there are two or more).
  // Never throws.
  std::optional<DateTimeFields> parse(std::string_view text) const;
  // parse() as a UTC timestamp, with `zone` where the text has none; as local microseconds; as days.
  std::optional<int64_t> parseTimestamp(std::string_view text, const TimeZone& zone) const;
  std::optional<int64_t> parseTimestampNtz(std::string_view text) const;
  std::optional<int32_t> parseDate(std::string_view text) const;

  // `localMicros` is the wall clock in `zone`; `utcMicros` gives the zone's offset there.
  void format(int64_t localMicros, int64_t utcMicros, const TimeZone& zone, std::string* out) const;

  const std::string& text() const { return text_; }

 private:
  struct Item {
    char letter = 0;  // 0: a literal; '[' and ']': an optional section, whose other end is at `other`
    int count = 0;
    size_t other = 0;
    bool adjacent = false;  // a number that must not take the digits of the number right behind it
    std::string literal = {};
  };
  struct Parsed;
  std::string text_;
  std::vector<Item> items_;

  bool parseItems(size_t begin, size_t end, std::string_view text, size_t* at, Parsed* parsed) const;
  static bool parseItem(const Item& item, std::string_view text, size_t* at, Parsed* parsed);
  static bool resolve(const Parsed& parsed, DateTimeFields* fields);
  static void formatItem(const Item& item, int64_t localMicros, int64_t utcMicros, const TimeZone& zone,
                         std::string* out);
};

}  // namespace thalweg
