// Reattachable operations, as the stock client relies on them.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "connect/test_client.h"
#include "spark/connect/base.grpc.pb.h"
#include "spark/connect/base.pb.h"

namespace thalweg::connect {
namespace {

using namespace spark::connect;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr char kOtherOperation[] = "aaaaaaaa-bbbb-4ccc-8ddd-000000000000";

bool eventually(const std::function<bool()>& condition, milliseconds within = std::chrono::seconds(10)) {
  const auto deadline = steady_clock::now() + within;
  while (!condition()) {
    if (steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

GetStatusResponse::OperationStatus::OperationState stateOf(TestServer& server,
                                                           const std::string& operationId) {
  const auto stub = SparkConnectService::NewStub(server.channel());
  grpc::ClientContext context;
  GetStatusRequest request;
  request.set_session_id(kSessionId);
  request.mutable_operation_status()->add_operation_ids(operationId);
  GetStatusResponse response;
  EXPECT_TRUE(stub->GetStatus(&context, request, &response).ok());
  return response.operation_statuses(0).state();
}

// A stream that a test reads step by step, or leaves.
class OpenStream {
 public:
  OpenStream(TestServer& server, const ExecutePlanRequest& request)
      : stub_(SparkConnectService::NewStub(server.channel())),
        reader_(stub_->ExecutePlan(&context_, request)) {}
  ExecutePlanResponse read() {
    ExecutePlanResponse response;
    EXPECT_TRUE(reader_->Read(&response));
    return response;
  }
  grpc::Status finish() {
    ExecutePlanResponse response;
    while (reader_->Read(&response)) last_ = response;
    return reader_->Finish();
  }
  void leave() {
    context_.TryCancel();
    finish();
  }
  const ExecutePlanResponse& last() const { return last_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<SparkConnectService::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<ExecutePlanResponse>> reader_;
  ExecutePlanResponse last_;
};

TEST(Reattach, ReplaysAfterTheLastResponseThatTheClientHas) {
  TestServer server;
  const StreamResult first = execute(server, sqlRequest("rows 2 3 0"));
  ASSERT_EQ(first.responses.size(), 5u);
  const StreamResult second = reattach(server, first.responses[1].response_id());
  ASSERT_TRUE(second.status.ok());
  ASSERT_EQ(second.responses.size(), 3u);
  EXPECT_EQ(second.responses[0].SerializeAsString(), first.responses[2].SerializeAsString());
  EXPECT_TRUE(second.responses[2].has_result_complete());
  EXPECT_EQ(reattach(server, "").responses.size(), 5u);
}

TEST(Reattach, AnErrorIsGivenAgain) {
  TestServer server;
  EXPECT_EQ(conditionOf(execute(server, sqlRequest("fail")).status), "TABLE_OR_VIEW_NOT_FOUND");
  EXPECT_EQ(conditionOf(reattach(server, "").status), "TABLE_OR_VIEW_NOT_FOUND");
}

TEST(Reattach, UnknownOperationsAndPositionsFailByName) {
  TestServer server;
  EXPECT_EQ(conditionOf(reattach(server, "").status), "INVALID_HANDLE.SESSION_NOT_FOUND");
  const StreamResult result = execute(server, sqlRequest("rows 2 3 0"));
  EXPECT_EQ(conditionOf(reattach(server, "", kOtherOperation).status), "INVALID_HANDLE.OPERATION_NOT_FOUND");
  EXPECT_EQ(conditionOf(reattach(server, "elsewhere").status), "INVALID_CURSOR.POSITION_NOT_FOUND");
  EXPECT_EQ(conditionOf(reattach(server, result.responses[0].response_id() + "9").status),
            "INVALID_CURSOR.POSITION_NOT_FOUND");
  release(server, result.responses[2].response_id());
  EXPECT_EQ(conditionOf(reattach(server, result.responses[1].response_id()).status),
            "INVALID_CURSOR.POSITION_NOT_AVAILABLE");
  EXPECT_EQ(reattach(server, result.responses[2].response_id()).responses.size(), 2u);
}

TEST(Reattach, AnOperationStartedWithoutItCannotBeReattached) {
  TestServer server;
  OpenStream stream(server, sqlRequest("wait", false));
  ASSERT_TRUE(eventually([&] { return server.session() != nullptr && server.session()->executions == 1; }));
  EXPECT_EQ(conditionOf(reattach(server, "").status), "INVALID_CURSOR.NOT_REATTACHABLE");
  stream.leave();
  // Nobody can come back for it: it is cancelled and forgotten.
  EXPECT_TRUE(eventually([&] {
    return stateOf(server, kOperationId) == GetStatusResponse::OperationStatus::OPERATION_STATE_UNKNOWN;
  }));
}

TEST(Reattach, ReleaseAllForgetsTheOperation) {
  TestServer server;
  execute(server, sqlRequest("rows 2 3 0"));
  EXPECT_EQ(stateOf(server, kOperationId), GetStatusResponse::OperationStatus::OPERATION_STATE_SUCCEEDED);
  release(server, "");
  EXPECT_EQ(stateOf(server, kOperationId), GetStatusResponse::OperationStatus::OPERATION_STATE_UNKNOWN);
  EXPECT_EQ(conditionOf(reattach(server, "").status), "INVALID_HANDLE.OPERATION_NOT_FOUND");
}

TEST(Reattach, TheSameRequestAgainGetsTheRunningOperationAndAnotherOneFails) {
  TestServer server;
  execute(server, sqlRequest("rows 2 3 0"));
  EXPECT_EQ(execute(server, sqlRequest("rows 2 3 0")).responses.size(), 5u);
  EXPECT_EQ(server.session()->executions, 1);
  EXPECT_EQ(conditionOf(execute(server, sqlRequest("rows 2 4 0")).status),
            "INVALID_HANDLE.OPERATION_ALREADY_EXISTS");
}

TEST(Reattach, TheLaterReaderWins) {
  TestServer server;
  OpenStream stream(server, sqlRequest("rows 1 2 60000"));
  stream.read();
  std::thread later([&] { EXPECT_EQ(conditionOf(reattach(server, "").status), "OPERATION_CANCELED"); });
  EXPECT_EQ(conditionOf(stream.finish()), "INVALID_CURSOR.DISCONNECTED");
  server.server->shutDown();
  later.join();
}

TEST(Reattach, AClientThatLeftComesBack) {
  TestServer server;
  OpenStream stream(server, sqlRequest("wait"));
  ASSERT_TRUE(eventually([&] { return server.session() != nullptr && server.session()->executions == 1; }));
  stream.leave();
  EXPECT_EQ(stateOf(server, kOperationId), GetStatusResponse::OperationStatus::OPERATION_STATE_RUNNING);
  std::thread finisher([&] {
    std::this_thread::sleep_for(milliseconds(50));
    server.session()->finishWaiting();
  });
  const StreamResult result = reattach(server, "");
  finisher.join();
  ASSERT_TRUE(result.status.ok());
  EXPECT_TRUE(result.responses.back().has_result_complete());
}

TEST(Reattach, AnOperationThatNobodyReadsIsDropped) {
  ConnectServerOptions options;
  options.limits.operationDetached = milliseconds(200);
  TestServer server(options);
  OpenStream stream(server, sqlRequest("block"));
  ASSERT_TRUE(eventually([&] { return server.session() != nullptr && server.session()->executions == 1; }));
  stream.leave();
  EXPECT_TRUE(eventually(
      [&] { return conditionOf(reattach(server, "x").status) == "INVALID_HANDLE.OPERATION_ABANDONED"; }));
  EXPECT_EQ(conditionOf(execute(server, sqlRequest("block")).status), "INVALID_HANDLE.OPERATION_ABANDONED");
}

TEST(Reattach, StreamsRotateByTimeWithoutEndingTheOperation) {
  TestServer server;
  setConfig(server, "spark.connect.execute.reattachable.senderMaxStreamDuration", "100ms");
  const StreamResult result = execute(server, sqlRequest("wait"));
  EXPECT_TRUE(result.status.ok());
  EXPECT_TRUE(result.responses.empty());
  EXPECT_EQ(stateOf(server, kOperationId), GetStatusResponse::OperationStatus::OPERATION_STATE_RUNNING);
}

TEST(Reattach, StreamsRotateByBytesWithoutLosingAny) {
  TestServer server;
  setConfig(server, "spark.connect.execute.reattachable.senderMaxStreamSize", "1");
  StreamResult result = execute(server, sqlRequest("rows 1 10 0"));
  size_t responses = 0;
  while (result.status.ok() && !result.responses.empty() && !result.responses.back().has_result_complete()) {
    EXPECT_EQ(result.responses.size(), 1u);
    ++responses;
    result = reattach(server, result.responses.back().response_id());
  }
  EXPECT_EQ(responses, 11u);
}

TEST(Reattach, ProgressSaysThatALongOperationLives) {
  TestServer server;
  setConfig(server, "spark.connect.progress.reportInterval", "50ms");
  OpenStream stream(server, sqlRequest("wait"));
  EXPECT_TRUE(stream.read().has_execution_progress());
  const ExecutePlanResponse second = stream.read();
  EXPECT_TRUE(second.has_execution_progress());
  EXPECT_FALSE(second.response_id().empty());
  server.session()->finishWaiting();
  EXPECT_TRUE(stream.finish().ok());
  EXPECT_TRUE(stream.last().has_result_complete());
}

TEST(Reattach, AProducerWaitsForASlowClientAndMemoryStaysBounded) {
  ConnectServerOptions options;
  options.limits.retryBufferBytes = 1 << 20;
  TestServer server(options);
  OpenStream stream(server, sqlRequest("bytes 1000000 100"));
  stream.read();
  std::this_thread::sleep_for(milliseconds(300));
  // Two unread in the buffer, and what gRPC and the sockets hold (a few megabytes).
  EXPECT_LT(server.session()->sent, 20);
  EXPECT_TRUE(stream.finish().ok());
  EXPECT_TRUE(stream.last().has_result_complete());
  // Only the latest megabyte of what was read is kept.
  EXPECT_EQ(conditionOf(reattach(server, "").status), "INVALID_CURSOR.POSITION_NOT_AVAILABLE");
}

}  // namespace
}  // namespace thalweg::connect
