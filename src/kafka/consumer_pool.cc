#include "kafka/consumer_pool.h"

#include <algorithm>
#include <list>
#include <mutex>

#include <librdkafka/rdkafka.h>

#include "kafka/partition_stream.h"

namespace thalweg {
namespace {

constexpr int64_t kMinFetchBytes = 64 << 10;
// Half of Java's max.partition.fetch.bytes: compressed bytes, which grow tenfold as messages in a queue.
constexpr int64_t kMaxFetchBytes = 512 << 10;
// What one queued message costs at least, its bookkeeping in librdkafka counted.
constexpr int64_t kMessageBytes = 512;
// So many records take longer than to begin a partition's fetch anew.
constexpr int64_t kLargeRange = 20'000;

ClientHandle::Settings fetchSettings(const KafkaClientConfig& config, const KafkaFetchBudget& budget) {
  const int64_t share = std::max<int64_t>(budget.totalBytes / std::max(budget.partitions, 1), kMinFetchBytes);
  ClientHandle::Settings settings = {
      {"enable.auto.commit", "false"},
      {"enable.auto.offset.store", "false"},
      {"enable.partition.eof", "true"},
      {"auto.offset.reset", "error"},
      {"enable.metrics.push", "false"},
      // How often a full queue is looked at again; 0 makes the broker's thread spin while a batch is worked on.
      {"fetch.queue.backoff.ms", "1"},
      {"queued.max.messages.kbytes", std::to_string(share >> 10)},
      {"queued.min.messages", std::to_string(std::clamp<int64_t>(share / kMessageBytes, 100, 100'000))},
  };
  if (!config.settings.contains("fetch.message.max.bytes")) {
    settings["fetch.message.max.bytes"] = std::to_string(std::clamp(share / 2, kMinFetchBytes, kMaxFetchBytes));
  }
  if (!config.settings.contains("fetch.wait.max.ms")) {
    settings["fetch.wait.max.ms"] = std::to_string(budget.longestWait.count());
  }
  // A response that is lost holds up its connection for so long: Java's default of request.timeout.ms, half of librdkafka's.
  if (!config.settings.contains("socket.timeout.ms")) settings["socket.timeout.ms"] = "30000";
  return settings;
}

class Pool;

// A stream with its place in the pool.
struct Slot {
  std::unique_ptr<PartitionStream> stream;
  size_t client = 0;
  bool inUse = false;
  std::chrono::steady_clock::time_point lastUse;
};
using SlotPtr = std::shared_ptr<Slot>;

class PooledReader final : public KafkaRangeReader {
 public:
  PooledReader(std::shared_ptr<Pool> pool, TopicPartition partition, SlotPtr slot, KafkaRange range)
      : pool_(std::move(pool)), partition_(std::move(partition)), slot_(std::move(slot)), range_(std::move(range)) {}
  ~PooledReader() override;

  std::span<const KafkaMessage> next(size_t maxMessages) override {
    failed_ = true;  // until it returns
    const auto messages = slot_->stream->next(range_, maxMessages);
    failed_ = false;
    return messages;
  }

 private:
  const std::shared_ptr<Pool> pool_;
  const TopicPartition partition_;
  const SlotPtr slot_;
  const KafkaRange range_;
  bool failed_ = false;
};

class Pool final : public KafkaConsumerPool, public std::enable_shared_from_this<Pool> {
 public:
  Pool(KafkaClientConfig config, KafkaFetchBudget budget, std::chrono::milliseconds idleLimit)
      : config_(std::move(config)), settings_(fetchSettings(config_, budget)), idleLimit_(idleLimit) {}

  std::unique_ptr<KafkaRangeReader> open(KafkaRange range) override {
    letGoOfIdleOnes(range.partition, range.until - range.from >= kLargeRange);
    const SlotPtr slot = claim(range.partition, range.from);
    auto reader = std::make_unique<PooledReader>(shared_from_this(), range.partition, slot, range);
    if (!slot->stream) slot->stream = std::make_unique<PartitionStream>(client(slot->client), range.partition);
    slot->stream->seek(range.from);
    return reader;
  }

  void giveBack(const TopicPartition& partition, const SlotPtr& slot, bool failed) {
    if (slot->stream) slot->stream->release();
    // The slot stays claimed until its fetch has stopped: one client fetches a partition once.
    if (failed) slot->stream.reset();
    std::lock_guard lock(mutex_);
    auto& slots = slots_[partition];
    if (!slot->stream) std::erase(slots, slot);
    slot->inUse = false;
    slot->lastUse = std::chrono::steady_clock::now();
  }

 private:
  SlotPtr claim(const TopicPartition& partition, int64_t from) {
    std::lock_guard lock(mutex_);
    auto& slots = slots_[partition];
    SlotPtr found;
    for (const SlotPtr& slot : slots) {
      if (slot->inUse) continue;
      if (!found || (slot->stream && slot->stream->position() == from)) found = slot;
    }
    if (!found) {
      found = std::make_shared<Slot>();
      found->client = firstClientWithout(slots);
      slots.push_back(found);
    }
    found->inUse = true;
    return found;
  }

  static size_t firstClientWithout(const std::vector<SlotPtr>& slots) {
    size_t client = 0;
    while (std::any_of(slots.begin(), slots.end(), [&](const SlotPtr& slot) { return slot->client == client; })) ++client;
    return client;
  }

  std::shared_ptr<ClientHandle> client(size_t index) {
    std::lock_guard lock(mutex_);
    while (clients_.size() <= index) clients_.emplace_back();
    if (!clients_[index]) clients_[index] = ClientHandle::make(config_, KafkaRole::Consumer, settings_);
    return clients_[index];
  }

  // All but those of `wanted`, which is about to be read.
  void letGoOfIdleOnes(const TopicPartition& wanted, bool drainedToo) {
    const std::vector<std::pair<TopicPartition, SlotPtr>> idle = claimIdleOnes(wanted, drainedToo);
    if (idle.empty()) return;
    // Without the lock: stopping a fetch waits for librdkafka. The slots stay claimed meanwhile, so that nobody starts a
    // fetch of the same partition on the same client, which the stop would end.
    for (const auto& [partition, slot] : idle) slot->stream.reset();
    std::lock_guard lock(mutex_);
    for (const auto& [partition, slot] : idle) std::erase(slots_[partition], slot);
  }

  std::vector<std::pair<TopicPartition, SlotPtr>> claimIdleOnes(const TopicPartition& wanted, bool drainedToo) {
    std::vector<std::pair<TopicPartition, SlotPtr>> idle;
    const auto limit = std::chrono::steady_clock::now() - idleLimit_;
    std::lock_guard lock(mutex_);
    for (auto& [partition, slots] : slots_) {
      if (partition == wanted) continue;
      for (const SlotPtr& slot : slots) {
        if (slot->inUse) continue;
        const bool drained = drainedToo && slot->stream && slot->stream->isDrained();
        if (slot->lastUse >= limit && !drained) continue;
        slot->inUse = true;
        idle.emplace_back(partition, slot);
      }
    }
    return idle;
  }

  const KafkaClientConfig config_;
  const ClientHandle::Settings settings_;
  const std::chrono::milliseconds idleLimit_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<ClientHandle>> clients_;
  std::map<TopicPartition, std::vector<SlotPtr>> slots_;
};

PooledReader::~PooledReader() { pool_->giveBack(partition_, slot_, failed_); }

}  // namespace

KafkaTimestamp timestampOf(const KafkaMessage& message) {
  rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  const int64_t milliseconds = rd_kafka_message_timestamp(static_cast<const rd_kafka_message_t*>(message.native), &type);
  switch (type) {
    case RD_KAFKA_TIMESTAMP_CREATE_TIME: return {milliseconds, 0};
    case RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME: return {milliseconds, 1};
    default: return {-1, -1};
  }
}

void readHeaders(const KafkaMessage& message, std::vector<KafkaHeader>& headers) {
  headers.clear();
  rd_kafka_headers_t* list = nullptr;
  if (rd_kafka_message_headers(static_cast<const rd_kafka_message_t*>(message.native), &list) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const char* name = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  for (size_t i = 0; rd_kafka_header_get_all(list, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
    headers.push_back({name, static_cast<const uint8_t*>(value), size});
  }
}

std::shared_ptr<KafkaConsumerPool> KafkaConsumerPool::make(KafkaClientConfig config, KafkaFetchBudget budget,
                                                           std::chrono::milliseconds idleLimit) {
  return std::make_shared<Pool>(std::move(config), budget, idleLimit);
}

}  // namespace thalweg
