// The event times that a micro-batch saw, of one watermark of its plan.
#pragma once

#include <cstdint>
#include <mutex>

namespace thalweg {

// Times in milliseconds since the epoch. Nulls are not counted.
struct EventTimes {
  int64_t count = 0;
  int64_t min = INT64_MAX;
  int64_t max = INT64_MIN;
  double sum = 0;

  void add(int64_t timeMs);
  void add(const EventTimes& other);
  int64_t average() const { return count == 0 ? 0 : static_cast<int64_t>(sum / static_cast<double>(count)); }
};

// Filled by the tasks of a batch, read when they have ended.
class SharedEventTimes {
 public:
  void add(const EventTimes& times);
  EventTimes get() const;

 private:
  mutable std::mutex mutex_;
  EventTimes times_;
};

}  // namespace thalweg
