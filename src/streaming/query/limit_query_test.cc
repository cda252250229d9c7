// A limit over a stream holds for its whole life, over batches and restarts.
#include "plan/analyze/relations.h"
#include "streaming/query/query_test_support.h"

namespace thalweg {
namespace {

using namespace query_test;

class LimitQueryTest : public StatefulQueryTest {
 protected:
  LogicalPtr limited(int64_t limit) { return std::make_shared<LogicalLimit>(limit, 0, false, rawEvents()); }
};

TEST_P(LimitQueryTest, TheFirstRowsOfTheStreamComeOut) {
  EXPECT_EQ(rowsOfSteps(limited(3), OutputMode::Append,
                        {{{0, "a", 1}, {0, "b", 2}}, {{1, "c", 3}, {1, "d", 4}}, {{2, "e", 9}}}),
            (std::vector<Rows>{{"0|a|1", "0|b|2"}, {"1|c|3"}, {}}));
  EXPECT_EQ(lastState()["operatorName"], "globalLimit");
  EXPECT_EQ(lastState()["numRowsTotal"], 1);
  EXPECT_EQ(lastState()["numStateStoreInstances"], 1);
  EXPECT_EQ(lastState()["numShufflePartitions"], GetParam().partitions);
  if (!GetParam().restarts) {
    EXPECT_EQ(sumOf("numRowsUpdated"), 2);
  }
}

// Below an aggregation the rows of the stream's whole life are limited, also in the modes of aggregations.
TEST_P(LimitQueryTest, BelowAnAggregationToo) {
  const LogicalPtr child = limited(3);
  const LogicalPtr plan = makeAggregate({}, {named(call("count", {Literal::of(1)}), "n")}, child);
  EXPECT_EQ(rowsOfSteps(plan, OutputMode::Complete, {{{0, "a"}, {0, "b"}}, {{1, "c"}, {1, "d"}}, {{2, "e"}}}),
            (std::vector<Rows>{{"2"}, {"3"}, {"3"}}));
}

TEST_P(LimitQueryTest, NoRowsAtAll) {
  EXPECT_EQ(rowsOfSteps(limited(0), OutputMode::Append, {{{0, "a"}}, {{1, "c"}}}),
            (std::vector<Rows>{{}, {}}));
  EXPECT_EQ(lastState()["numRowsTotal"], 0);
}

TEST_P(LimitQueryTest, AboveADeduplicationItCountsWhatIsLeft) {
  const LogicalPtr events = rawEvents();
  const auto deduplicated = std::make_shared<LogicalDeduplicate>(std::vector{events->output()[1]}, events);
  EXPECT_EQ(rowsOfSteps(std::make_shared<LogicalLimit>(2, 0, false, deduplicated), OutputMode::Append,
                        {{{0, "a"}, {1, "a"}}, {{2, "a"}, {3, "b"}, {4, "c"}}}),
            (std::vector<Rows>{{"0|a|0"}, {"3|b|0"}}));
  // From the sink towards the source.
  const auto report = nlohmann::json::parse(*last_->lastProgress());
  ASSERT_EQ(report["stateOperators"].size(), 2u);
  EXPECT_EQ(report["stateOperators"][0]["operatorName"], "globalLimit");
  EXPECT_EQ(report["stateOperators"][1]["operatorName"], "dedupe");
  EXPECT_EQ(report["stateOperators"][1]["numRowsTotal"], 3);
}

// Whatever step of a batch fails, the rows that it let through are counted once.
TEST_P(LimitQueryTest, EveryStepOfABatchMayFail) {
  Rows expected;
  int64_t second = 0;
  for (const char* point : {"offsetLog.after", "stateChanges.before", "stateChanges.after",
                            "commitLog.before", "commitLog.after"}) {
    SCOPED_TRACE(point);
    feed_->add({{second, "a"}, {second, "b"}});
    for (const char* key : {"a", "b"}) {
      if (expected.size() < 7) expected.push_back(std::to_string(second) + "|" + key + "|0");
    }
    armFaultPoint(std::string(point) + "=error");
    EXPECT_THROW(runAvailableNow(limited(7), OutputMode::Append), Error);
    armFaultPoint("");
    runAvailableNow(limited(7), OutputMode::Append);
    ++second;
  }
  EXPECT_EQ(store_->take(), expected);
}

INSTANTIATE_TEST_SUITE_P(Setups, LimitQueryTest, allSetups(), setupName);

}  // namespace
}  // namespace thalweg
