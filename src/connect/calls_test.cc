#include <google/protobuf/arena.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "connect/test_client.h"
#include "spark/connect/base.grpc.pb.h"
#include "spark/connect/base.pb.h"

namespace thalweg::connect {
namespace {

using namespace spark::connect;

class CallsTest : public testing::Test {
 protected:
  template <typename Request>
  Request request() {
    Request made;
    made.set_session_id(kSessionId);
    return made;
  }

  TestServer server_;
  std::unique_ptr<SparkConnectService::Stub> stub_ = SparkConnectService::NewStub(server_.channel());
  grpc::ClientContext context_;
};

TEST_F(CallsTest, ConfigSetsAndGets) {
  setConfig(server_, "spark.app.name", "a");
  auto get = request<ConfigRequest>();
  get.mutable_operation()->mutable_get()->add_keys("spark.app.name");
  ConfigResponse response;
  ASSERT_TRUE(stub_->Config(&context_, get, &response).ok());
  ASSERT_EQ(response.pairs_size(), 1);
  EXPECT_EQ(response.pairs(0).value(), "a");
  EXPECT_EQ(response.session_id(), kSessionId);
  EXPECT_FALSE(response.server_side_session_id().empty());
}

TEST_F(CallsTest, ConfigOfAnUnknownKeyFailsByName) {
  auto get = request<ConfigRequest>();
  get.mutable_operation()->mutable_get()->add_keys("spark.nothing");
  ConfigResponse response;
  const grpc::Status status = stub_->Config(&context_, get, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(conditionOf(status), "SQL_CONF_NOT_FOUND");
  EXPECT_EQ(metadataOf(status, "sqlState"), "42K0I");
}

TEST_F(CallsTest, AnalyzePlanGivesTheVersion) {
  auto analyze = request<AnalyzePlanRequest>();
  analyze.mutable_spark_version();
  AnalyzePlanResponse response;
  ASSERT_TRUE(stub_->AnalyzePlan(&context_, analyze, &response).ok());
  EXPECT_EQ(response.spark_version().version(), "4.2.0");
  EXPECT_EQ(response.session_id(), kSessionId);
}

TEST_F(CallsTest, CloneSessionIsRefusedByName) {
  auto clone = request<CloneSessionRequest>();
  CloneSessionResponse response;
  EXPECT_EQ(conditionOf(stub_->CloneSession(&context_, clone, &response)), "UNSUPPORTED_FEATURE.THALWEG");
}

TEST_F(CallsTest, InterruptCancelsByIdAndByTag) {
  auto request1 = sqlRequest("wait");
  request1.add_tags("nightly");
  std::thread runner(
      [&] { EXPECT_EQ(conditionOf(execute(server_, request1).status), "OPERATION_CANCELED"); });
  while (server_.session() == nullptr || server_.session()->executions == 0) std::this_thread::yield();
  const auto interrupt = [&](const std::function<void(InterruptRequest&)>& fill) {
    grpc::ClientContext context;
    auto made = request<InterruptRequest>();
    fill(made);
    InterruptResponse response;
    EXPECT_TRUE(stub_->Interrupt(&context, made, &response).ok());
    return std::vector<std::string>(response.interrupted_ids().begin(), response.interrupted_ids().end());
  };
  EXPECT_TRUE(interrupt([](InterruptRequest& made) {
                made.set_interrupt_type(InterruptRequest::INTERRUPT_TYPE_OPERATION_ID);
                made.set_operation_id("another");
              }).empty());
  EXPECT_EQ(interrupt([](InterruptRequest& made) {
              made.set_interrupt_type(InterruptRequest::INTERRUPT_TYPE_TAG);
              made.set_operation_tag("nightly");
            }),
            std::vector<std::string>{kOperationId});
  runner.join();
  // What has ended is not interrupted again.
  EXPECT_TRUE(interrupt([](InterruptRequest& made) {
                made.set_interrupt_type(InterruptRequest::INTERRUPT_TYPE_ALL);
              }).empty());
}

TEST_F(CallsTest, ErrorDetailsAreFetchedOnce) {
  const grpc::Status status = execute(server_, sqlRequest("fail deeply")).status;
  auto fetch = request<FetchErrorDetailsRequest>();
  fetch.set_error_id(metadataOf(status, "errorId").value());
  FetchErrorDetailsResponse response;
  ASSERT_TRUE(stub_->FetchErrorDetails(&context_, fetch, &response).ok());
  ASSERT_EQ(response.errors_size(), 2);
  EXPECT_EQ(response.errors(0).spark_throwable().error_class(), "DIVIDE_BY_ZERO");
  EXPECT_EQ(response.session_id(), kSessionId);
  grpc::ClientContext again;
  FetchErrorDetailsResponse empty;
  ASSERT_TRUE(stub_->FetchErrorDetails(&again, fetch, &empty).ok());
  EXPECT_EQ(empty.errors_size(), 0);
}

TEST_F(CallsTest, APlanNestedTenThousandDeepIsRefusedAndTheServerLives) {
  // On the arena of the client too: its destructor would recurse.
  google::protobuf::Arena arena;
  auto* made = google::protobuf::Arena::CreateMessage<ExecutePlanRequest>(&arena);
  *made = sqlRequest("rows 1 1 0");
  Relation* relation = made->mutable_plan()->mutable_root();
  for (int i = 0; i < 10'000; ++i) relation = relation->mutable_filter()->mutable_input();
  const grpc::Status status = execute(server_, *made).status;
  EXPECT_EQ(conditionOf(status), "CONNECT_INVALID_PLAN.CANNOT_PARSE");
  EXPECT_TRUE(execute(server_, sqlRequest("rows 1 1 0")).status.ok());
}

class ArtifactsTest : public CallsTest {
 protected:
  static uint32_t crc(const std::string& data) {
    return static_cast<uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())));
  }
  AddArtifactsRequest single(const std::string& name, const std::string& data) {
    auto made = request<AddArtifactsRequest>();
    auto* artifact = made.mutable_batch()->add_artifacts();
    artifact->set_name(name);
    artifact->mutable_data()->set_data(data);
    artifact->mutable_data()->set_crc(crc(data));
    return made;
  }
  grpc::Status upload(const std::vector<AddArtifactsRequest>& requests) {
    grpc::ClientContext context;
    response_.Clear();
    const auto writer = stub_->AddArtifacts(&context, &response_);
    for (const auto& made : requests) writer->Write(made);
    writer->WritesDone();
    return writer->Finish();
  }
  bool exists(const std::string& name) {
    grpc::ClientContext context;
    auto made = request<ArtifactStatusesRequest>();
    made.add_names(name);
    ArtifactStatusesResponse statuses;
    EXPECT_TRUE(stub_->ArtifactStatus(&context, made, &statuses).ok());
    return statuses.statuses().at(name).exists();
  }

  // SHA-256 of "abc", from FIPS 180-2.
  const std::string name_ = "cache/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  AddArtifactsResponse response_;
};

TEST_F(ArtifactsTest, CachedOnesAreStored) {
  EXPECT_FALSE(exists(name_));
  ASSERT_TRUE(upload({single(name_, "abc")}).ok());
  EXPECT_TRUE(response_.artifacts(0).is_crc_successful());
  EXPECT_TRUE(exists(name_));
}

TEST_F(ArtifactsTest, ChunksArePutTogether) {
  auto begin = request<AddArtifactsRequest>();
  begin.mutable_begin_chunk()->set_name(name_);
  begin.mutable_begin_chunk()->set_total_bytes(3);
  begin.mutable_begin_chunk()->set_num_chunks(2);
  begin.mutable_begin_chunk()->mutable_initial_chunk()->set_data("ab");
  begin.mutable_begin_chunk()->mutable_initial_chunk()->set_crc(crc("ab"));
  auto chunk = request<AddArtifactsRequest>();
  chunk.mutable_chunk()->set_data("c");
  chunk.mutable_chunk()->set_crc(crc("c"));
  ASSERT_TRUE(upload({begin, chunk}).ok());
  EXPECT_TRUE(exists(name_));
  EXPECT_EQ(conditionOf(upload({begin})), "CONNECT_INVALID_PLAN.INVALID_ARTIFACT");
  EXPECT_EQ(conditionOf(upload({chunk})), "CONNECT_INVALID_PLAN.INVALID_ARTIFACT");
  EXPECT_EQ(conditionOf(upload({begin, chunk, chunk})), "CONNECT_INVALID_PLAN.INVALID_ARTIFACT");
}

TEST_F(ArtifactsTest, AWrongChecksumIsToldAndNotStored) {
  auto made = single(name_, "abc");
  made.mutable_batch()->mutable_artifacts(0)->mutable_data()->set_crc(1);
  ASSERT_TRUE(upload({made}).ok());
  EXPECT_FALSE(response_.artifacts(0).is_crc_successful());
  EXPECT_FALSE(exists(name_));
}

TEST_F(ArtifactsTest, OtherFilesAndOtherNamesAreRefused) {
  EXPECT_EQ(conditionOf(upload({single("pyfiles/a.py", "abc")})), "UNSUPPORTED_FEATURE.THALWEG");
  EXPECT_EQ(conditionOf(upload({single(name_, "abd")})), "CONNECT_INVALID_PLAN.INVALID_ARTIFACT");
  EXPECT_EQ(conditionOf(upload({single("cache/../../etc/passwd", "abc")})),
            "CONNECT_INVALID_PLAN.INVALID_ARTIFACT");
  EXPECT_EQ(conditionOf(upload({single("/etc/passwd", "abc")})), "CONNECT_INVALID_PLAN.INVALID_ARTIFACT");
}

}  // namespace
}  // namespace thalweg::connect
