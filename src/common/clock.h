// Time as an interface, so that a deterministic run can hand in its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

namespace thalweg {

// May be called from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  // Wall clock, microseconds since 1970-01-01 UTC.
  virtual int64_t nowMicros() const = 0;
  // Never goes back; for durations and waits.
  virtual std::chrono::steady_clock::time_point monotonic() const = 0;
  int64_t nowMillis() const { return nowMicros() / 1000; }
};

// The process's real clock.
const Clock& systemClock();

}  // namespace thalweg
