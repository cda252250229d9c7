#include "kafka/partition_stream.h"

#include <algorithm>

#include <librdkafka/rdkafka.h>

#include "common/task_pool.h"

namespace thalweg {
namespace {

constexpr int kWaitStepMs = 50;
constexpr size_t kMaxFetchMessages = 16384;
constexpr int kWatermarkTimeoutMs = 30'000;
// A partition that ends before the range does is asked for its true end after this long.
constexpr std::chrono::milliseconds kEndDoubtAfter{5'000};

KafkaMessage viewOf(rd_kafka_message_t* message) {
  return {.offset = message->offset,
          .key = static_cast<const uint8_t*>(message->key),
          .value = static_cast<const uint8_t*>(message->payload),
          .keySize = message->key_len,
          .valueSize = message->len,
          .native = message};
}

}  // namespace

PartitionStream::PartitionStream(std::shared_ptr<ClientHandle> client, TopicPartition partition)
    : client_(std::move(client)), partition_(std::move(partition)) {
  topic_ = rd_kafka_topic_new(client_->get(), partition_.topic.c_str(), nullptr);
  if (!topic_) throw kafkaError(rd_kafka_last_error(), "The Kafka topic '" + partition_.topic + "' cannot be opened");
}

PartitionStream::~PartitionStream() {
  destroyFetched();
  stop();
  rd_kafka_topic_destroy(topic_);
}

void PartitionStream::start(int64_t offset) {
  if (rd_kafka_consume_start(topic_, partition_.partition, offset) != 0) {
    throw kafkaError(rd_kafka_last_error(), "The Kafka partition " + partition_.text() + " cannot be read");
  }
  started_ = true;
  position_ = offset;
  endOffset_ = -1;
}

void PartitionStream::stop() {
  if (started_) rd_kafka_consume_stop(topic_, partition_.partition);
  started_ = false;
}

void PartitionStream::seek(int64_t offset) {
  release();
  if (started_ && position_ == offset) return;
  destroyFetched();
  stop();
  start(offset);
}

void PartitionStream::release() {
  for (size_t i = 0; i < taken_; ++i) rd_kafka_message_destroy(fetched_[i]);
  fetched_.erase(fetched_.begin(), fetched_.begin() + static_cast<ptrdiff_t>(taken_));
  taken_ = 0;
  views_.clear();
}

bool PartitionStream::isDrained() const {
  if (!started_ || taken_ < fetched_.size()) return false;
  rd_kafka_queue_t* queue = rd_kafka_queue_get_partition(client_->get(), partition_.topic.c_str(), partition_.partition);
  if (!queue) return true;
  // News of the partition's end may be there.
  const bool drained = rd_kafka_queue_length(queue) <= 1;
  rd_kafka_queue_destroy(queue);
  return drained;
}

void PartitionStream::destroyFetched() {
  for (rd_kafka_message_t* message : fetched_) rd_kafka_message_destroy(message);
  fetched_.clear();
  taken_ = 0;
  views_.clear();
}

std::span<const KafkaMessage> PartitionStream::next(const KafkaRange& range, size_t maxMessages) {
  release();
  auto quietSince = std::chrono::steady_clock::now();
  while (position_ < range.until) {
    if (endOffset_ >= range.until) {
      position_ = range.until;
      break;
    }
    const size_t wanted = std::min({maxMessages, static_cast<size_t>(range.until - position_), kMaxFetchMessages});
    if (taken_ == fetched_.size() && !fetch(range, wanted)) {
      waitForOne(range);
      if (taken_ == fetched_.size()) {
        checkStall(range, quietSince);
        continue;
      }
    }
    while (taken_ < fetched_.size() && views_.size() < wanted) {
      if (take(range, fetched_[taken_]) == Step::RangeEnded) break;
    }
    if (!views_.empty()) break;
    quietSince = std::chrono::steady_clock::now();
  }
  return views_;
}

// What librdkafka has at once. It waits for a full array when given time, which a small batch cannot afford.
bool PartitionStream::fetch(const KafkaRange& range, size_t wanted) {
  if (range.cancellation) range.cancellation->throwIfCancelled();
  const size_t held = fetched_.size();
  fetched_.resize(held + wanted);
  const ssize_t count = rd_kafka_consume_batch(topic_, partition_.partition, 0, fetched_.data() + held, wanted);
  fetched_.resize(held + static_cast<size_t>(std::max<ssize_t>(count, 0)));
  if (count < 0) throw kafkaError(rd_kafka_last_error(), "The Kafka partition " + partition_.text() + " cannot be read");
  return count > 0;
}

void PartitionStream::waitForOne(const KafkaRange& range) {
  const BlockingSection waiting;
  if (rd_kafka_message_t* message = rd_kafka_consume(topic_, partition_.partition, kWaitStepMs)) {
    fetched_.push_back(message);
    return;
  }
  if (range.cancellation) range.cancellation->throwIfCancelled();
  client_->pollAndCheck();
}

PartitionStream::Step PartitionStream::take(const KafkaRange& range, rd_kafka_message_t* message) {
  switch (message->err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
      client_->noteAnswer();
      if (message->offset >= range.until) {
        position_ = range.until;
        return Step::RangeEnded;
      }
      ++taken_;
      // There is more than at the end that was told: a pause from here on is no sign of loss.
      if (message->offset >= endOffset_) endOffset_ = -1;
      if (message->offset < position_) return Step::Skipped;
      position_ = message->offset + 1;
      views_.push_back(viewOf(message));
      return Step::Delivered;
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
      ++taken_;
      client_->noteAnswer();
      endOffset_ = message->offset;
      return Step::Skipped;
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
      // Messages before it are handed out first; then it is met again at the front.
      if (!views_.empty()) return Step::RangeEnded;
      resolveLoss(range);
      return Step::RangeEnded;
    default: {
      const std::string details = rd_kafka_message_errstr(message) ? rd_kafka_message_errstr(message) : "";
      const int code = message->err;
      ++taken_;
      throw kafkaError(code, "The Kafka partition " + partition_.text() + " cannot be read at offset " + std::to_string(position_),
                       details);
    }
  }
}

void PartitionStream::checkStall(const KafkaRange& range, std::chrono::steady_clock::time_point since) {
  const auto quiet = std::chrono::steady_clock::now() - since;
  if (endOffset_ >= 0 && endOffset_ <= position_ && quiet >= std::min(kEndDoubtAfter, range.pollTimeout)) {
    resolveLoss(range);
    return;
  }
  if (quiet < range.pollTimeout) return;
  const std::string trouble = client_->lastTrouble();
  throw Error("KAFKA_CLIENT_FAILURE",
              "No record of the Kafka partition " + partition_.text() + " at offset " + std::to_string(position_) + " arrived in " +
                  std::to_string(range.pollTimeout.count()) + " ms (option kafkaConsumer.pollTimeoutMs)." +
                  (trouble.empty() ? "" : " The client's last trouble: " + trouble));
}

// The brokers' own word on what is there; the range goes on inside it, never below its own start.
void PartitionStream::resolveLoss(const KafkaRange& range) {
  struct Answer {
    int64_t low = -1;
    int64_t high = -1;
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  };
  const auto answer = std::make_shared<Answer>();
  client_->runBlocking(
      [handle = client_->get(), partition = partition_, answer] {
        answer->error = rd_kafka_query_watermark_offsets(handle, partition.topic.c_str(), partition.partition, &answer->low,
                                                         &answer->high, kWatermarkTimeoutMs);
      },
      range.cancellation);
  if (answer->error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw kafkaError(answer->error, "The offsets of the Kafka partition " + partition_.text() + " cannot be read", client_->lastTrouble());
  }
  const int64_t wanted = position_;
  const bool hasMore = answer->low <= wanted && wanted < std::min(answer->high, range.until);
  if (!hasMore && range.onLoss) range.onLoss({partition_, wanted, range.until, answer->low, answer->high});
  destroyFetched();
  stop();
  const int64_t goOn = wanted < answer->low ? answer->low : hasMore ? wanted : range.until;
  if (goOn < range.until) {
    start(goOn);
  } else {
    position_ = range.until;
  }
}

}  // namespace thalweg
