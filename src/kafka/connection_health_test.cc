#include "kafka/connection_health.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "common/error.h"
#include "kafka/client_handle.h"
#include "kafka/embedded_broker.h"

namespace thalweg {
namespace {

using std::chrono::seconds;
const ConnectionHealth::Time kStart{seconds(1000)};
// As librdkafka 2.16 has them, against a Kafka 4.4 broker.
constexpr const char* kClosed =
    "localhost:9093/bootstrap: Disconnected: connection closed by peer: receive 0 after POLLIN (after 3ms in "
    "state APIVERSION_QUERY)";
constexpr const char* kRefused =
    "localhost:9093/bootstrap: Connect to ipv4#127.0.0.1:9093 failed: Connection refused (after 0ms in state "
    "CONNECT)";

TEST(ConnectionHealth, ManyClosedConnectionsOverFifteenSecondsAreARefusal) {
  ConnectionHealth health;
  for (int i = 0; i < 15; ++i) health.noteFailure(kClosed, kStart + seconds(i));
  EXPECT_FALSE(health.refusal(kStart + seconds(14)));
  EXPECT_EQ(health.refusal(kStart + seconds(15)), kClosed);
}

TEST(ConnectionHealth, AFewClosedConnectionsAreNone) {
  ConnectionHealth health;
  for (int i = 0; i < 4; ++i) health.noteFailure(kClosed, kStart);
  EXPECT_FALSE(health.refusal(kStart + seconds(60)));
}

TEST(ConnectionHealth, ABrokerThatRestartsIsWaitedFor) {
  ConnectionHealth health;
  for (int i = 0; i < 10; ++i) health.noteFailure(kClosed, kStart + seconds(i));
  health.noteFailure(kRefused, kStart + seconds(10));
  for (int i = 11; i < 20; ++i) health.noteFailure(kClosed, kStart + seconds(i));
  EXPECT_FALSE(health.refusal(kStart + seconds(20)));
}

TEST(ConnectionHealth, ABrokerThatAnsweredOnceIsWaitedFor) {
  ConnectionHealth health;
  health.noteAnswer();
  for (int i = 0; i < 20; ++i) health.noteFailure(kClosed, kStart + seconds(i));
  EXPECT_FALSE(health.refusal(kStart + seconds(60)));
}

// Takes connections, sends what a TLS listener sends to a plain client (an alert) or nothing, and closes
// them.
class ClosingListener {
 public:
  explicit ClosingListener(std::string_view reply)
      : reply_(reply), socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    EXPECT_EQ(::listen(socket_, 16), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~ClosingListener() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  void serve() {
    for (int connection; (connection = ::accept(socket_, nullptr, nullptr)) >= 0; ::close(connection)) {
      char bytes[512];
      if (::recv(connection, bytes, sizeof bytes, 0) > 0)
        ::send(connection, reply_.data(), reply_.size(), MSG_NOSIGNAL);
    }
  }
  const std::string_view reply_;
  const int socket_;
  int port_ = 0;
  std::thread thread_;
};

std::optional<std::string> refusalOf(const std::string& brokers, const std::string& protocol) {
  Options options{{"kafka.bootstrap.servers", brokers},
                  {"kafka.security.protocol", protocol},
                  {"kafka.reconnect.backoff.ms", "10"},
                  {"kafka.reconnect.backoff.max.ms", "20"}};
  const auto client =
      ClientHandle::make(translateKafkaOptions(options, KafkaRole::Consumer), KafkaRole::Consumer);
  const auto deadline = std::chrono::steady_clock::now() + seconds(20);
  while (std::chrono::steady_clock::now() < deadline) {
    client->pollAndCheck();
    // As it will be after the wait.
    if (auto refusal = client->connections().refusal(std::chrono::steady_clock::now() + seconds(15)))
      return refusal;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return std::nullopt;
}

TEST(ConnectionHealth, APlainClientSeesThatATlsListenerClosesEveryConnection) {
  ClosingListener alerting(std::string_view("\x15\x03\x03\x00\x02\x02\x50", 7));
  EXPECT_TRUE(refusalOf(alerting.address(), "PLAINTEXT"));
}

TEST(ConnectionHealth, ATlsClientSeesThatAPlainListenerClosesEveryConnection) {
  ClosingListener silent("");
  EXPECT_TRUE(refusalOf(silent.address(), "SSL"));
}

TEST(ConnectionHealth, AClientThatFitsIsNotRefused) {
  EmbeddedBroker broker;
  Options options{{"kafka.bootstrap.servers", broker.bootstrapServers()}};
  const auto client =
      ClientHandle::make(translateKafkaOptions(options, KafkaRole::Consumer), KafkaRole::Consumer);
  EXPECT_NO_THROW(client->pollAndCheck());
  EXPECT_FALSE(client->connections().refusal(std::chrono::steady_clock::now() + seconds(60)));
}

}  // namespace
}  // namespace thalweg
