#include "kafka/offset_client.h"

#include <algorithm>

#include <librdkafka/rdkafka.h>

#include "common/error.h"
#include "kafka/client_handle.h"

namespace thalweg {
namespace {

constexpr int kRequestTimeoutMs = 60'000;  // Java's default.api.timeout.ms

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

MetadataAnswer metadataOf(ClientHandle& client, const std::string& topic, const CancellationToken* cancellation) {
  const auto answer = std::make_shared<MetadataAnswer>();
  client.runBlocking([handle = client.get(), topic, answer] { requestMetadata(handle, topic, *answer); }, cancellation);
  client.pollAndCheck();
  if (answer->error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw kafkaError(answer->error, "The Kafka brokers did not tell their topics", client.lastTrouble());
  }
  return std::move(*answer);
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
  struct Answer {
    PartitionListPtr list;
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  };
  const auto answer = std::make_shared<Answer>();
  answer->list.reset(rd_kafka_topic_partition_list_new(static_cast<int>(positions.size())));
  for (const auto& [partition, position] : positions) {
    rd_kafka_topic_partition_list_add(answer->list.get(), partition.topic.c_str(), partition.partition)->offset = position;
  }
  client_->runBlocking(
      [handle = client_->get(), answer] {
        answer->error = rd_kafka_offsets_for_times(handle, answer->list.get(), kRequestTimeoutMs);
      },
      cancellation);
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
