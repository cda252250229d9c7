// One run a checkpoint, one query a name and session, as Spark has it.
#include "session/streaming_queries.h"

#include "streaming/query/query_test_support.h"

namespace thalweg {
namespace {

using namespace query_test;

class StreamingQueriesTest : public StatefulQueryTest {
 protected:
  StreamingQueryDefinition query(const std::string& name = "q",
                                 const std::string& checkpoint = "/checkpoint") {
    const LogicalPtr events = rawEvents();
    auto made = definition(std::make_shared<LogicalDeduplicate>(std::vector{events->output()[1]}, events),
                           OutputMode::Append, {Trigger::Kind::ProcessingTime, 5});
    made.name = name;
    made.checkpoint.path = checkpoint;
    return made;
  }
  static std::string conditionOf(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.condition();
    }
    return "";
  }

  StreamingQueries queries_;
};

TEST_P(StreamingQueriesTest, ANewerRunOnTheCheckpointStopsTheOlderOne) {
  feed_->add({{1, "a"}});
  const auto older = queries_.start("one", query("first"), true);
  older->processAllAvailable(CancellationToken());
  const auto newer = queries_.start("two", query("second"), true);
  EXPECT_FALSE(older->isActive());
  EXPECT_FALSE(older->exception()) << "it was stopped, it did not fail";
  EXPECT_EQ(newer->id(), older->id());
  EXPECT_NE(newer->runId(), older->runId());
  feed_->add({{2, "a"}, {3, "b"}});
  newer->processAllAvailable(CancellationToken());
  EXPECT_TRUE(newer->isActive());
  EXPECT_EQ(store_->take(), (Rows{"1|a|0", "3|b|0"}));
}

TEST_P(StreamingQueriesTest, OrTheNewerRunIsRefused) {
  const auto older = queries_.start("one", query("first"), true);
  EXPECT_EQ(conditionOf([&] { queries_.start("two", query("second"), false); }), "CONCURRENT_QUERY");
  EXPECT_TRUE(older->isActive());
  older->stop();
  EXPECT_TRUE(queries_.start("two", query("second"), false)->isActive());
}

TEST_P(StreamingQueriesTest, ANameIsOnceInASession) {
  const auto first = queries_.start("one", query("q", "/first"), true);
  EXPECT_EQ(conditionOf([&] { queries_.start("one", query("q", "/second"), true); }),
            "CONCURRENT_QUERY.NAME");
  EXPECT_TRUE(queries_.start("two", query("q", "/second"), true)->isActive());
  EXPECT_TRUE(first->isActive());
  first->stop();
  EXPECT_TRUE(queries_.start("one", query("q", "/first"), true)->isActive());
}

INSTANTIATE_TEST_SUITE_P(Setups, StreamingQueriesTest, ::testing::Values(Setup{2, true, false}), setupName);

}  // namespace
}  // namespace thalweg
