#include "kafka/connection_health.h"

namespace thalweg {
namespace {

// Long enough for a broker behind a load balancer to come up, well below the minute of Java's
// default.api.timeout.ms.
constexpr int kClosedAtLeast = 5;
constexpr std::chrono::seconds kClosedFor{15};

}  // namespace

void ConnectionHealth::noteFailure(std::string_view line, Time now) {
  if (answered_) return;
  std::lock_guard lock(mutex_);
  if (line.find("Disconnected") == std::string_view::npos) {
    closed_ = 0;
    return;
  }
  if (closed_++ == 0) closedSince_ = now;
  lastLine_ = line;
}

std::optional<std::string> ConnectionHealth::refusal(Time now) const {
  if (answered_) return std::nullopt;
  std::lock_guard lock(mutex_);
  if (closed_ < kClosedAtLeast || now - closedSince_ < kClosedFor) return std::nullopt;
  return lastLine_;
}

}  // namespace thalweg
