#include "kafka/offset_client.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <librdkafka/rdkafka.h>

#include "common/error.h"
#include "kafka/client_handle.h"

namespace thalweg {
namespace {

constexpr int kRequestTimeoutMs = 60'000;  // Java's default.api.timeout.ms
constexpr std::chrono::milliseconds kRepeatAfter{100};

struct ListFreer {
  void operator()(rd_kafka_topic_partition_list_t* list) const { rd_kafka_topic_partition_list_destroy(list); }
};
using PartitionListPtr = std::unique_ptr<rd_kafka_topic_partition_list_t, ListFreer>;

// What a metadata request brought, copied out of librdkafka's answer. An empty topic asks for all.
struct MetadataAnswer {
  int error = RD_KAFKA_RESP_ERR_NO_ERROR;
  struct Topic {
    std::string name;
    int error = RD_KAFKA_RESP_ERR_NO_ERROR;
    std::vector<int32_t> partitions;
  };
  std::vector<Topic> topics;
};

void requestMetadata(rd_kafka_t* handle, const std::string& topicName, MetadataAnswer& answer) {
  rd_kafka_topic_t* topic = topicName.empty() ? nullptr : rd_kafka_topic_new(handle, topicName.c_str(), nullptr);
  if (!topic && !topicName.empty()) {
    answer.error = rd_kafka_last_error();
    return;
  }
  const rd_kafka_metadata_t* metadata = nullptr;
  answer.error = rd_kafka_metadata(handle, topicName.empty() ? 1 : 0, topic, &metadata, kRequestTimeoutMs);
  if (topic) rd_kafka_topic_destroy(topic);
  if (answer.error != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  for (int t = 0; t < metadata->topic_cnt; ++t) {
    const rd_kafka_metadata_topic& found = metadata->topics[t];
    MetadataAnswer::Topic& copy = answer.topics.emplace_back();
    copy.name = found.topic;
    copy.error = found.err;
    for (int p = 0; p < found.partition_cnt; ++p) copy.partitions.push_back(found.partitions[p].id);
  }
  rd_kafka_metadata_destroy(metadata);
}

// Repeats a request while its error is one that time mends, for as long as Java's client does. `request` returns the error.
template <typename Request>
void repeatWhileTransient(ClientHandle& client, const CancellationToken* cancellation, const Request& request) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kRequestTimeoutMs);
  for (int error = request(); isTransient(error); error = request()) {
    if (std::chrono::steady_clock::now() >= deadline) return;
    if (!cancellation) {
      std::this_thread::sleep_for(kRepeatAfter);
    } else if (cancellation->waitFor(kRepeatAfter)) {
      cancellation->throwIfCancelled();
    }
    client.pollAndCheck();
  }
  client.noteAnswer();
}

MetadataAnswer metadataOf(ClientHandle& client, const std::string& topic, const CancellationToken* cancellation) {
  std::shared_ptr<MetadataAnswer> answer;
  repeatWhileTransient(client, cancellation, [&] {
    answer = std::make_shared<MetadataAnswer>();
    client.runBlocking([handle = client.get(), topic, answer] { requestMetadata(handle, topic, *answer); }, cancellation);
    return answer->error != RD_KAFKA_RESP_ERR_NO_ERROR || answer->topics.empty() ? answer->error : answer->topics.front().error;
  });
  client.pollAndCheck();
  if (answer->error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw kafkaError(answer->error, "The Kafka brokers did not tell their topics", client.lastTrouble());
  }
  return std::move(*answer);
}

struct OffsetsAnswer {
  explicit OffsetsAnswer(const PartitionOffsets& positions)
      : list(rd_kafka_topic_partition_list_new(static_cast<int>(positions.size()))) {
    for (const auto& [partition, position] : positions) {
      rd_kafka_topic_partition_list_add(list.get(), partition.topic.c_str(), partition.partition)->offset = position;
    }
  }
  int firstError() const {
    for (int i = 0; error == RD_KAFKA_RESP_ERR_NO_ERROR && i < list->cnt; ++i) {
      if (list->elems[i].err != RD_KAFKA_RESP_ERR_NO_ERROR) return list->elems[i].err;
    }
    return error;
  }
  PartitionListPtr list;
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
};

void requestOffsets(rd_kafka_t* handle, OffsetsAnswer& answer) {
  answer.error = rd_kafka_offsets_for_times(handle, answer.list.get(), kRequestTimeoutMs);
}

}  // namespace

KafkaOffsetClient::KafkaOffsetClient(const KafkaClientConfig& config)
    : client_(ClientHandle::make(config, KafkaRole::Consumer,
                                 {{"enable.auto.commit", "false"}, {"enable.metrics.push", "false"}})) {}

KafkaOffsetClient::~KafkaOffsetClient() = default;

std::vector<TopicPartition> KafkaOffsetClient::partitionsOf(const std::vector<std::string>& topics,
                                                            const CancellationToken* cancellation) {
  std::vector<TopicPartition> result;
  for (const std::string& topic : topics) {
    const MetadataAnswer answer = metadataOf(*client_, topic, cancellation);
    for (const auto& found : answer.topics) {
      if (found.error != RD_KAFKA_RESP_ERR_NO_ERROR) throw kafkaError(found.error, "The Kafka topic '" + topic + "' cannot be read");
      for (int32_t partition : found.partitions) result.push_back({found.name, partition});
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::string> KafkaOffsetClient::topicNames(const CancellationToken* cancellation) {
  std::vector<std::string> names;
  for (const auto& topic : metadataOf(*client_, "", cancellation).topics) {
    if (!topic.name.starts_with("__")) names.push_back(topic.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

PartitionOffsets KafkaOffsetClient::listOffsets(const PartitionOffsets& positions, const CancellationToken* cancellation) {
  if (positions.empty()) return {};
  std::shared_ptr<OffsetsAnswer> answer;
  repeatWhileTransient(*client_, cancellation, [&] {
    answer = std::make_shared<OffsetsAnswer>(positions);
    client_->runBlocking([handle = client_->get(), answer] { requestOffsets(handle, *answer); }, cancellation);
    return answer->firstError();
  });
  client_->pollAndCheck();
  const std::string doing = "The offsets of the Kafka topic '" + positions.begin()->first.topic + "' cannot be read";
  if (answer->error != RD_KAFKA_RESP_ERR_NO_ERROR) throw kafkaError(answer->error, doing, client_->lastTrouble());
  PartitionOffsets result;
  for (int i = 0; i < answer->list->cnt; ++i) {
    const rd_kafka_topic_partition_t& found = answer->list->elems[i];
    TopicPartition partition{found.topic, found.partition};
    if (found.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      throw kafkaError(found.err, "The offsets of the Kafka partition " + partition.text() + " cannot be read");
    }
    result[std::move(partition)] = found.offset;
  }
  return result;
}

}  // namespace thalweg
