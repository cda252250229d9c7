#include "kafka/consumer_pool.h"

#include <thread>

#include <gtest/gtest.h>

#include "common/error.h"
#include "kafka/embedded_broker.h"
#include "kafka/offset_client.h"
#include "kafka/producer.h"

namespace thalweg {
namespace {

class ConsumerPoolTest : public testing::Test {
 protected:
  KafkaClientConfig config() {
    return translateKafkaOptions(Options{{"kafka.bootstrap.servers", broker_.bootstrapServers()}}, KafkaRole::Consumer);
  }
  void fill(const std::string& topic, int partition, int from, int count) {
    KafkaProducer producer(broker_.bootstrapServers());
    for (int i = from; i < from + count; ++i) {
      const std::string value = "v" + std::to_string(i);
      producer.send({.topic = topic, .partition = partition, .key = "k", .value = value, .timestampMs = 1000 + i});
    }
    producer.flush();
  }
  static std::vector<std::string> readAll(KafkaConsumerPool& pool, KafkaRange range) {
    std::vector<std::string> values;
    const auto reader = pool.open(std::move(range));
    for (auto messages = reader->next(7); !messages.empty(); messages = reader->next(7)) {
      for (const KafkaMessage& message : messages) {
        values.emplace_back(reinterpret_cast<const char*>(message.value), message.valueSize);
      }
    }
    return values;
  }
  EmbeddedBroker broker_;
};

TEST_F(ConsumerPoolTest, OffsetsOfAllPartitionsComeAtOnce) {
  broker_.createTopic("t", 3);
  fill("t", 0, 0, 5);
  fill("t", 2, 0, 2);
  KafkaOffsetClient client(config());
  EXPECT_EQ(client.partitionsOf({"t"}, nullptr), (std::vector<TopicPartition>{{"t", 0}, {"t", 1}, {"t", 2}}));
  EXPECT_EQ(client.listOffsets({{{"t", 0}, kLatestOffset}, {{"t", 1}, kLatestOffset}, {{"t", 2}, kEarliestOffset}}, nullptr),
            (PartitionOffsets{{{"t", 0}, 5}, {{"t", 1}, 0}, {{"t", 2}, 0}}));
  EXPECT_EQ(client.topicNames(nullptr), std::vector<std::string>{"t"});
}

TEST_F(ConsumerPoolTest, AMissingTopicIsNamed) {
  KafkaOffsetClient client(config());
  try {
    client.partitionsOf({"nowhere"}, nullptr);
    // The mock makes topics on demand unless told; a real broker does not.
  } catch (const Error& error) {
    EXPECT_EQ(error.condition(), "UNKNOWN_TOPIC_OR_PARTITION");
    EXPECT_NE(error.text().find("nowhere"), std::string::npos);
  }
}

// The large range lets go of the other partition's fetch, which stands at its end.
TEST_F(ConsumerPoolTest, APartitionAtItsEndGoesOnAfterALargeRangeOfAnother) {
  constexpr int kMany = 20'000;
  broker_.createTopic("t", 2);
  fill("t", 0, 0, 10);
  fill("t", 1, 0, kMany);
  const auto pool = KafkaConsumerPool::make(config(), {.partitions = 2});
  EXPECT_EQ(readAll(*pool, {.partition = {"t", 0}, .from = 0, .until = 10}).size(), 10u);
  const auto many = readAll(*pool, {.partition = {"t", 1}, .from = 0, .until = kMany});
  ASSERT_EQ(many.size(), static_cast<size_t>(kMany));
  EXPECT_EQ(many.back(), "v19999");
  fill("t", 0, 10, 3);
  EXPECT_EQ(readAll(*pool, {.partition = {"t", 0}, .from = 10, .until = 13}), (std::vector<std::string>{"v10", "v11", "v12"}));
}

TEST_F(ConsumerPoolTest, RangesAreReadExactlyAndContinue) {
  broker_.createTopic("t", 1);
  fill("t", 0, 0, 20);
  const auto pool = KafkaConsumerPool::make(config(), {});
  EXPECT_EQ(readAll(*pool, {.partition = {"t", 0}, .from = 3, .until = 6}), (std::vector<std::string>{"v3", "v4", "v5"}));
  EXPECT_EQ(readAll(*pool, {.partition = {"t", 0}, .from = 6, .until = 20}).size(), 14u);
  fill("t", 0, 20, 10);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(readAll(*pool, {.partition = {"t", 0}, .from = 20, .until = 30}).front(), "v20");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500));
  // A replay goes back.
  EXPECT_EQ(readAll(*pool, {.partition = {"t", 0}, .from = 0, .until = 2}), (std::vector<std::string>{"v0", "v1"}));
}

TEST_F(ConsumerPoolTest, APartitionThatWasQuietForLongIsReadAgain) {
  broker_.createTopic("t", 2);
  fill("t", 0, 0, 10);
  fill("t", 1, 0, 10);
  const auto pool = KafkaConsumerPool::make(config(), {}, std::chrono::milliseconds(0));
  const auto range = [](int partition, int64_t from, int64_t until) {
    return KafkaRange{.partition = {"t", partition}, .from = from, .until = until, .pollTimeout = std::chrono::seconds(3)};
  };
  EXPECT_EQ(readAll(*pool, range(0, 0, 4)).size(), 4u);
  EXPECT_EQ(readAll(*pool, range(0, 6, 10)).size(), 4u);
  EXPECT_EQ(readAll(*pool, range(1, 0, 4)).size(), 4u);  // lets go of partition 0
  fill("t", 0, 10, 10);
  EXPECT_EQ(readAll(*pool, range(0, 10, 20)).front(), "v10");
}

TEST_F(ConsumerPoolTest, ReadersOfTwoPartitionsDoNotEndEachOthersFetches) {
  broker_.createTopic("t", 2);
  fill("t", 0, 0, 40);
  fill("t", 1, 0, 40);
  const auto pool = KafkaConsumerPool::make(config(), {}, std::chrono::milliseconds(0));
  const auto readInSteps = [&](int partition) {
    for (int64_t from = 0; from < 40; from += 4) {
      const KafkaRange range{.partition = {"t", partition}, .from = from, .until = from + 4, .pollTimeout = std::chrono::seconds(5)};
      EXPECT_NO_THROW(EXPECT_EQ(readAll(*pool, range).size(), 4u));
    }
  };
  std::thread other([&] { readInSteps(0); });
  readInSteps(1);
  other.join();
}

TEST_F(ConsumerPoolTest, OnePartitionIsReadByTwoReadersAtOnce) {
  broker_.createTopic("t", 1);
  fill("t", 0, 0, 20);
  const auto pool = KafkaConsumerPool::make(config(), {});
  const auto first = pool->open({.partition = {"t", 0}, .from = 0, .until = 10});
  const auto second = pool->open({.partition = {"t", 0}, .from = 10, .until = 20});
  EXPECT_EQ(second->next(1).front().offset, 10);
  EXPECT_EQ(first->next(1).front().offset, 0);
}

TEST_F(ConsumerPoolTest, CancellationEndsAWaitWithinATenthOfASecond) {
  broker_.createTopic("t", 1);
  const auto pool = KafkaConsumerPool::make(config(), {});
  CancellationToken token;
  const auto reader = pool->open({.partition = {"t", 0}, .from = 0, .until = 1, .cancellation = &token});
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    token.cancel();
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(reader->next(1), Error);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(450));
  canceller.join();
}

TEST_F(ConsumerPoolTest, RecordsThatAreGoneAreToldAndSkipped) {
  broker_.createTopic("t", 1);
  fill("t", 0, 0, 10);
  broker_.deleteRecordsBefore("t", 0, 4);
  const auto pool = KafkaConsumerPool::make(config(), {});
  std::vector<KafkaOffsetLoss> losses;
  const auto values = readAll(*pool, {.partition = {"t", 0}, .from = 1, .until = 10, .onLoss = [&](const auto& loss) { losses.push_back(loss); }});
  EXPECT_EQ(values.size(), 6u);
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].wanted, 1);
  EXPECT_EQ(losses[0].earliest, 4);
}

TEST_F(ConsumerPoolTest, ARangeBeyondTheEndIsALossAndEnds) {
  broker_.createTopic("t", 1);
  fill("t", 0, 0, 5);
  const auto pool = KafkaConsumerPool::make(config(), {});
  std::vector<KafkaOffsetLoss> losses;
  const auto values = readAll(*pool, {.partition = {"t", 0}, .from = 0, .until = 9, .pollTimeout = std::chrono::milliseconds(500),
                                      .onLoss = [&](const auto& loss) { losses.push_back(loss); }});
  EXPECT_EQ(values.size(), 5u);
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].latest, 5);
}

}  // namespace
}  // namespace thalweg
