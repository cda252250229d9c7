// One librdkafka client: made from checked settings, with its callbacks noted for whoever waits. Internal to kafka/.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "common/cancellation.h"
#include "common/error.h"
#include "kafka/client_options.h"
#include "kafka/connection_health.h"

struct rd_kafka_s;

namespace thalweg {

// Shared by the objects that use the client; thread-safe as librdkafka is. Callbacks only note or log: librdkafka's threads
// run them. Log lines go to the server's log, secrets masked.
class ClientHandle : public std::enable_shared_from_this<ClientHandle> {
 public:
  using Settings = std::map<std::string, std::string>;

  // `extra` overrides the configuration. Throws Error with kind IllegalArgument where librdkafka refuses a setting.
  static std::shared_ptr<ClientHandle> make(const KafkaClientConfig& config, KafkaRole role, const Settings& extra = {});
  ~ClientHandle();

  rd_kafka_s* get() const { return handle_; }

  // Serves librdkafka's event queue without waiting, then throws what no waiting will mend: refused credentials, a
  // certificate that does not verify, brokers that close every connection before they ever answered (a security.protocol
  // that is not the listener's).
  void pollAndCheck();
  // A broker answered a request: connections that close from now on are trouble of a moment.
  void noteAnswer() { connections_.noteAnswer(); }
  const ConnectionHealth& connections() const { return connections_; }
  // The last trouble that librdkafka told, for the text of a timeout; empty: none.
  std::string lastTrouble() const;

  // Runs a call that blocks inside librdkafka on a thread of its own, so that cancellation (null: never) and fatal errors
  // end the wait at once; an abandoned call keeps this client alive until it returns. `call` must own what it uses.
  void runBlocking(std::function<void()> call, const CancellationToken* cancellation);

  // A producer's first failed delivery since the last call, thrown.
  void throwFailedDelivery();

  // Of librdkafka's callbacks.
  void noteError(int code, const char* reason);
  void noteDelivery(int code);
  void noteLog(int level, const char* facility, const char* text);

 private:
  ClientHandle(std::string bootstrapServers, std::string securityProtocol)
      : bootstrapServers_(std::move(bootstrapServers)), securityProtocol_(std::move(securityProtocol)) {}
  void throwIfRefused() const;

  const std::string bootstrapServers_;
  const std::string securityProtocol_;
  ConnectionHealth connections_;
  rd_kafka_s* handle_ = nullptr;
  mutable std::mutex mutex_;
  std::optional<Error> fatal_;
  std::string trouble_;
  int failedDelivery_ = 0;
  std::string lastFacility_;
  std::chrono::steady_clock::time_point lastLogged_;
  int64_t suppressedLines_ = 0;
};

// Condition of errors that no retry mends.
inline constexpr const char* kKafkaRefused = "KAFKA_CLIENT_FAILURE.CONNECTION_REFUSED";

// True for what a broker's restart or a leader's move brings, and time mends.
bool isTransient(int code);

// librdkafka's error code as an Error that says what was being done. Missing topics and partitions get
// UNKNOWN_TOPIC_OR_PARTITION, all else KAFKA_CLIENT_FAILURE.
Error kafkaError(int code, const std::string& doing, const std::string& details = {});

}  // namespace thalweg
