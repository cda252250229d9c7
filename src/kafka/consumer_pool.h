// Messages of one partition's offset range, over clients that stay connected and fetch ahead between a query's batches.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "common/cancellation.h"
#include "kafka/client_options.h"
#include "kafka/topic_partition.h"

namespace thalweg {

// A view of one message inside librdkafka's buffers; valid until the reader's next call. Key and value are null where the
// record has none (which differs from empty).
struct KafkaMessage {
  int64_t offset = 0;
  const uint8_t* key = nullptr;
  const uint8_t* value = nullptr;
  size_t keySize = 0;
  size_t valueSize = 0;
  const void* native = nullptr;  // librdkafka's message, for the functions below
};

struct KafkaTimestamp {
  int64_t milliseconds = -1;
  int32_t type = -1;  // Spark's timestampType: −1 none, 0 create time, 1 log append time
};
KafkaTimestamp timestampOf(const KafkaMessage& message);

struct KafkaHeader {
  std::string_view key;
  const uint8_t* value = nullptr;  // null where the header has no value
  size_t valueSize = 0;
};
// Replaces the contents of `headers`; empty where the record has none. Views as long as the message's.
void readHeaders(const KafkaMessage& message, std::vector<KafkaHeader>& headers);

// Planned offsets that the brokers do not have any more: retention, truncation, a topic made again.
struct KafkaOffsetLoss {
  TopicPartition partition;
  int64_t wanted = 0;
  int64_t until = 0;     // end of the planned range
  int64_t earliest = 0;  // what there is
  int64_t latest = 0;
};

struct KafkaRange {
  TopicPartition partition;
  int64_t from = 0;
  int64_t until = 0;  // exclusive
  // Without a message or news of the partition's end for this long, reading fails: Spark's kafkaConsumer.pollTimeoutMs.
  std::chrono::milliseconds pollTimeout{120'000};
  const CancellationToken* cancellation = nullptr;  // seen within 100 ms in every wait
  // Called when offsets of the range are gone: throws to end the read, or returns to go on with what is left of the range.
  std::function<void(const KafkaOffsetLoss&)> onLoss = {};
};

// Used by one thread. Offsets may have holes (compaction, aborted transactions, control records): the range ends where the
// position passes `until`, with a message there or not. Throws Error (see KafkaOffsetClient).
class KafkaRangeReader {
 public:
  virtual ~KafkaRangeReader() = default;
  // From one up to `maxMessages` messages in the order of offsets; empty at the end of the range.
  virtual std::span<const KafkaMessage> next(size_t maxMessages) = 0;
};

struct KafkaFetchBudget {
  int64_t totalBytes = 16 << 20;  // of fetched messages that wait to be read, over all partitions
  int partitions = 1;             // expected; each gets an equal share
  // How long a broker may hold back an answer for want of new records. A client has one request on its way to a broker, so
  // one that waits holds up partitions that have records; short waits are for those who read what is there and end.
  std::chrono::milliseconds longestWait{100};
};

// The consumers of one query. Thread-safe; ranges of different partitions, or of the same one, may be read at once. A range
// that begins where the last one of its partition ended continues in the data already fetched: no request, no reconnect.
// Partitions not read for `idleLimit` are let go when another one is opened, and at once those at their end when a large
// range is opened, which their fetch would hold up. Must be held by a shared_ptr; readers keep it alive.
class KafkaConsumerPool {
 public:
  virtual ~KafkaConsumerPool() = default;
  virtual std::unique_ptr<KafkaRangeReader> open(KafkaRange range) = 0;

  // `config` comes from translateKafkaOptions for a consumer. Clients are made on first use.
  // The idle limit is Spark's spark.kafka.consumer.cache.timeout.
  static std::shared_ptr<KafkaConsumerPool> make(KafkaClientConfig config, KafkaFetchBudget budget,
                                                 std::chrono::milliseconds idleLimit = std::chrono::minutes(5));
};

}  // namespace thalweg
