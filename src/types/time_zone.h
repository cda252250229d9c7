// Time zones: region names of the system's database and fixed offsets, as Spark's session time zone takes them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace thalweg {

// An immutable, cheaply copied handle; safe on any thread.
class TimeZone {
 public:
  TimeZone();  // UTC
  // "UTC", "Z", "Europe/Paris", "+01:00", "-8", "GMT+2", "UTC+05:30", "America/Los_Angeles", and Java's short names
  // ("PST", "EST" …). Throws Error INVALID_CONF_VALUE.TIME_ZONE.
  static TimeZone parse(std::string_view name);

  const std::string& name() const;
  bool isUtc() const;

  // Microseconds since the epoch, UTC → local wall clock as microseconds, and back. A local time inside a gap moves
  // forward by the gap's length; of two readings in an overlap the earlier is taken (as java.time does).
  int64_t toLocalMicros(int64_t utcMicros) const;
  int64_t toUtcMicros(int64_t localMicros) const;
  // Offset from UTC, in seconds, in force at a UTC instant.
  int32_t offsetSeconds(int64_t utcMicros) const;

 private:
  struct Rules;
  explicit TimeZone(std::shared_ptr<const Rules> rules);
  std::shared_ptr<const Rules> rules_;
};

}  // namespace thalweg
