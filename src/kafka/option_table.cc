#include "kafka/option_table.h"

#include <algorithm>
#include <iterator>

namespace thalweg {
namespace {

using enum KafkaOptionUse;
using enum KafkaOptionRole;

// Sorted by name.
constexpr KafkaOptionRow kRows[] = {
    {"acks", Pass, Producer},
    {"allow.auto.create.topics", Accept},
    {"auto.commit.interval.ms", Accept},
    {"auto.include.jmx.reporter", Accept},
    {"auto.offset.reset", Managed},
    {"batch.size", Pass, Producer},
    {"bootstrap.controllers", Missing},
    {"bootstrap.servers", Special},
    {"buffer.memory", Special, Producer},
    {"check.crcs", Pass, Consumer},
    {"client.dns.lookup", Accept},
    {"client.id", Pass},
    {"client.rack", Pass, Consumer},
    {"compression.gzip.level", Accept, Producer},
    {"compression.lz4.level", Accept, Producer},
    {"compression.type", Pass, Producer, "compression.codec"},
    {"compression.zstd.level", Accept, Producer},
    {"config.providers", LoadsCode},
    {"connections.max.idle.ms", Pass},
    {"default.api.timeout.ms", Accept},
    {"delivery.timeout.ms", Pass, Producer},
    {"enable.auto.commit", Managed},
    {"enable.idempotence", Pass, Producer},
    {"enable.metrics.push", Accept},
    {"exclude.internal.topics", Accept},
    {"fetch.max.bytes", Pass, Consumer},
    {"fetch.max.wait.ms", Pass, Consumer, "fetch.wait.max.ms"},
    {"fetch.min.bytes", Pass, Consumer},
    {"group.id", Special},
    {"group.instance.id", Accept},
    {"group.protocol", Accept},
    {"group.remote.assignor", Accept},
    {"heartbeat.interval.ms", Accept},
    {"interceptor.classes", Managed},
    {"isolation.level", Special},
    {"key.deserializer", Managed},
    {"key.serializer", Managed},
    {"linger.ms", Pass, Producer},
    {"max.block.ms", Accept, Producer},
    {"max.in.flight.requests.per.connection", Pass, Producer},
    {"max.partition.fetch.bytes", Pass, Consumer, "fetch.message.max.bytes"},
    {"max.poll.interval.ms", Accept},
    {"max.poll.records", Accept},
    {"max.request.size", Pass, Producer, "message.max.bytes"},
    {"metadata.max.age.ms", Pass},
    {"metadata.max.idle.ms", Accept},
    {"metadata.recovery.rebootstrap.trigger.ms", Accept},
    {"metadata.recovery.strategy", Accept},
    {"metric.reporters", LoadsCode},
    {"metrics.num.samples", Accept},
    {"metrics.recording.level", Accept},
    {"metrics.sample.window.ms", Accept},
    {"partition.assignment.strategy", Accept},
    {"partitioner.adaptive.partitioning.enable", Accept},
    {"partitioner.availability.timeout.ms", Accept},
    {"partitioner.class", LoadsCode},
    {"partitioner.ignore.keys", Missing},
    {"receive.buffer.bytes", Special},
    {"reconnect.backoff.max.ms", Pass},
    {"reconnect.backoff.ms", Pass},
    {"request.timeout.ms", Pass, Both, "socket.timeout.ms"},
    {"retries", Pass, Producer},
    {"retry.backoff.max.ms", Accept},
    {"retry.backoff.ms", Accept},
    {"sasl.client.callback.handler.class", LoadsCode},
    {"sasl.jaas.config", Special},
    {"sasl.kerberos.kinit.cmd", LoadsCode},
    {"sasl.kerberos.min.time.before.relogin", Accept},
    {"sasl.kerberos.service.name", Accept},
    {"sasl.kerberos.ticket.renew.jitter", Accept},
    {"sasl.kerberos.ticket.renew.window.factor", Accept},
    {"sasl.login.callback.handler.class", LoadsCode},
    {"sasl.login.class", LoadsCode},
    {"sasl.login.connect.timeout.ms", Accept},
    {"sasl.login.read.timeout.ms", Accept},
    {"sasl.login.refresh.buffer.seconds", Accept},
    {"sasl.login.refresh.min.period.seconds", Accept},
    {"sasl.login.refresh.window.factor", Accept},
    {"sasl.login.refresh.window.jitter", Accept},
    {"sasl.login.retry.backoff.max.ms", Accept},
    {"sasl.login.retry.backoff.ms", Accept},
    {"sasl.mechanism", Special},
    {"sasl.oauthbearer.clock.skew.seconds", Accept},
    {"sasl.oauthbearer.expected.audience", Accept},
    {"sasl.oauthbearer.expected.issuer", Accept},
    {"sasl.oauthbearer.jwks.endpoint.url", Missing},
    {"sasl.oauthbearer.scope.claim.name", Accept},
    {"sasl.oauthbearer.sub.claim.name", Accept},
    {"sasl.oauthbearer.token.endpoint.url", Missing},
    {"security.protocol", Special},
    {"security.providers", LoadsCode},
    {"send.buffer.bytes", Special},
    {"session.timeout.ms", Accept},
    {"socket.connection.setup.timeout.max.ms", Accept},
    {"socket.connection.setup.timeout.ms", Pass},
    {"ssl.cipher.suites", Missing},
    {"ssl.enabled.protocols", Accept},
    {"ssl.endpoint.identification.algorithm", Special},
    {"ssl.engine.factory.class", LoadsCode},
    {"ssl.key.password", Special},
    {"ssl.keymanager.algorithm", Accept},
    {"ssl.keystore.certificate.chain", Special},
    {"ssl.keystore.key", Special},
    {"ssl.keystore.location", Special},
    {"ssl.keystore.password", Special},
    {"ssl.keystore.type", Special},
    {"ssl.protocol", Accept},
    {"ssl.provider", LoadsCode},
    {"ssl.secure.random.implementation", Accept},
    {"ssl.trustmanager.algorithm", Accept},
    {"ssl.truststore.certificates", Special},
    {"ssl.truststore.location", Special},
    {"ssl.truststore.password", Special},
    {"ssl.truststore.type", Special},
    {"transaction.timeout.ms", Accept},
    {"transactional.id", Missing},
    {"value.deserializer", Managed},
    {"value.serializer", Managed},
};

constexpr bool isSorted() {
  for (size_t i = 1; i < std::size(kRows); ++i) {
    if (kRows[i - 1].name >= kRows[i].name) return false;
  }
  return true;
}
static_assert(isSorted());

}  // namespace

const KafkaOptionRow* findKafkaOption(std::string_view name) {
  const auto* found = std::lower_bound(std::begin(kRows), std::end(kRows), name,
                                       [](const KafkaOptionRow& row, std::string_view wanted) { return row.name < wanted; });
  return found != std::end(kRows) && found->name == name ? found : nullptr;
}

}  // namespace thalweg
