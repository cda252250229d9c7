#include "sources/kafka/offset_ranges.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

PartitionOffsets of(std::vector<int64_t> offsets) {
  PartitionOffsets result;
  for (size_t i = 0; i < offsets.size(); ++i) result[{"t", static_cast<int32_t>(i)}] = offsets[i];
  return result;
}

// Recorded from Spark 4.2 (the kafka-to-delta fixture): limit 12, three batches to the same latest offsets.
TEST(ShareRateLimit, SharesAsSparkDid) {
  const PartitionOffsets latest = of({47, 20, 39, 16});
  EXPECT_EQ(shareRateLimit(12, of({39, 16, 32, 11}), latest), of({43, 18, 35, 13}));
  EXPECT_EQ(shareRateLimit(12, of({43, 18, 35, 13}), latest), of({46, 19, 38, 15}));
  EXPECT_EQ(shareRateLimit(12, of({46, 19, 38, 15}), latest), latest);
}

TEST(ShareRateLimit, SmallBacklogsAreNotStarved) {
  // 10 · 1/1001 < 1 is rounded up, 10 · 1000/1001 = 9.99 down.
  EXPECT_EQ(shareRateLimit(10, of({0, 0}), of({1, 1000})), of({1, 9}));
}

TEST(ShareRateLimit, WithoutBacklogTheEndIsLatest) {
  EXPECT_EQ(shareRateLimit(10, of({5, 5}), of({5, 4})), of({5, 4}));
  EXPECT_EQ(shareRateLimit(INT64_MAX, of({0}), of({7})), of({7}));
}

TEST(MakeOffsetRanges, TellsEveryKindOfLoss) {
  std::vector<std::string> conditions;
  const auto ranges = makeOffsetRanges(
      {{{"t", 0}, 5}, {{"t", 1}, 9}, {{"t", 2}, 1}}, {{{"t", 0}, 8}, {{"t", 1}, 3}, {{"t", 3}, 6}, {{"t", 4}, 2}, {{"t", 5}, 2}},
      {{{"t", 3}, 0}, {{"t", 4}, 1}}, [&](const KafkaDataLoss& loss) { conditions.push_back(loss.condition); });
  EXPECT_EQ(ranges, (std::vector<OffsetRange>{{{"t", 0}, 5, 8}, {{"t", 3}, 0, 6}, {{"t", 4}, 1, 2}}));
  EXPECT_EQ(conditions, (std::vector<std::string>{"KAFKA_DATA_LOSS.PARTITIONS_DELETED", "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED",
                                                  "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO",
                                                  "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS"}));
}

TEST(SplitOffsetRanges, LargeRangesAreSplitInProportion) {
  const TopicPartition a{"t", 0};
  const TopicPartition b{"t", 1};
  // 4 parts for 100 + 1: the small range stays whole, the others share three parts: 33, 33, 34.
  EXPECT_EQ(splitOffsetRanges({{a, 0, 100}, {b, 0, 1}}, 4, std::nullopt),
            (std::vector<OffsetRange>{{a, 0, 33}, {a, 33, 66}, {a, 66, 100}, {b, 0, 1}}));
  EXPECT_EQ(splitOffsetRanges({{a, 0, 10}}, std::nullopt, 4), (std::vector<OffsetRange>{{a, 0, 3}, {a, 3, 6}, {a, 6, 10}}));
  EXPECT_EQ(splitOffsetRanges({{a, 0, 10}}, 1, std::nullopt), (std::vector<OffsetRange>{{a, 0, 10}}));
}

TEST(GroupOffsetRanges, PutsSmallNeighboursTogether) {
  const auto range = [](int32_t partition, int64_t size) { return OffsetRange{{"t", partition}, 100, 100 + size}; };
  const auto groups = groupOffsetRanges({range(0, 3), range(1, 4), range(2, 4), range(3, 50), range(4, 1)}, 10);
  EXPECT_EQ(groups, (std::vector<std::vector<OffsetRange>>{{range(0, 3), range(1, 4)}, {range(2, 4)}, {range(3, 50)}, {range(4, 1)}}));
  EXPECT_TRUE(groupOffsetRanges({}, 10).empty());
}

}  // namespace
}  // namespace thalweg
