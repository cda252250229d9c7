// Windowed counts over a stream, in the three output modes: what comes out when, over restarts, crashes and
// numbers of state partitions. Expected rows follow from Spark's rules for watermarks and late rows.
#include <map>
#include <random>

#include "expr/time_window.h"
#include "plan/analyze/relations.h"
#include "streaming/query/query_test_support.h"

namespace thalweg {
namespace {

using namespace query_test;

class AggregateQueryTest : public StatefulQueryTest {
 protected:
  // Counts of ten seconds by key, under a watermark ten seconds behind.
  LogicalPtr windowedCounts(std::string_view function = "count",
                            TimeWindowSpec windows = {10 * kSecond, 10 * kSecond, 0}) {
    LogicalPtr child = events();
    std::vector<ExpressionPtr> grouping = {std::make_shared<TimeWindow>(child->output()[0], windows),
                                           child->output()[1]};
    child = placeTimeWindows(&grouping, child);
    return makeAggregate(grouping, {grouping[0], grouping[1], named(call(function, {Literal::of(1)}), "n")},
                         child);
  }

  LogicalPtr countOfAll() {
    const LogicalPtr child = events();
    return makeAggregate(
        {}, {named(call("count", {Literal::of(1)}), "n"), named(call("max", {child->output()[1]}), "m")},
        child);
  }
};

// The third step brings a row for [0, 10), which the watermark of 15 had passed before its batch: it is late.
// The row for [10, 20) is not. Groups end in the batch without data that follows the one that moved the
// watermark.
const Steps kSteps = {{{5, "a"}, {5, "a"}, {12, "b"}}, {{25, "a"}}, {{3, "a"}, {14, "b"}}, {{40, "c"}}};

TEST_P(AggregateQueryTest, AppendGivesAGroupOnceWhenTheWatermarkPassesIt) {
  EXPECT_EQ(rowsOfSteps(windowedCounts(), OutputMode::Append, kSteps),
            (std::vector<Rows>{{}, {"0|a|2"}, {}, {"10|b|2", "20|a|1"}}));
  EXPECT_EQ(lastState()["numRowsTotal"], 1);
  EXPECT_EQ(lastState()["operatorName"], "stateStoreSave");
  EXPECT_EQ(lastState()["numShufflePartitions"], GetParam().partitions);
  if (!GetParam().restarts) {
    EXPECT_EQ(sumOf("numRowsDroppedByWatermark"), 1);
    EXPECT_EQ(sumOf("numRowsUpdated"), 5);
    EXPECT_EQ(sumOf("numRowsRemoved"), 3);
  }
}

TEST_P(AggregateQueryTest, UpdateGivesTheGroupsThatChanged) {
  EXPECT_EQ(rowsOfSteps(windowedCounts(), OutputMode::Update, kSteps),
            (std::vector<Rows>{{"0|a|2", "10|b|1"}, {"20|a|1"}, {"10|b|2"}, {"40|c|1"}}));
  EXPECT_EQ(lastState()["numRowsTotal"], 1);
}

TEST_P(AggregateQueryTest, CompleteGivesAllGroupsAndKnowsNoLateRows) {
  EXPECT_EQ(rowsOfSteps(windowedCounts(), OutputMode::Complete, kSteps),
            (std::vector<Rows>{{"0|a|2", "10|b|1"},
                               {"0|a|2", "10|b|1", "20|a|1"},
                               {"0|a|3", "10|b|2", "20|a|1"},
                               {"0|a|3", "10|b|2", "20|a|1", "40|c|1"}}));
  EXPECT_EQ(lastState()["numRowsTotal"], 4);
}

// Windows of ten seconds that start every four, at 1, 5, 9 …: 5 is in those from −3, 1 and 5 on, 7 in those from 1 and 5,
// 12 in those from 5 and 9. Functions that need the rows in their order (first) give the same windows.
TEST_P(AggregateQueryTest, AnEventIsInEachWindowThatHoldsIt) {
  const TimeWindowSpec windows{10 * kSecond, 4 * kSecond, 1 * kSecond};
  const Steps steps = {{{5, "a"}}, {{12, "a"}, {7, "a"}}};
  EXPECT_EQ(rowsOfSteps(windowedCounts("count", windows), OutputMode::Complete, steps),
            (std::vector<Rows>{{"-3|a|1", "1|a|1", "5|a|1"}, {"-3|a|1", "1|a|2", "5|a|3", "9|a|1"}}));
  EXPECT_EQ(lastState()["numRowsTotal"], 4);
}

TEST_P(AggregateQueryTest, FunctionsThatNeedOrderSeeTheSameWindows) {
  const TimeWindowSpec windows{10 * kSecond, 4 * kSecond, 1 * kSecond};
  EXPECT_EQ(rowsOfSteps(windowedCounts("first", windows), OutputMode::Complete, {{{5, "a"}, {12, "a"}}}),
            (std::vector<Rows>{{"-3|a|1", "1|a|1", "5|a|1", "9|a|1"}}));
}

// A window goes when its own end is passed, whichever panes it shares with those that stay.
TEST_P(AggregateQueryTest, OverlappingWindowsEndOneByOne) {
  const TimeWindowSpec windows{10 * kSecond, 5 * kSecond, 0};
  EXPECT_EQ(rowsOfSteps(windowedCounts("count", windows), OutputMode::Append, {{{3, "a"}, {7, "a"}}, {{21, "b"}}, {{27, "b"}}}),
            (std::vector<Rows>{{}, {"-5|a|1", "0|a|2"}, {"5|a|1"}}));
}

TEST_P(AggregateQueryTest, AnAggregateWithoutGroupsHasOneRow) {
  EXPECT_EQ(rowsOfSteps(countOfAll(), OutputMode::Complete, {{{5, "a"}}, {{6, "c"}, {7, "b"}}}),
            (std::vector<Rows>{{"1|a"}, {"3|c"}}));
  EXPECT_EQ(lastState()["numStateStoreInstances"], 1);
}

// As Spark: the batch without data that follows a watermark shows the one group again.
TEST_P(AggregateQueryTest, AnAggregateWithoutGroupsIsShownAgainByABatchWithoutData) {
  EXPECT_EQ(rowsOfSteps(countOfAll(), OutputMode::Update, {{{5, "a"}}, {{30, "c"}}}),
            (std::vector<Rows>{{"1|a"}, {"2|c", "2|c"}}));
}

// Whatever step of a batch fails: the batch runs again over the state that it began with.
TEST_P(AggregateQueryTest, EveryStepOfABatchMayFail) {
  int64_t second = 0;
  int count = 0;
  for (const char* point : {"offsetLog.after", "stateChanges.before", "stateChanges.after",
                            "commitLog.before", "commitLog.after"}) {
    SCOPED_TRACE(point);
    feed_->add({{second, "a"}, {second, "a"}});
    armFaultPoint(std::string(point) + "=error");
    EXPECT_THROW(runAvailableNow(windowedCounts(), OutputMode::Append), Error);
    armFaultPoint("");
    runAvailableNow(windowedCounts(), OutputMode::Append);
    second += 100;
    ++count;
  }
  feed_->add({{second, "z"}});
  runAvailableNow(windowedCounts(), OutputMode::Append);
  Rows expected;
  for (int i = 0; i < count; ++i) expected.push_back(std::to_string(i * 100) + "|a|2");
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(store_->take(), expected);
}

// More versions than a snapshot waits for, and more than are kept.
TEST_P(AggregateQueryTest, ALongRunLeavesSnapshotsAndNoOldFiles) {
  for (int i = 0; i < 40; ++i) {
    feed_->add({{i, "k" + std::to_string(i % 7)}});
    auto query = definition(windowedCounts(), OutputMode::Complete, {Trigger::Kind::AvailableNow, 0});
    query.minBatchesToRetain = 5;
    StreamingQuery::start(std::move(query))->awaitTermination(std::nullopt);
  }
  int64_t total = 0;
  for (const std::string& row : store_->take()) total += std::stoll(row.substr(row.rfind('|') + 1));
  EXPECT_EQ(total, 40);
  const auto files = checkpoint_.fileSystem->list("/checkpoint/state/0/0");
  EXPECT_LT(files.size(), 30u);
}

// Windows of windows: what the lower aggregation lets go with a watermark is late for nobody, as the upper one drops by the
// watermark of the batch before, and it ends in the same batch where its own window is passed too.
TEST_P(AggregateQueryTest, WindowsOfWindowsLoseNoRows) {
  LogicalPtr child = windowedCounts();
  std::vector<ExpressionPtr> grouping = {std::make_shared<TimeWindow>(std::make_shared<WindowTime>(child->output()[0]),
                                                                      TimeWindowSpec{20 * kSecond, 20 * kSecond, 0})};
  const AttributePtr count = child->output()[2];
  child = placeTimeWindows(&grouping, child);
  const LogicalPtr plan = makeAggregate(grouping, {grouping[0], named(call("sum", {count}), "n")}, child);
  EXPECT_EQ(rowsOfSteps(plan, OutputMode::Append, {{{5, "a"}, {12, "b"}, {13, "b"}}, {{45, "c"}}, {{25, "d"}, {31, "e"}}, {{75, "f"}}}),
            (std::vector<Rows>{{}, {"0|3"}, {}, {"20|1", "40|1"}}));
}

// Some thousand keys come and come again, more than there is room for: what comes out is what a map says.
TEST_P(AggregateQueryTest, KeysThatComeAgainGoOnWhereTheyWere) {
  room_ = 60'000;
  std::mt19937 random(17);
  std::map<std::string, int64_t> model;
  std::shared_ptr<StreamingQuery> running;
  if (!GetParam().restarts) running = StreamingQuery::start(definition(windowedCounts(), OutputMode::Complete, {}));
  for (int step = 0; step < 8; ++step) {
    std::vector<Event> events;
    for (int i = 0; i < 150; ++i) {
      const Event event{static_cast<int64_t>(random() % 40), "key" + std::to_string(random() % 400)};
      ++model[std::to_string(*event.second / 10 * 10) + "|" + event.key];
      events.push_back(event);
    }
    feed_->add(events);
    if (running)
      running->processAllAvailable(CancellationToken());
    else
      runAvailableNow(windowedCounts(), OutputMode::Complete);
    Rows expected;
    for (const auto& [key, count] : model) expected.push_back(key + "|" + std::to_string(count));
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(store_->take(), expected) << "after step " << step;
  }
  if (running) running->stop();
}

TEST_P(AggregateQueryTest, AChangedQueryIsRefusedByName) {
  feed_->add({{1, "a"}});
  runAvailableNow(windowedCounts(), OutputMode::Update);
  feed_->add({{2, "a"}});
  try {
    runAvailableNow(countOfAll(), OutputMode::Update);
    FAIL() << "another query took over the state";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause()->condition(), "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE");
  }
  try {
    runAvailableNow(windowedCounts("first"), OutputMode::Update);
    FAIL() << "another function went on with the state";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause()->condition(), "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE");
  }
  try {
    runAvailableNow(events(), OutputMode::Append);
    FAIL() << "a query without state took over";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause()->condition(), "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA");
  }
  checkpoint_.fileSystem->removeTree("/checkpoint/state");
  try {
    runAvailableNow(windowedCounts(), OutputMode::Update);
    FAIL() << "lost state was taken for none";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause()->condition(), "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY");
  }
}

// Spark 4.2 goes on with the other column's sums, with either provider.
TEST_P(AggregateQueryTest, AFunctionDoesNotGoOnWithAnotherColumnsValues) {
  const auto sums = [&](const std::vector<std::string>& read, const std::vector<std::string>& there) {
    const LogicalPtr scan = rawEvents();
    std::vector<ExpressionPtr> columns = {scan->output()[1]};
    for (const std::string& name : there)
      columns.push_back(named(call("+", {scan->output()[2], Literal::of(int64_t{name[0]})}), name));
    const LogicalPtr child = std::make_shared<LogicalProject>(std::move(columns), scan);
    std::vector<ExpressionPtr> results = {child->output()[0]};
    for (const std::string& name : read) {
      const auto at = static_cast<size_t>(std::find(there.begin(), there.end(), name) - there.begin());
      results.push_back(named(call("sum", {child->output()[at + 1]}), "sum_" + name));
    }
    return makeAggregate({child->output()[0]}, std::move(results), child);
  };
  const auto conditionOf = [&](const LogicalPtr& plan) -> std::string {
    feed_->add({{1, "k", 1}});
    try {
      runAvailableNow(plan, OutputMode::Complete);
      return "";
    } catch (const Error& error) {
      return error.cause()->condition();
    }
  };
  const std::string refused = "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE";
  EXPECT_EQ(conditionOf(sums({"a", "b"}, {"a", "b"})), "");
  EXPECT_EQ(conditionOf(sums({"b", "a"}, {"a", "b"})), refused);
  EXPECT_EQ(conditionOf(sums({"a", "c"}, {"a", "b", "c"})), refused);
  EXPECT_EQ(conditionOf(sums({"a", "b"}, {"c", "b", "a"})), "") << "the columns of the input may move";
  // A column that is gone may have got another name.
  EXPECT_EQ(conditionOf(sums({"c", "b"}, {"b", "c"})), "");
  EXPECT_EQ(conditionOf(sums({"b", "c"}, {"b", "c"})), refused);
}

INSTANTIATE_TEST_SUITE_P(Setups, AggregateQueryTest, allSetups(), setupName);

}  // namespace
}  // namespace thalweg
