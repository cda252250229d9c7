// Which partitions a query reads now, and their offsets: the driver's side of the Kafka source.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "common/cancellation.h"
#include "kafka/offset_client.h"
#include "sources/kafka/kafka_source_options.h"

namespace thalweg {

// Used by one thread. Calls are repeated as fetchOffset.numRetries says, but not where a retry cannot help; then they throw
// KafkaOffsetClient's errors.
class KafkaOffsetReader {
 public:
  // `options` must outlive it. A null token: never cancelled.
  KafkaOffsetReader(const KafkaSourceOptions& options, const CancellationToken* cancellation);

  PartitionOffsets earliest();
  // `known` offsets cannot lie behind the latest ones: brokers that say so are asked again, and believed in the end.
  PartitionOffsets latest(const PartitionOffsets* known);
  // Earliest offsets of some partitions; those that are gone are left out.
  PartitionOffsets earliestOf(const std::vector<TopicPartition>& partitions);
  // Real offsets of a position. Throws Error with kind IllegalArgument where it does not name exactly the partitions there
  // are, or no record is as young as its time.
  PartitionOffsets resolve(const KafkaPosition& position);

 private:
  template <typename Call>
  auto withRetries(const Call& call);
  const std::vector<TopicPartition>& partitions();
  PartitionOffsets list(const std::vector<TopicPartition>& partitions, int64_t position);
  PartitionOffsets resolveTimes(const KafkaPosition& position, const PartitionOffsets& times);
  void checkCovers(const PartitionOffsets& given, const std::vector<TopicPartition>& partitions, const char* option) const;

  const KafkaSourceOptions& options_;
  const CancellationToken* cancellation_;
  KafkaOffsetClient client_;
  // Metadata may be a second old: new partitions are found soon, and an idle query asks for offsets a hundred times a second.
  std::vector<TopicPartition> partitions_;
  std::optional<std::chrono::steady_clock::time_point> partitionsReadAt_;
};

}  // namespace thalweg
