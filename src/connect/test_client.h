// What the tests of the service share: a server in process and the protocol's own client. For *_test.cc files
// only.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connect/server.h"
#include "connect/stub_session.h"

namespace spark::connect {
class ExecutePlanRequest;
class ExecutePlanResponse;
}  // namespace spark::connect

namespace thalweg::connect {

inline constexpr char kSessionId[] = "11111111-2222-4333-8444-555555555555";
inline constexpr char kOperationId[] = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";

// A server on a free port of the loopback, with stub sessions behind it.
class TestServer {
 public:
  explicit TestServer(ConnectServerOptions options = {});
  std::shared_ptr<grpc::Channel> channel() const;
  std::shared_ptr<StubSession> session() { return factory->session(kSessionId); }

  std::shared_ptr<StubSessionFactory> factory = std::make_shared<StubSessionFactory>();
  std::unique_ptr<ConnectServer> server;
};

// What a stream gave until its end.
struct StreamResult {
  std::vector<spark::connect::ExecutePlanResponse> responses;
  grpc::Status status;
};

spark::connect::ExecutePlanRequest sqlRequest(const std::string& text, bool reattachable = true,
                                              const std::string& operationId = kOperationId);
StreamResult execute(TestServer& server, const spark::connect::ExecutePlanRequest& request);
StreamResult reattach(TestServer& server, const std::string& lastResponseId,
                      const std::string& operationId = kOperationId);
void release(TestServer& server, const std::string& untilResponseId,
             const std::string& operationId = kOperationId);
void setConfig(TestServer& server, const std::string& key, const std::string& value);

// The condition that a status carries in its details; empty if none.
std::string conditionOf(const grpc::Status& status);
// A value of the details' metadata.
std::optional<std::string> metadataOf(const grpc::Status& status, const std::string& key);

}  // namespace thalweg::connect
