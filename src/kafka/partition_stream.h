// One partition being fetched by one client, from where it stands. Internal to kafka/.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "kafka/client_handle.h"
#include "kafka/consumer_pool.h"

struct rd_kafka_topic_s;
struct rd_kafka_message_s;

namespace thalweg {

// Used by one reader at a time; the pool hands it on. Its position is the next offset that a reader gets: everything
// fetched beyond it waits here or in librdkafka's queue.
class PartitionStream {
 public:
  PartitionStream(std::shared_ptr<ClientHandle> client, TopicPartition partition);
  ~PartitionStream();

  // Stands at `offset`, keeping what is fetched when it already does.
  void seek(int64_t offset);
  int64_t position() const { return position_; }

  // As KafkaRangeReader::next, for the part of `range` from the position on.
  std::span<const KafkaMessage> next(const KafkaRange& range, size_t maxMessages);
  // Ends the views of the last next(); what was not handed out stays.
  void release();
  // Nothing is fetched that was not handed out: the fetch, if it goes on, waits for new records.
  bool isDrained() const;

 private:
  enum class Step { Delivered, Skipped, RangeEnded };

  bool fetch(const KafkaRange& range, size_t wanted);
  void waitForOne(const KafkaRange& range);
  Step take(const KafkaRange& range, rd_kafka_message_s* message);
  void checkStall(const KafkaRange& range, std::chrono::steady_clock::time_point since);
  void resolveLoss(const KafkaRange& range);
  void start(int64_t offset);
  void stop();
  void destroyFetched();

  const std::shared_ptr<ClientHandle> client_;
  const TopicPartition partition_;
  rd_kafka_topic_s* topic_ = nullptr;
  bool started_ = false;
  int64_t position_ = -1;
  int64_t endOffset_ = -1;                     // the partition's end when last told
  std::vector<rd_kafka_message_s*> fetched_;   // [0, taken_) are handed out or spent, the others wait
  size_t taken_ = 0;
  std::vector<KafkaMessage> views_;
};

}  // namespace thalweg
