#include <gtest/gtest.h>

#include <set>

#include "connect/test_client.h"
#include "spark/connect/base.grpc.pb.h"
#include "spark/connect/base.pb.h"

namespace thalweg::connect {
namespace {

using namespace spark::connect;

TEST(Execute, EveryResponseNamesSessionOperationAndItself) {
  TestServer server;
  const StreamResult result = execute(server, sqlRequest("rows 3 2 0"));
  ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  ASSERT_EQ(result.responses.size(), 4u);
  std::set<std::string> ids;
  for (const ExecutePlanResponse& response : result.responses) {
    EXPECT_EQ(response.session_id(), kSessionId);
    EXPECT_EQ(response.operation_id(), kOperationId);
    EXPECT_EQ(response.server_side_session_id(), result.responses[0].server_side_session_id());
    ids.insert(response.response_id());
  }
  EXPECT_EQ(ids.size(), 4u);
  EXPECT_TRUE(result.responses[0].has_schema());
  EXPECT_TRUE(result.responses[1].has_arrow_batch());
  EXPECT_TRUE(result.responses[3].has_result_complete());
}

TEST(Execute, WithoutReattachTheStreamEndsWithoutResultComplete) {
  TestServer server;
  const StreamResult result = execute(server, sqlRequest("rows 3 1 0", false));
  ASSERT_TRUE(result.status.ok());
  ASSERT_EQ(result.responses.size(), 2u);
  EXPECT_TRUE(result.responses[1].has_arrow_batch());
}

TEST(Execute, AnErrorEndsTheStream) {
  TestServer server;
  const StreamResult result = execute(server, sqlRequest("fail"));
  EXPECT_EQ(conditionOf(result.status), "TABLE_OR_VIEW_NOT_FOUND");
}

}  // namespace
}  // namespace thalweg::connect
