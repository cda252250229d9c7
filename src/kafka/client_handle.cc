#include "kafka/client_handle.h"

#include <condition_variable>
#include <thread>

#include <librdkafka/rdkafka.h>

#include "common/logging.h"
#include "common/secret.h"
#include "common/task_pool.h"

namespace thalweg {
namespace {

constexpr std::chrono::milliseconds kWaitStep{50};
constexpr int kSyslogWarning = 4;
// A broker that is down makes librdkafka log each attempt to connect.
constexpr std::chrono::seconds kSameLogAfter{10};

// RD_KAFKA_RESP_ERR__DESTROY_BROKER of newer headers than Debian's.
constexpr int kBrokerDestroyed = -137;

void logCallback(const rd_kafka_t* handle, int level, const char* facility, const char* text) {
  if (auto* client = static_cast<ClientHandle*>(rd_kafka_opaque(handle))) client->noteLog(level, facility, text);
}

void errorCallback(rd_kafka_t*, int code, const char* reason, void* opaque) {
  static_cast<ClientHandle*>(opaque)->noteError(code, reason);
}

void deliveryCallback(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) static_cast<ClientHandle*>(opaque)->noteDelivery(message->err);
}

void setOrThrow(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  char reason[512];
  if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), reason, sizeof reason) == RD_KAFKA_CONF_OK) return;
  throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
              "The Kafka client does not take the setting '" + name + "': " + maskSecrets(reason));
}

// A response holds at least one fetch; librdkafka insists on some room for its envelope.
void allowResponsesOfFetchSize(ClientHandle::Settings& settings) {
  const auto fetch = settings.find("fetch.max.bytes");
  if (fetch == settings.end()) return;
  constexpr int64_t kEnvelopeBytes = 1 << 20;
  constexpr int64_t kDefaultBytes = 100'000'000;
  const int64_t wanted = std::strtoll(fetch->second.c_str(), nullptr, 10) + kEnvelopeBytes;
  if (wanted > kDefaultBytes) settings["receive.message.max.bytes"] = std::to_string(std::min<int64_t>(wanted, INT32_MAX));
}

}  // namespace

std::shared_ptr<ClientHandle> ClientHandle::make(const KafkaClientConfig& config, KafkaRole role, const Settings& extra) {
  const auto protocol = config.settings.find("security.protocol");
  std::shared_ptr<ClientHandle> client(
      new ClientHandle(config.bootstrapServers, protocol == config.settings.end() ? "plaintext" : protocol->second));
  std::unique_ptr<rd_kafka_conf_t, decltype(&rd_kafka_conf_destroy)> conf(rd_kafka_conf_new(), rd_kafka_conf_destroy);
  Settings settings = config.settings;
  for (const auto& [name, value] : extra) settings[name] = value;
  allowResponsesOfFetchSize(settings);
  for (const auto& [name, value] : settings) setOrThrow(conf.get(), name, value);
  for (const auto& [name, value] : config.secrets) setOrThrow(conf.get(), name, value.reveal());
  rd_kafka_conf_set_opaque(conf.get(), client.get());
  rd_kafka_conf_set_log_cb(conf.get(), logCallback);
  rd_kafka_conf_set_error_cb(conf.get(), errorCallback);
  if (role == KafkaRole::Producer) rd_kafka_conf_set_dr_msg_cb(conf.get(), deliveryCallback);
  char reason[512];
  const rd_kafka_type_t type = role == KafkaRole::Consumer ? RD_KAFKA_CONSUMER : RD_KAFKA_PRODUCER;
  client->handle_ = rd_kafka_new(type, conf.get(), reason, sizeof reason);
  if (!client->handle_) {
    throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
                "The Kafka client cannot be set up with these options: " + maskSecrets(reason));
  }
  conf.release();  // librdkafka's from here on
  return client;
}

ClientHandle::~ClientHandle() {
  if (handle_) rd_kafka_destroy_flags(handle_, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

void ClientHandle::noteError(int code, const char* reason) {
  const std::string text = maskSecrets(reason ? reason : "");
  std::lock_guard lock(mutex_);
  trouble_ = text;
  const bool certificate = code == RD_KAFKA_RESP_ERR__SSL && text.find("certificate") != std::string::npos;
  if (code != RD_KAFKA_RESP_ERR__AUTHENTICATION && code != RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE && !certificate) return;
  fatal_ = Error(kKafkaRefused,
                 "The Kafka brokers at " + bootstrapServers_ + " refused the connection; check the kafka.sasl.* and kafka.ssl.* options: " + text);
}

void ClientHandle::pollAndCheck() {
  rd_kafka_poll(handle_, 0);
  throwIfRefused();
  std::lock_guard lock(mutex_);
  if (fatal_) throw *fatal_;
}

void ClientHandle::throwIfRefused() const {
  const auto line = connections_.refusal(std::chrono::steady_clock::now());
  if (!line) return;
  throw Error(kKafkaRefused, "The Kafka brokers at " + bootstrapServers_ +
                                 " close every connection before they answer. Check the option kafka.security.protocol (now " +
                                 securityProtocol_ + "): this listener expects another of PLAINTEXT, SSL, SASL_PLAINTEXT and SASL_SSL. "
                                 "The client's words: " + maskSecrets(*line));
}

void ClientHandle::noteLog(int level, const char* facility, const char* text) {
  if (std::string_view(facility) == "FAIL") connections_.noteFailure(text, std::chrono::steady_clock::now());
  const LogLevel severity = level <= kSyslogWarning ? LogLevel::Warn : LogLevel::Debug;
  if (!logEnabled(severity)) return;
  int64_t suppressed = 0;
  {
    std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (severity == LogLevel::Warn && lastFacility_ == facility && now - lastLogged_ < kSameLogAfter) {
      ++suppressedLines_;
      return;
    }
    if (severity == LogLevel::Warn) {
      lastFacility_ = facility;
      lastLogged_ = now;
      suppressed = std::exchange(suppressedLines_, 0);
    }
  }
  logLine(severity, fmt::format("kafka: {}: {}{}", facility, text,
                                suppressed > 0 ? fmt::format(" ({} lines of this kind before it)", suppressed) : ""));
}

void ClientHandle::noteDelivery(int code) {
  std::lock_guard lock(mutex_);
  if (failedDelivery_ == 0) failedDelivery_ = code;
}

void ClientHandle::throwFailedDelivery() {
  std::lock_guard lock(mutex_);
  if (failedDelivery_ != 0) throw kafkaError(std::exchange(failedDelivery_, 0), "A record was not delivered to Kafka", trouble_);
}

std::string ClientHandle::lastTrouble() const {
  std::lock_guard lock(mutex_);
  return trouble_;
}

void ClientHandle::runBlocking(std::function<void()> call, const CancellationToken* cancellation) {
  struct Progress {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  };
  const BlockingSection waiting;
  const auto progress = std::make_shared<Progress>();
  std::thread([self = shared_from_this(), call = std::move(call), progress]() mutable {
    call();
    call = nullptr;
    self.reset();
    std::lock_guard lock(progress->mutex);
    progress->done = true;
    progress->changed.notify_all();
  }).detach();
  std::unique_lock lock(progress->mutex);
  while (!progress->changed.wait_for(lock, kWaitStep, [&] { return progress->done; })) {
    lock.unlock();
    if (cancellation) cancellation->throwIfCancelled();
    pollAndCheck();
    lock.lock();
  }
}

bool isTransient(int code) {
  switch (code) {
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case kBrokerDestroyed:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE: return true;
    default: return false;
  }
}

Error kafkaError(int code, const std::string& doing, const std::string& details) {
  const auto error = static_cast<rd_kafka_resp_err_t>(code);
  const std::string reason = std::string(rd_kafka_err2str(error)) + (details.empty() ? "" : " (" + maskSecrets(details) + ")");
  const bool missing = error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART || error == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
                       error == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
  return Error(missing ? "UNKNOWN_TOPIC_OR_PARTITION" : "KAFKA_CLIENT_FAILURE", doing + ": " + reason);
}

}  // namespace thalweg
