// Options of the Kafka source and table, checked: what load() must refuse, and what the readers need.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/options.h"
#include "kafka/client_options.h"
#include "kafka/topic_partition.h"
#include "types/data_type.h"

namespace thalweg {

// Which partitions are read: exactly one of Spark's assign, subscribe, subscribePattern.
struct KafkaStrategy {
  enum class Kind { Assign, Subscribe, SubscribePattern } kind = Kind::Subscribe;
  std::vector<TopicPartition> partitions;  // Assign
  std::vector<std::string> topics;         // Subscribe
  std::string pattern;                     // SubscribePattern: matches a whole topic name

  // As Spark shows it: "Subscribe[clicks, views]".
  std::string description() const;
};

// Where reading starts or ends.
struct KafkaPosition {
  enum class Kind { Earliest, Latest, Offsets, Times, Time } kind = Kind::Latest;
  PartitionOffsets values;   // Offsets (with −1 and −2), Times (milliseconds)
  int64_t timeMs = 0;        // Time: for all partitions
  bool latestWithoutMatch = false;  // startingOffsetsByTimestampStrategy=latest: no record that young is no error
};

enum class KafkaReadMode { Stream, Batch };

struct KafkaSourceOptions {
  KafkaStrategy strategy;
  KafkaPosition starting;
  KafkaPosition ending;
  bool failOnDataLoss = true;
  bool includeHeaders = false;
  std::optional<int64_t> maxOffsetsPerTrigger;
  std::optional<int64_t> minOffsetsPerTrigger;
  int64_t maxTriggerDelayMs = 15 * 60 * 1000;
  std::optional<int64_t> minPartitions;
  std::optional<int64_t> maxRecordsPerPartition;
  std::chrono::milliseconds pollTimeout{120'000};
  int64_t fetchRetries = 3;
  std::chrono::milliseconds fetchRetryInterval{1000};
  KafkaClientConfig client;
};

// Throws Error with kind IllegalArgument that names the option, for all that Spark refuses when a frame is made.
KafkaSourceOptions parseKafkaSourceOptions(const Options& options, KafkaReadMode mode, const KafkaEnvironment& environment = {});

// Spark's columns: key, value, topic, partition, offset, timestamp, timestampType, and headers with includeHeaders.
SchemaPtr kafkaSchemaOf(bool includeHeaders);

}  // namespace thalweg
