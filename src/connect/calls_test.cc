#include <gtest/gtest.h>

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

}  // namespace
}  // namespace thalweg::connect
