// Ranges of Kafka partitions as Arrow batches.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "connector/read.h"
#include "kafka/consumer_pool.h"
#include "sources/kafka/offset_ranges.h"
#include "types/data_type.h"

namespace thalweg {

// KafkaFetchBudget::longestWait of those who read no further than the end that they know.
inline constexpr std::chrono::milliseconds kWaitForWhatIsThere{10};

// What all splits of one query share.
struct KafkaReadContext {
  std::shared_ptr<KafkaConsumerPool> pool;
  SchemaPtr schema;  // kafkaSchemaOf
  std::chrono::milliseconds pollTimeout{120'000};
  bool failOnDataLoss = true;
  std::shared_ptr<std::atomic<int64_t>> lostOffsets = std::make_shared<std::atomic<int64_t>>(0);  // skipped because they were gone
};

// A split for each group of ranges, which are read one after another. Reading throws Error KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE where records of the range are
// gone and failOnDataLoss is set; else it warns, counts and reads what is left.
std::vector<SplitPtr> makeKafkaSplits(const KafkaReadContext& context, const std::vector<std::vector<OffsetRange>>& groups);

// Throws or warns as failOnDataLoss says, with the advice that belongs to it.
void reportDataLoss(const KafkaDataLoss& loss, bool failOnDataLoss);

}  // namespace thalweg
