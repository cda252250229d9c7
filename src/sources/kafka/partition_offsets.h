// The JSON texts of Kafka positions: Spark's offsets in options and checkpoints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kafka/topic_partition.h"

namespace thalweg {

// {"topic":{"0":123,"1":456},…} without spaces, topics and partitions in order: a line of Spark's offset log.
std::string formatPartitionOffsets(const PartitionOffsets& offsets);

// Reads it with any spacing and order. Throws Error with kind IllegalArgument; `what` names the text's place ("The option
// 'startingOffsets'").
PartitionOffsets parsePartitionOffsets(std::string_view text, std::string_view what);

// Throws Error STREAMING_CHECKPOINT_LOG_CORRUPT naming `what` and the partition where an offset is negative: only options
// may hold -1 (latest) and -2 (earliest).
void requireResolved(const PartitionOffsets& offsets, std::string_view what);

// {"topicA":[0,1],"topicB":[2]}: the option `assign`. Sorted, each once.
std::vector<TopicPartition> parsePartitions(std::string_view text, std::string_view what);

}  // namespace thalweg
