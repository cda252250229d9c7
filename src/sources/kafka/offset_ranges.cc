#include "sources/kafka/offset_ranges.h"

#include <algorithm>
#include <cmath>

namespace thalweg {
namespace {

void divide(const OffsetRange& range, int64_t parts, std::vector<OffsetRange>& result) {
  int64_t remaining = range.size();
  int64_t start = range.from;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t count = remaining / (parts - part);
    remaining -= count;
    if (count > 0) result.push_back({range.partition, start, start + count});
    start += count;
  }
}

int64_t partCount(int64_t size, int64_t total, int64_t minParts) {
  // Java's Math.round: half up.
  const double parts = std::floor(static_cast<double>(size) / static_cast<double>(total) * static_cast<double>(minParts) + 0.5);
  return std::clamp<int64_t>(static_cast<int64_t>(parts), 1, std::max<int64_t>(size, 1));
}

int64_t totalSize(const std::vector<OffsetRange>& ranges) {
  int64_t total = 0;
  for (const OffsetRange& range : ranges) total += range.size();
  return total;
}

}  // namespace

PartitionOffsets shareRateLimit(int64_t limit, const PartitionOffsets& from, const PartitionOffsets& until) {
  std::map<TopicPartition, int64_t> backlogs;
  double total = 0;
  for (const auto& [partition, end] : until) {
    const auto start = from.find(partition);
    if (start == from.end() || end <= start->second) continue;
    backlogs[partition] = end - start->second;
    total += static_cast<double>(end - start->second);
  }
  if (total < 1) return until;
  PartitionOffsets result = until;
  for (const auto& [partition, backlog] : backlogs) {
    const double share = static_cast<double>(limit) * (static_cast<double>(backlog) / total);
    const double rounded = share < 1 ? std::ceil(share) : std::floor(share);
    if (rounded < static_cast<double>(backlog)) result[partition] = from.at(partition) + static_cast<int64_t>(rounded);
  }
  return result;
}

std::vector<OffsetRange> makeOffsetRanges(const PartitionOffsets& from, const PartitionOffsets& until,
                                          const PartitionOffsets& firstOffsets, const DataLossHandler& onLoss) {
  std::string gone;
  for (const auto& [partition, offset] : from) {
    if (!until.contains(partition)) gone += (gone.empty() ? "" : ", ") + partition.text();
  }
  if (!gone.empty()) onLoss({"KAFKA_DATA_LOSS.PARTITIONS_DELETED", "The Kafka partitions " + gone + " are gone."});
  std::vector<OffsetRange> ranges;
  for (const auto& [partition, end] : until) {
    auto start = from.find(partition);
    if (start == from.end()) {
      start = firstOffsets.find(partition);
      if (start == firstOffsets.end()) {
        onLoss({"KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS",
                "The earliest offset of the new Kafka partition " + partition.text() + " cannot be found."});
        continue;
      }
      if (start->second != 0) {
        onLoss({"KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO",
                "The new Kafka partition " + partition.text() + " starts at offset " + std::to_string(start->second) + " instead of 0."});
      }
    }
    if (end < start->second) {
      onLoss({"KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED",
              "The Kafka partition " + partition.text() + " went back from offset " + std::to_string(start->second) + " to " +
                  std::to_string(end) + ": it was truncated, or its topic was deleted and made again."});
      continue;
    }
    if (end > start->second) ranges.push_back({partition, start->second, end});
  }
  return ranges;
}

std::vector<OffsetRange> splitOffsetRanges(std::vector<OffsetRange> ranges, std::optional<int64_t> minPartitions,
                                           std::optional<int64_t> maxRecords) {
  if (maxRecords) {
    std::vector<OffsetRange> divided;
    for (const OffsetRange& range : ranges) divide(range, (range.size() + *maxRecords - 1) / *maxRecords, divided);
    ranges = std::move(divided);
  }
  if (!minPartitions || static_cast<int64_t>(ranges.size()) >= *minPartitions || ranges.empty()) return ranges;
  const int64_t total = totalSize(ranges);
  // Ranges too small to be split do not count in the proportions of the others.
  std::vector<bool> whole;
  int64_t wholeCount = 0;
  int64_t wholeSize = 0;
  for (const OffsetRange& range : ranges) {
    whole.push_back(partCount(range.size(), total, *minPartitions) == 1);
    if (whole.back()) {
      ++wholeCount;
      wholeSize += range.size();
    }
  }
  const int64_t partsForOthers = std::max<int64_t>(*minPartitions - wholeCount, 1);
  std::vector<OffsetRange> result;
  for (size_t i = 0; i < ranges.size(); ++i) {
    divide(ranges[i], whole[i] ? 1 : partCount(ranges[i].size(), total - wholeSize, partsForOthers), result);
  }
  return result;
}

std::vector<std::vector<OffsetRange>> groupOffsetRanges(const std::vector<OffsetRange>& ranges, int64_t maxRecords) {
  std::vector<std::vector<OffsetRange>> groups;
  int64_t records = 0;
  for (const OffsetRange& range : ranges) {
    if (groups.empty() || records + range.size() > maxRecords) {
      groups.emplace_back();
      records = 0;
    }
    groups.back().push_back(range);
    records += range.size();
  }
  return groups;
}

}  // namespace thalweg
