#include "exec/pipeline/event_times.h"

#include <algorithm>

namespace thalweg {

void EventTimes::add(int64_t timeMs) {
  ++count;
  min = std::min(min, timeMs);
  max = std::max(max, timeMs);
  sum += static_cast<double>(timeMs);
}

void EventTimes::add(const EventTimes& other) {
  count += other.count;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  sum += other.sum;
}

void SharedEventTimes::add(const EventTimes& times) {
  std::lock_guard lock(mutex_);
  times_.add(times);
}

EventTimes SharedEventTimes::get() const {
  std::lock_guard lock(mutex_);
  return times_;
}

}  // namespace thalweg
