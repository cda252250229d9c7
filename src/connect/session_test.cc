// Who finds which session, and how sessions end.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>

#include "common/error.h"
#include "connect/test_client.h"
#include "connect/tokens.h"
#include "spark/connect/base.grpc.pb.h"
#include "spark/connect/base.pb.h"

namespace thalweg::connect {
namespace {

using namespace spark::connect;
using std::chrono::milliseconds;

constexpr char kOtherSession[] = "99999999-2222-4333-8444-555555555555";

struct Caller {
  std::string token = "";
  std::string userId = "";
  std::string sessionId = kSessionId;
  std::string observedId = "";
};

struct VersionAnswer {
  grpc::Status status;
  std::string serverSideId;
};

VersionAnswer askVersion(TestServer& server, const Caller& caller) {
  const auto stub = SparkConnectService::NewStub(server.channel());
  grpc::ClientContext context;
  if (!caller.token.empty()) context.AddMetadata("authorization", "Bearer " + caller.token);
  AnalyzePlanRequest request;
  request.set_session_id(caller.sessionId);
  request.mutable_user_context()->set_user_id(caller.userId);
  if (!caller.observedId.empty()) request.set_client_observed_server_side_session_id(caller.observedId);
  request.mutable_spark_version();
  AnalyzePlanResponse response;
  VersionAnswer answer;
  answer.status = stub->AnalyzePlan(&context, request, &response);
  answer.serverSideId = response.server_side_session_id();
  return answer;
}

void releaseSession(TestServer& server, const Caller& caller, bool allowReconnect = false) {
  const auto stub = SparkConnectService::NewStub(server.channel());
  grpc::ClientContext context;
  if (!caller.token.empty()) context.AddMetadata("authorization", "Bearer " + caller.token);
  ReleaseSessionRequest request;
  request.set_session_id(caller.sessionId);
  request.mutable_user_context()->set_user_id(caller.userId);
  request.set_allow_reconnect(allowReconnect);
  ReleaseSessionResponse response;
  ASSERT_TRUE(stub->ReleaseSession(&context, request, &response).ok());
  EXPECT_EQ(response.session_id(), caller.sessionId);
}

ConnectServerOptions withTokens(const std::string& tokens) {
  ConnectServerOptions options;
  options.tokens = tokens;
  return options;
}

TEST(Tokens, OneALineAndAnyOfThem) {
  const TokenList tokens = TokenList::fromText("# rotated in May\nfirst-token\n\n  second-token \r\n");
  EXPECT_EQ(tokens.identify("Bearer first-token"), 0);
  EXPECT_EQ(tokens.identify("bearer second-token"), 1);
  for (const char* wrong : {"", "Bearer", "Bearer ", "first-token", "Bearer first-toke",
                            "Bearer first-token2", "Basic first-token"}) {
    EXPECT_EQ(tokens.identify(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(TokenList().identify(""), 0);
  EXPECT_THROW(TokenList::fromText("\n# nothing\n"), Error);
  EXPECT_THROW(TokenList::fromFile("/nowhere/tokens"), Error);
}

// Every method that the protocol has, so that none is forgotten.
TEST(Tokens, EveryMethodAsksForOne) {
  TestServer server(withTokens("right-token"));
  const auto* service = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
      "spark.connect.SparkConnectService");
  ASSERT_NE(service, nullptr);
  ASSERT_EQ(service->method_count(), 12);
  for (int i = 0; i < service->method_count(); ++i) {
    for (const char* header : {"", "Bearer wrong-token"}) {
      grpc::GenericStub stub(server.channel());
      grpc::ClientContext context;
      if (*header != '\0') context.AddMetadata("authorization", header);
      grpc::CompletionQueue queue;
      const grpc::Slice empty;
      const grpc::ByteBuffer request(&empty, 1);
      const auto call = stub.PrepareUnaryCall(
          &context, "/spark.connect.SparkConnectService/" + service->method(i)->name(), request, &queue);
      call->StartCall();
      grpc::ByteBuffer response;
      grpc::Status status;
      call->Finish(&response, &status, nullptr);
      void* tag = nullptr;
      bool ok = false;
      ASSERT_TRUE(queue.Next(&tag, &ok));
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << service->method(i)->name();
    }
  }
  EXPECT_EQ(server.session(), nullptr);
}

TEST(Sessions, BelongToTokenUserAndId) {
  TestServer server(withTokens("first-token\nsecond-token"));
  const VersionAnswer mine = askVersion(server, {"first-token", "ada"});
  ASSERT_TRUE(mine.status.ok());
  EXPECT_EQ(askVersion(server, {"first-token", "ada"}).serverSideId, mine.serverSideId);
  EXPECT_NE(askVersion(server, {"second-token", "ada"}).serverSideId, mine.serverSideId);
  EXPECT_NE(askVersion(server, {"first-token", "bob"}).serverSideId, mine.serverSideId);
}

TEST(Sessions, AChangedServerSideIdIsToldToTheClient) {
  TestServer server;
  const VersionAnswer answer = askVersion(server, {});
  EXPECT_TRUE(askVersion(server, {.observedId = answer.serverSideId}).status.ok());
  EXPECT_EQ(conditionOf(askVersion(server, {.observedId = kOtherSession}).status),
            "INVALID_HANDLE.SESSION_CHANGED");
  EXPECT_EQ(conditionOf(askVersion(server, {.sessionId = kOtherSession, .observedId = "gone"}).status),
            "INVALID_HANDLE.SESSION_CHANGED");
}

TEST(Sessions, IdsAreUuids) {
  TestServer server;
  EXPECT_EQ(conditionOf(askVersion(server, {.sessionId = "one"}).status), "INVALID_HANDLE.FORMAT");
  EXPECT_EQ(conditionOf(execute(server, sqlRequest("rows 1 1 0", true, "one")).status),
            "INVALID_HANDLE.FORMAT");
}

TEST(Sessions, AReleasedIdIsClosedUnlessReconnectIsAllowed) {
  TestServer server;
  askVersion(server, {});
  const auto service = server.session();
  releaseSession(server, {});
  EXPECT_TRUE(service->closed);
  EXPECT_EQ(conditionOf(askVersion(server, {}).status), "INVALID_HANDLE.SESSION_CLOSED");
  askVersion(server, {.sessionId = kOtherSession});
  releaseSession(server, {.sessionId = kOtherSession}, true);
  EXPECT_TRUE(askVersion(server, {.sessionId = kOtherSession}).status.ok());
}

TEST(Sessions, ReleaseCancelsWhatRuns) {
  TestServer server;
  std::thread runner(
      [&] { EXPECT_EQ(conditionOf(execute(server, sqlRequest("block")).status), "OPERATION_CANCELED"); });
  while (server.session() == nullptr || server.session()->executions == 0)
    std::this_thread::sleep_for(milliseconds(5));
  releaseSession(server, {});
  runner.join();
}

TEST(Sessions, IdleOnesExpire) {
  ConnectServerOptions options;
  options.limits.sessionIdle = milliseconds(150);
  TestServer server(options);
  askVersion(server, {});
  const auto service = server.session();
  for (int i = 0; i < 1000 && !service->closed; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(service->closed);
}

TEST(Sessions, AreLimitedAndSoAreTheirOperations) {
  ConnectServerOptions options;
  options.limits.sessions = 1;
  options.limits.operationsPerSession = 1;
  TestServer server(options);
  execute(server, sqlRequest("rows 1 1 0"));
  EXPECT_EQ(conditionOf(execute(server, sqlRequest("rows 1 1 0", true, kOtherSession)).status),
            "SERVER_LIMIT_EXCEEDED.OPERATIONS");
  EXPECT_EQ(conditionOf(askVersion(server, {.sessionId = kOtherSession}).status),
            "SERVER_LIMIT_EXCEEDED.SESSIONS");
}

TEST(Server, RefusesToBeReachableWithoutTokenAndTls) {
  const auto factory = std::make_shared<StubSessionFactory>();
  ConnectServerOptions options;
  for (const char* host : {"0.0.0.0", "::", "192.168.1.7", "example.org", "127.0.0.1.example.org"}) {
    options.host = host;
    EXPECT_THROW(ConnectServer(options, factory), Error) << host;
    options.tokens = "a-token";
    EXPECT_THROW(ConnectServer(options, factory), Error) << host;
    options.tokens.clear();
  }
  for (const char* host : {"127.0.0.1", "localhost", "::1", "[::1]", "127.8.0.1"})
    EXPECT_TRUE(isLoopback(host)) << host;
  options.host = "127.0.0.1";
  options.certificateFile = "/only/one";
  EXPECT_THROW(ConnectServer(options, factory), Error);
}

TEST(Server, APortThatIsTakenIsAnError) {
  TestServer first;
  ConnectServerOptions options;
  options.port = first.server->port();
  ConnectServer second(options, std::make_shared<StubSessionFactory>());
  EXPECT_THROW(second.start(), Error);
}

TEST(Server, ShutDownStopsQueriesAndEndsOpenStreams) {
  TestServer server;
  std::thread runner(
      [&] { EXPECT_EQ(conditionOf(execute(server, sqlRequest("wait")).status), "OPERATION_CANCELED"); });
  while (server.session() == nullptr || server.session()->executions == 0)
    std::this_thread::sleep_for(milliseconds(5));
  server.server->shutDown();
  EXPECT_TRUE(server.factory->isShutDown);
  EXPECT_TRUE(server.session()->closed);
  runner.join();
}

}  // namespace
}  // namespace thalweg::connect
