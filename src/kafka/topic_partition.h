// A partition of a topic, and what the client knows offsets by.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace thalweg {

struct TopicPartition {
  std::string topic;
  int32_t partition = 0;

  // As Kafka's own tools write it: "clicks-0".
  std::string text() const { return topic + "-" + std::to_string(partition); }

  auto operator<=>(const TopicPartition&) const = default;
};

// Offsets are exclusive where they end a range: 1 + the last record's.
using PartitionOffsets = std::map<TopicPartition, int64_t>;

// Stand-ins for an offset in Spark's options and in Kafka's protocol alike.
inline constexpr int64_t kLatestOffset = -1;
inline constexpr int64_t kEarliestOffset = -2;

}  // namespace thalweg
