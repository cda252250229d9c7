// Arithmetic on offsets as Spark does it: sharing a rate limit, ranges of a batch, splitting them. No I/O.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kafka/topic_partition.h"

namespace thalweg {

// A loss of data as Spark names it: the sub-condition of KAFKA_DATA_LOSS and what happened.
struct KafkaDataLoss {
  std::string condition;
  std::string text;
};
using DataLossHandler = std::function<void(const KafkaDataLoss&)>;

// Shares `limit` records among partitions in proportion to their backlog (until − from): share = limit · backlog / total in
// double arithmetic, rounded up below 1 and down above, never beyond `until`. Partitions without backlog, and those without
// a start, keep `until`.
PartitionOffsets shareRateLimit(int64_t limit, const PartitionOffsets& from, const PartitionOffsets& until);

struct OffsetRange {
  TopicPartition partition;
  int64_t from = 0;
  int64_t until = 0;
  int64_t size() const { return until - from; }
  bool operator==(const OffsetRange&) const = default;
};

// The non-empty ranges from `from` to `until`, in the order of partitions. Partitions that `from` lacks start at
// `firstOffsets` (their earliest). Tells `onLoss` of partitions that are gone, new ones that do not start at 0 or are not
// found, and ends that lie before their start; where it returns, the range is left out.
std::vector<OffsetRange> makeOffsetRanges(const PartitionOffsets& from, const PartitionOffsets& until,
                                          const PartitionOffsets& firstOffsets, const DataLossHandler& onLoss);

// Splits ranges larger than `maxRecords`, then splits in proportion to size until there are about `minPartitions`.
std::vector<OffsetRange> splitOffsetRanges(std::vector<OffsetRange> ranges, std::optional<int64_t> minPartitions,
                                           std::optional<int64_t> maxRecords);

// Neighbours together while they have at most `maxRecords` records (0: each alone): a task for each of many small ranges costs more than
// its records, a file and its sync above all.
std::vector<std::vector<OffsetRange>> groupOffsetRanges(const std::vector<OffsetRange>& ranges, int64_t maxRecords);

}  // namespace thalweg
