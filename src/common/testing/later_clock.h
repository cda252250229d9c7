// For tests: a clock that a test sets forward.
#pragma once

#include <chrono>
#include <cstdint>

#include "common/clock.h"

namespace thalweg {

// The real time, or as much later as a test says.
class LaterClock final : public Clock {
 public:
  int64_t laterMs = 0;
  int64_t nowMicros() const override { return systemClock().nowMicros() + laterMs * 1000; }
  std::chrono::steady_clock::time_point monotonic() const override { return systemClock().monotonic(); }
};

}  // namespace thalweg
