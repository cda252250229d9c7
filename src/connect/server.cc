#include "connect/server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/security/server_credentials.h>

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "common/logging.h"
#include "connect/rpc_service.h"
#include "connect/server_state.h"
#include "connect/tokens.h"

namespace thalweg::connect {
namespace {

constexpr std::chrono::milliseconds kTick{100};
constexpr std::chrono::seconds kCallsEndWithin{2};

Error invalidOption(const std::string& text) {
  return Error("INVALID_OPTION", text);
}

std::string readFile(const std::string& path, const std::string& what) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!file || !(content << file.rdbuf()))
    throw invalidOption("The " + what + " " + path + " cannot be read, or is empty.");
  return content.str();
}

TokenList readTokens(const ConnectServerOptions& options) {
  if (!options.tokenFile.empty()) return TokenList::fromFile(options.tokenFile);
  return options.tokens.empty() ? TokenList() : TokenList::fromText(options.tokens);
}

std::shared_ptr<grpc::ServerCredentials> makeCredentials(const ConnectServerOptions& options) {
  if (options.certificateFile.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions tls;
  tls.pem_key_cert_pairs.push_back(
      {readFile(options.keyFile, "key file"), readFile(options.certificateFile, "certificate file")});
  return grpc::SslServerCredentials(tls);
}

void checkOptions(const ConnectServerOptions& options) {
  if (options.certificateFile.empty() != options.keyFile.empty()) {
    throw invalidOption("TLS takes a certificate and its key: give both files or neither.");
  }
  if (options.port < 0 || options.port > 65535) throw invalidOption("The port must be between 0 and 65535.");
  const bool guarded =
      !options.certificateFile.empty() && !(options.tokenFile.empty() && options.tokens.empty());
  if (!isLoopback(options.host) && !guarded) {
    throw invalidOption("The address " + options.host +
                        " is reachable from other machines: that takes a token and TLS. Give --token-file "
                        "(or THALWEG_TOKEN), "
                        "--tls-cert and --tls-key, or bind 127.0.0.1.");
  }
}

void setChannelArguments(const Limits& limits, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(static_cast<int>(limits.messageBytes));
  builder->SetMaxSendMessageSize(-1);
  // A second server on the port must fail, not share it.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 100);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 16 << 10);
  // Clients send keep-alive pings also between calls, and a vanished client is to be noticed.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
}

// Protobuf writes what it thinks of foreign bytes on standard error; the error that the client gets says it.
void logProtobuf(google::protobuf::LogLevel, const char*, int, const std::string& text) {
  logDebug("protobuf: {}", text);
}

}  // namespace

bool isLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host == "[::1]" ||
         (host.rfind("127.", 0) == 0 && host.find_first_not_of("0123456789.") == std::string::npos);
}

class ConnectServer::Implementation {
 public:
  Implementation(ConnectServerOptions options, std::shared_ptr<SessionFactory> factory)
      : options_((checkOptions(options), std::move(options))),
        credentials_(makeCredentials(options_)),
        state_(options_.limits, readTokens(options_), std::move(factory)),
        service_(makeRpcService(state_)) {}

  void start() {
    google::protobuf::SetLogHandler(&logProtobuf);
    grpc::ServerBuilder builder;
    setChannelArguments(options_.limits, &builder);
    const bool bareIpv6 = options_.host.find(':') != std::string::npos && options_.host.front() != '[';
    const std::string address =
        fmt::format("{}:{}", bareIpv6 ? "[" + options_.host + "]" : options_.host, options_.port);
    builder.AddListeningPort(address, credentials_, &port_);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      throw invalidOption(
          "The server cannot listen on " + address +
          ": the port is taken, the address is not this machine's, or the TLS files do not fit.");
    }
    ticker_ = std::thread([this] { tickUntilStopped(); });
  }

  int port() const { return port_; }

  void shutDown() {
    if (server_ == nullptr || isShutDown_) return;
    isShutDown_ = true;
    state_.sessions.refuseNew();
    try {
      state_.factory->shutDown();
    } catch (...) {
      logError("the queries did not stop cleanly: {}", currentExceptionAsError().message());
    }
    state_.sessions.closeAll();
    server_->Shutdown(std::chrono::system_clock::now() + kCallsEndWithin);
    state_.executions.shutDown();
    state_.calls.shutDown();
    server_->Wait();
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    stopped_.notify_all();
    ticker_.join();
  }

 private:
  void tickUntilStopped() {
    std::unique_lock lock(mutex_);
    while (!stopped_.wait_for(lock, kTick, [this] { return stopping_; })) {
      lock.unlock();
      state_.sessions.tick(std::chrono::steady_clock::now());
      lock.lock();
    }
  }

  const ConnectServerOptions options_;
  const std::shared_ptr<grpc::ServerCredentials> credentials_;
  ServerState state_;
  const std::unique_ptr<grpc::Service> service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  bool isShutDown_ = false;
  std::thread ticker_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
};

ConnectServer::ConnectServer(ConnectServerOptions options, std::shared_ptr<SessionFactory> factory)
    : implementation_(std::make_unique<Implementation>(std::move(options), std::move(factory))) {}

ConnectServer::~ConnectServer() {
  shutDown();
}

void ConnectServer::start() {
  implementation_->start();
}

int ConnectServer::port() const {
  return implementation_->port();
}

void ConnectServer::shutDown() {
  implementation_->shutDown();
}

}  // namespace thalweg::connect
