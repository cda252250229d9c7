// Which partitions topics have, and where they begin and end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/cancellation.h"
#include "kafka/client_options.h"
#include "kafka/topic_partition.h"

namespace thalweg {

class ClientHandle;

// A client of its own, for a broker answers one connection's requests in order: offsets asked on a connection that also
// fetches would wait behind the fetch that waits for data. Used by one thread at a time. Every call throws Error
// KAFKA_CLIENT_FAILURE when the brokers do not answer in time (with .CONNECTION_REFUSED where no retry helps), UNKNOWN_TOPIC_OR_PARTITION for what is not there,
// OPERATION_CANCELED once cancelled (null token: never); it returns within 100 ms of a cancellation.
class KafkaOffsetClient {
 public:
  explicit KafkaOffsetClient(const KafkaClientConfig& config);
  ~KafkaOffsetClient();

  // All partitions of the topics, from the brokers' metadata.
  std::vector<TopicPartition> partitionsOf(const std::vector<std::string>& topics, const CancellationToken* cancellation);

  // Names of all topics but Kafka's internal ones, sorted.
  std::vector<std::string> topicNames(const CancellationToken* cancellation);

  // The offsets of each partition's entry in `positions`: kEarliestOffset, kLatestOffset, or a time in milliseconds, which
  // gives the first record at or after it and kLatestOffset where there is none. One request a broker, whatever the number
  // of partitions. With isolation level read_committed, latest is the last stable offset.
  PartitionOffsets listOffsets(const PartitionOffsets& positions, const CancellationToken* cancellation);

 private:
  std::shared_ptr<ClientHandle> client_;
};

}  // namespace thalweg
