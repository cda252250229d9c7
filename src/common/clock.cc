#include "common/clock.h"

namespace thalweg {
namespace {

class SystemClock final : public Clock {
 public:
  int64_t nowMicros() const override {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
  std::chrono::steady_clock::time_point monotonic() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace

const Clock& systemClock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace thalweg
