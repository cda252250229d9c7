// Writes records to Kafka: for the demo's embedded broker, tests, and sinks.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/cancellation.h"
#include "kafka/client_options.h"

namespace thalweg {

struct KafkaRecord {
  std::string_view topic;
  int32_t partition = -1;  // −1: by the key's hash as Java's default partitioner, records without a key anywhere
  std::optional<std::string_view> key = {};
  std::optional<std::string_view> value = {};
  int64_t timestampMs = 0;  // 0: now
  std::vector<std::pair<std::string_view, std::optional<std::string_view>>> headers = {};
};

// Used by one thread. Records are copied on send, which waits while the client's queue is full. At least once: a failed
// delivery is told by the next flush.
class KafkaProducer {
 public:
  // `config` comes from translateKafkaOptions for a producer, or makes one of bootstrap servers alone.
  explicit KafkaProducer(const KafkaClientConfig& config);
  explicit KafkaProducer(const std::string& bootstrapServers);
  ~KafkaProducer();
  KafkaProducer(KafkaProducer&&) noexcept;

  void send(const KafkaRecord& record);
  // Waits until all records are delivered; throws Error KAFKA_CLIENT_FAILURE when one was not, or the time is over.
  void flush(std::chrono::milliseconds timeout = std::chrono::seconds(120), const CancellationToken* cancellation = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thalweg
