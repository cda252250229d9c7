// Many partitions read in small ranges by several threads, with fetches and queues as small as they get:
// every record comes once and no read stands still. The embedded broker by default; THALWEG_STRESS_BROKERS
// names a real one with an empty topic THALWEG_STRESS_TOPIC, and THALWEG_STRESS_RECORDS makes a longer run.
#include "kafka/consumer_pool.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "common/logging.h"
#include "kafka/embedded_broker.h"
#include "kafka/offset_client.h"
#include "kafka/producer.h"

namespace thalweg {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPartitions = 12;
constexpr int kThreads = 6;

int64_t recordsPerPartition() {
  const char* given = std::getenv("THALWEG_STRESS_RECORDS");
  return given ? std::atoll(given) : 1500;
}

std::string valueOf(int partition, int64_t offset) {
  return std::to_string(partition) + ":" + std::to_string(offset) +
         std::string(static_cast<size_t>(offset * 37 % 900), 'x');
}

class ConsumerStress : public testing::Test {
 protected:
  ConsumerStress() {
    if (const char* brokers = std::getenv("THALWEG_STRESS_BROKERS")) {
      brokers_ = brokers;
      if (const char* topic = std::getenv("THALWEG_STRESS_TOPIC")) topic_ = topic;
    } else {
      embedded_ = std::make_unique<EmbeddedBroker>(3);
      embedded_->createTopic(topic_, kPartitions);
      brokers_ = embedded_->bootstrapServers();
    }
    client_ = std::make_unique<KafkaOffsetClient>(config());
    partitions_ = static_cast<int>(client_->partitionsOf({topic_}, nullptr).size());
  }

  KafkaClientConfig config() const {
    KafkaClientConfig made = translateKafkaOptions(
        Options{{"kafka.bootstrap.servers", brokers_}, {"kafka.max.partition.fetch.bytes", "2048"}},
        KafkaRole::Consumer);
    if (const char* debug = std::getenv("THALWEG_STRESS_DEBUG")) {
      setLogLevel(LogLevel::Debug);
      made.set("debug", debug);
    }
    return made;
  }

  void produce(int64_t from, int64_t until) {
    KafkaProducer producer(brokers_);
    for (int64_t offset = from; offset < until; ++offset) {
      for (int partition = 0; partition < partitions_; ++partition) {
        const std::string value = valueOf(partition, offset);
        producer.send({.topic = topic_, .partition = partition, .value = value, .timestampMs = 1000});
      }
    }
    producer.flush();
  }

  // Reads one range and notes the longest time that next() took.
  void read(KafkaConsumerPool& pool, int partition, int64_t from, int64_t until) {
    const auto reader = pool.open({.partition = {topic_, partition}, .from = from, .until = until});
    int64_t expected = from;
    for (;;) {
      const auto start = Clock::now();
      const auto messages = reader->next(64);
      noteWait(std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
      if (messages.empty()) break;
      for (const KafkaMessage& message : messages) {
        ASSERT_EQ(message.offset, expected);
        ASSERT_EQ(std::string_view(reinterpret_cast<const char*>(message.value), message.valueSize),
                  valueOf(partition, expected));
        ++expected;
      }
    }
    ASSERT_EQ(expected, until);
  }

  void noteWait(int64_t milliseconds) {
    if (milliseconds > 2000) logWarn("STALL {} ms", milliseconds);
    int64_t longest = longestWaitMs_;
    while (milliseconds > longest && !longestWaitMs_.compare_exchange_weak(longest, milliseconds)) {
    }
  }

  // As a query's batches: each takes a piece of every partition, split over threads.
  void readAllInBatches(KafkaConsumerPool& pool, int64_t from, int64_t until, unsigned seed) {
    std::mt19937 random(seed);
    for (int64_t begin = from; begin < until;) {
      const int64_t end = std::min<int64_t>(until, begin + 1 + static_cast<int64_t>(random() % 120));
      std::atomic<int> next = 0;
      std::vector<std::thread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&] {
          for (int partition; (partition = next++) < partitions_;) read(pool, partition, begin, end);
        });
      }
      for (std::thread& thread : threads) thread.join();
      begin = end;
    }
  }

  std::string topic_ = "stress";
  std::string brokers_;
  std::unique_ptr<EmbeddedBroker> embedded_;
  std::unique_ptr<KafkaOffsetClient> client_;
  int partitions_ = 0;
  std::atomic<int64_t> longestWaitMs_ = 0;
};

TEST_F(ConsumerStress, SmallFetchesOfManyPartitionsNeverStandStill) {
  const int64_t records = recordsPerPartition();
  KafkaFetchBudget budget;
  budget.totalBytes = 1;  // as little as a partition may have
  budget.partitions = partitions_;
  const auto pool = KafkaConsumerPool::make(config(), budget, std::chrono::milliseconds(50));
  // Half is there before; the rest comes while it is read, so that reads meet the partitions' ends.
  produce(0, records / 2);
  std::atomic<bool> produced = false;
  std::thread producer([&] {
    for (int64_t at = records / 2; at < records; at += 50) produce(at, std::min(records, at + 50));
    produced = true;
  });
  readAllInBatches(*pool, 0, records / 2, 1);
  producer.join();
  readAllInBatches(*pool, records / 2, records, 2);
  // A replay goes back, as after a restart.
  readAllInBatches(*pool, 0, records / 4, 3);
  RecordProperty("longestWaitMs", static_cast<int>(longestWaitMs_));
  std::printf("longest wait %lld ms over %d partitions\n", static_cast<long long>(longestWaitMs_),
              partitions_);
  EXPECT_LT(longestWaitMs_, 20'000);
}

}  // namespace
}  // namespace thalweg
