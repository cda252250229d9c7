#include "kafka/producer.h"

#include <librdkafka/rdkafka.h>

#include "kafka/client_handle.h"

namespace thalweg {
namespace {

constexpr int kQueueFullWaitMs = 10;
constexpr int kFlushStepMs = 50;

KafkaClientConfig configOf(const std::string& bootstrapServers) {
  KafkaClientConfig config;
  config.bootstrapServers = bootstrapServers;
  config.set("bootstrap.servers", bootstrapServers);
  return config;
}

ClientHandle::Settings settingsFor(const KafkaClientConfig& config) {
  ClientHandle::Settings settings = {{"enable.metrics.push", "false"},
                                     {"partitioner", "murmur2_random"},
                                     {"queue.buffering.max.messages", "0"}};
  if (!config.settings.contains("queue.buffering.max.kbytes")) settings["queue.buffering.max.kbytes"] = "131072";
  return settings;
}

}  // namespace

struct KafkaProducer::State {
  std::shared_ptr<ClientHandle> client;
  std::map<std::string, rd_kafka_topic_t*, std::less<>> topics;

  ~State() {
    for (auto& [name, topic] : topics) rd_kafka_topic_destroy(topic);
  }
  rd_kafka_topic_t* topic(std::string_view name) {
    auto found = topics.find(name);
    if (found != topics.end()) return found->second;
    rd_kafka_topic_t* made = rd_kafka_topic_new(client->get(), std::string(name).c_str(), nullptr);
    if (!made) throw kafkaError(rd_kafka_last_error(), "The Kafka topic '" + std::string(name) + "' cannot be written");
    topics.emplace(name, made);
    return made;
  }
};

KafkaProducer::KafkaProducer(const KafkaClientConfig& config) : state_(std::make_unique<State>()) {
  state_->client = ClientHandle::make(config, KafkaRole::Producer, settingsFor(config));
}
KafkaProducer::KafkaProducer(const std::string& bootstrapServers) : KafkaProducer(configOf(bootstrapServers)) {}
KafkaProducer::~KafkaProducer() = default;
KafkaProducer::KafkaProducer(KafkaProducer&&) noexcept = default;

void KafkaProducer::send(const KafkaRecord& record) {
  rd_kafka_headers_t* headers = nullptr;
  if (!record.headers.empty()) {
    headers = rd_kafka_headers_new(record.headers.size());
    for (const auto& [name, value] : record.headers) {
      rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()), value ? value->data() : nullptr,
                          value ? static_cast<ssize_t>(value->size()) : 0);
    }
  }
  // A null pointer is a null key or value; an empty one must not be.
  const auto pointer = [](const std::optional<std::string_view>& bytes) -> void* {
    return !bytes ? nullptr : bytes->empty() ? const_cast<char*>("") : const_cast<char*>(bytes->data());
  };
  const rd_kafka_vu_t arguments[] = {
      {RD_KAFKA_VTYPE_RKT, {.rkt = state_->topic(record.topic)}},
      {RD_KAFKA_VTYPE_PARTITION, {.i32 = record.partition < 0 ? RD_KAFKA_PARTITION_UA : record.partition}},
      {RD_KAFKA_VTYPE_MSGFLAGS, {.i = RD_KAFKA_MSG_F_COPY}},
      {RD_KAFKA_VTYPE_KEY, {.mem = {pointer(record.key), record.key ? record.key->size() : 0}}},
      {RD_KAFKA_VTYPE_VALUE, {.mem = {pointer(record.value), record.value ? record.value->size() : 0}}},
      {RD_KAFKA_VTYPE_TIMESTAMP, {.i64 = record.timestampMs}},
      {headers ? RD_KAFKA_VTYPE_HEADERS : RD_KAFKA_VTYPE_OPAQUE, {.headers = headers}},
  };
  while (rd_kafka_error_t* error = rd_kafka_produceva(state_->client->get(), arguments, std::size(arguments))) {
    const rd_kafka_resp_err_t code = rd_kafka_error_code(error);
    rd_kafka_error_destroy(error);
    if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
      rd_kafka_poll(state_->client->get(), kQueueFullWaitMs);
      state_->client->pollAndCheck();
      continue;
    }
    if (headers) rd_kafka_headers_destroy(headers);
    throw kafkaError(code, "A record for the Kafka topic '" + std::string(record.topic) + "' cannot be sent");
  }
}

void KafkaProducer::flush(std::chrono::milliseconds timeout, const CancellationToken* cancellation) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (rd_kafka_flush(state_->client->get(), kFlushStepMs) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    if (cancellation) cancellation->throwIfCancelled();
    state_->client->pollAndCheck();
    if (std::chrono::steady_clock::now() > deadline) {
      throw kafkaError(RD_KAFKA_RESP_ERR__TIMED_OUT, "Records were not delivered to Kafka", state_->client->lastTrouble());
    }
  }
  state_->client->throwFailedDelivery();
}

}  // namespace thalweg
