#include "kafka/embedded_broker.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "common/error.h"
#include "kafka/client_handle.h"

// Newer than the headers that Debian has; null where the library is older too.
extern "C" {
rd_kafka_resp_err_t rd_kafka_mock_topic_delete(rd_kafka_mock_cluster_t*, const char* topic) __attribute__((weak));
rd_kafka_resp_err_t rd_kafka_mock_partition_delete_records(rd_kafka_mock_cluster_t*, const char* topic, int32_t partition,
                                                           int64_t offset) __attribute__((weak));
}

namespace thalweg {
namespace {

void check(rd_kafka_resp_err_t error, const std::string& doing) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) throw kafkaError(error, doing);
}

}  // namespace

struct EmbeddedBroker::State {
  std::shared_ptr<ClientHandle> owner;
  rd_kafka_mock_cluster_t* cluster = nullptr;
};

EmbeddedBroker::EmbeddedBroker(int brokers) : state_(std::make_unique<State>()) {
  state_->owner = ClientHandle::make({}, KafkaRole::Producer, {{"client.id", "embedded-broker"}});
  state_->cluster = rd_kafka_mock_cluster_new(state_->owner->get(), brokers);
  if (!state_->cluster) throw internalError("The embedded Kafka broker cannot be started.");
}

EmbeddedBroker::~EmbeddedBroker() { rd_kafka_mock_cluster_destroy(state_->cluster); }

std::string EmbeddedBroker::bootstrapServers() const { return rd_kafka_mock_cluster_bootstraps(state_->cluster); }

void EmbeddedBroker::createTopic(const std::string& topic, int partitions) {
  check(rd_kafka_mock_topic_create(state_->cluster, topic.c_str(), partitions, 1), "The topic cannot be made");
}

void EmbeddedBroker::deleteTopic(const std::string& topic) {
  if (!rd_kafka_mock_topic_delete) throw unsupported("deleting a topic of the embedded broker");
  check(rd_kafka_mock_topic_delete(state_->cluster, topic.c_str()), "The topic cannot be deleted");
}

void EmbeddedBroker::deleteRecordsBefore(const std::string& topic, int partition, int64_t offset) {
  if (!rd_kafka_mock_partition_delete_records) throw unsupported("deleting records of the embedded broker");
  check(rd_kafka_mock_partition_delete_records(state_->cluster, topic.c_str(), partition, offset), "The records cannot be deleted");
}

void EmbeddedBroker::setDown(int broker, bool down) {
  check(down ? rd_kafka_mock_broker_set_down(state_->cluster, broker) : rd_kafka_mock_broker_set_up(state_->cluster, broker),
        "The broker cannot be switched");
}

void EmbeddedBroker::setRoundTripMs(int broker, int milliseconds) {
  check(rd_kafka_mock_broker_set_rtt(state_->cluster, broker, milliseconds), "The round trip cannot be set");
}

}  // namespace thalweg
