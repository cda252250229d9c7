// Whether brokers speak our protocol at all: told from how connections end. Internal to kafka/.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace thalweg {

// A listener that expects TLS or SASL closes a plain connection in the handshake, and the other way round;
// librdkafka tells of it by a log line only and tries again for ever. Thread-safe.
class ConnectionHealth {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // A broker answered a request: connections that end from now on are the trouble of a moment.
  void noteAnswer() { answered_ = true; }
  // librdkafka's line of facility FAIL about a connection: closed by the broker, or never made (which starts
  // the count anew: a broker that restarts refuses connections between).
  void noteFailure(std::string_view line, Time now);

  // The last line, where nothing ever answered and connections were closed for so long and so often that
  // waiting will not mend it; else nothing.
  std::optional<std::string> refusal(Time now) const;

 private:
  std::atomic<bool> answered_ = false;
  mutable std::mutex mutex_;
  int closed_ = 0;
  Time closedSince_;
  std::string lastLine_;
};

}  // namespace thalweg
