// A Kafka cluster inside this process, for the demo and the tests: librdkafka's mock cluster.
#pragma once

#include <memory>
#include <string>

namespace thalweg {

// Speaks the real protocol on loopback ports, keeps records in memory (the newest 5 MiB a partition), no transactions.
// Thread-safe; ends with the object, after its clients'.
class EmbeddedBroker {
 public:
  explicit EmbeddedBroker(int brokers = 1);
  ~EmbeddedBroker();

  std::string bootstrapServers() const;
  void createTopic(const std::string& topic, int partitions);

  // Faults, for tests: throw Error UNSUPPORTED_FEATURE where this librdkafka's mock cannot.
  void deleteTopic(const std::string& topic);
  void deleteRecordsBefore(const std::string& topic, int partition, int64_t offset);
  void setDown(int broker, bool down);       // brokers count from 1
  void setRoundTripMs(int broker, int milliseconds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thalweg
