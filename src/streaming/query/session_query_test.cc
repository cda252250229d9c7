// Sessions over a stream: which rows are one session, when it comes out, and what is kept. Expected rows and
// counts are those of Spark 4.2 for the same events (minutes there are two seconds here), and of a model that
// sorts and merges.
#include <random>

#include "common/error.h"
#include "expr/time_window.h"
#include "plan/analyze/relations.h"
#include "streaming/query/query_test_support.h"

namespace thalweg {
namespace {

using namespace query_test;

class SessionQueryTest : public StatefulQueryTest {
 protected:
  // start|end|key|results of functions over the values.
  static LogicalPtr sessions(LogicalPtr child, ExpressionPtr gap,
                             const std::vector<std::string>& functions = {"sum"}) {
    const AttributePtr time = child->output()[0], key = child->output()[1], value = child->output()[2];
    std::vector<ExpressionPtr> grouping = {std::make_shared<TimeWindow>(time, std::move(gap)), key};
    child = placeTimeWindows(&grouping, child);
    std::vector<ExpressionPtr> results = {named(std::make_shared<FieldAccess>(grouping[0], 0), "start"),
                                          named(std::make_shared<FieldAccess>(grouping[0], 1), "end"), key};
    for (const std::string& function : functions) results.push_back(named(call(function, {value}), function));
    return makeAggregate(grouping, std::move(results), child);
  }
  static ExpressionPtr gap(const std::string& text) { return Literal::of(text); }
};

// The fourth step's a is late: its session ends at 1020, which the watermark of 1030 has passed, though the
// session that it would have joined is out since long. b at 1036 is before the watermark's rows but its
// session is not over.
TEST_P(SessionQueryTest, AppendGivesASessionOnceWhenTheWatermarkPassesItsEnd) {
  EXPECT_EQ(rowsOfSteps(sessions(events(), gap("10 seconds")), OutputMode::Append,
                        {{{1000, "a", 1}, {1006, "a", 2}, {1002, "b", 3}},
                         {{1014, "a", 4}},
                         {{1040, "b", 5}},
                         {{1010, "a", 100}, {1036, "b", 6}},
                         {{1080, "z", 0}}}),
            (std::vector<Rows>{{}, {}, {"1000|1024|a|7", "1002|1012|b|3"}, {}, {"1036|1050|b|11"}}));
  EXPECT_EQ(lastState()["operatorName"], "sessionWindowStateStoreSaveExec");
  EXPECT_EQ(lastState()["numRowsTotal"], 1);
  if (!GetParam().restarts) {
    EXPECT_EQ(sumOf("numRowsDroppedByWatermark"), 1);
  }
}

// A session that grows for long takes no more memory than one that is new.
TEST_P(SessionQueryTest, AGrowingSessionTakesNoMoreMemory) {
  if (GetParam().restarts) GTEST_SKIP() << "what a run keeps in memory is looked at";
  for (const OutputMode mode : {OutputMode::Append, OutputMode::Complete}) {
    Steps steps;
    for (int64_t i = 0; i < 20; ++i) steps.push_back({{1000 + 5 * i, "a", 1}});
    rowsOfSteps(sessions(events(), gap("10 seconds")), mode, {steps.begin(), steps.begin() + 10});
    const int64_t before = lastState()["memoryUsedBytes"];
    rowsOfSteps(sessions(events(), gap("10 seconds")), mode, {steps.begin() + 10, steps.end()});
    // A note of an end a batch would be ten times 90 bytes.
    EXPECT_LE(lastState()["memoryUsedBytes"], before + 400);
    checkpoint_.fileSystem->removeTree("/checkpoint");
    feed_->steps.clear();
    store_->batches.clear();
    store_->taken = -1;
  }
}

// What Spark reports of the state for the same events (seconds for its minutes): all sessions of a key with
// new ones are updated, and those that went into others are removed.
TEST_P(SessionQueryTest, ReportsCountSessionsAsSparkDoes) {
  rowsOfSteps(sessions(events(), gap("5 seconds")), OutputMode::Append,
              {{{1020, "a", 1}, {1023, "a", 2}, {1021, "b", 3}},
               {{1027, "a", 4}},
               {{1018, "a", 8}, {1035, "a", 16}},
               {{1031, "a", 32}, {1022, "z", 1}},
               {{1045, "b", 5}},
               {{1010, "a", 100}, {1038, "a", 6}, {1036, "a", 7}, {1036, "a", 8}},
               {{1090, "z", 0}}});
  EXPECT_EQ(lastState()["numRowsTotal"], 1);
  if (GetParam().restarts) return;
  EXPECT_EQ(sumOf("numRowsUpdated"), 2 + 1 + 2 + 2 + 2 + 1 + 1);
  EXPECT_EQ(sumOf("numRowsRemoved"), 0 + 0 + 1 + 1 + 2 + 0 + 2);
  EXPECT_EQ(sumOf("numRowsDroppedByWatermark"), 1);
}

TEST_P(SessionQueryTest, CompleteGivesAllSessionsAndARowMayJoinTwo) {
  EXPECT_EQ(
      rowsOfSteps(sessions(rawEvents(), gap("10 seconds")), OutputMode::Complete,
                  {{{1000, "a", 1}}, {{1005, "a", 2}, {1030, "a", 3}}, {{1015, "a", 4}}, {{1022, "a", 5}}}),
      (std::vector<Rows>{{"1000|1010|a|1"},
                         {"1000|1015|a|3", "1030|1040|a|3"},
                         {"1000|1025|a|7", "1030|1040|a|3"},
                         {"1000|1040|a|15"}}));
  EXPECT_EQ(lastState()["numRowsTotal"], 1);
}

// A session that begins earlier than the one in the state takes it over, with the values in order of time.
TEST_P(SessionQueryTest, ASessionMayGrowAtItsBeginning) {
  EXPECT_EQ(
      rowsOfSteps(sessions(rawEvents(), gap("5 seconds"), {"first", "last", "count"}), OutputMode::Complete,
                  {{{1003, "a", 3}, {1001, "a", 1}, {1002, "a", 2}},
                   {{1000, "a", 0}, {1004, "a", 4}},
                   {{996, "a", 9}}}),
      (std::vector<Rows>{{"1001|1008|a|1|3|3"}, {"1000|1009|a|0|4|5"}, {"996|1009|a|9|4|6"}}));
  EXPECT_EQ(lastState()["numRowsTotal"], 1);
}

// The gap may be each row's own; here it is the key. Rows without a positive one, or without a time, are in
// no session.
TEST_P(SessionQueryTest, GapsMayBeComputed) {
  const LogicalPtr child = rawEvents();
  const std::string two = "2 seconds", ten = "10 seconds";
  EXPECT_EQ(
      rowsOfSteps(sessions(child, child->output()[1]), OutputMode::Complete,
                  {{{1000, two, 1},
                    {1000, ten, 1},
                    {1000, "0 seconds", 1},
                    {1000, "-1 seconds", 1},
                    {1000, "soon", 1}},
                   {{1003, two, 2}, {1008, ten, 2}, {std::nullopt, ten, 5}}}),
      (std::vector<Rows>{{"1000|1002|2 seconds|1", "1000|1010|10 seconds|1"},
                         {"1000|1002|2 seconds|1", "1000|1018|10 seconds|3", "1003|1005|2 seconds|2"}}));
}

// Touching is enough: the end of one is the start of the next.
TEST_P(SessionQueryTest, SessionsThatTouchAreOne) {
  EXPECT_EQ(rowsOfSteps(sessions(rawEvents(), gap("5 seconds")), OutputMode::Complete,
                        {{{1000, "a", 1}, {1005, "a", 1}, {1011, "a", 1}}, {{1016, "a", 1}}}),
            (std::vector<Rows>{{"1000|1010|a|2", "1011|1016|a|1"}, {"1000|1010|a|2", "1011|1021|a|2"}}));
}

TEST_P(SessionQueryTest, ASessionNeedsAnotherKey) {
  LogicalPtr child = events();
  std::vector<ExpressionPtr> grouping = {std::make_shared<TimeWindow>(child->output()[0], gap("5 seconds"))};
  child = placeTimeWindows(&grouping, child);
  feed_->add({{1000, "a"}});
  try {
    runAvailableNow(
        makeAggregate(grouping, {grouping[0], named(call("count", {Literal::of(1)}), "n")}, child),
        OutputMode::Append);
    FAIL() << "sessions without a key ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause()->condition(), "_LEGACY_ERROR_TEMP_3068");
  }
}

TEST_P(SessionQueryTest, EveryStepOfABatchMayFail) {
  int64_t second = 1000;
  int count = 0;
  for (const char* point : {"offsetLog.after", "stateChanges.before", "stateChanges.after",
                            "commitLog.before", "commitLog.after"}) {
    SCOPED_TRACE(point);
    feed_->add({{second, "a", 1}, {second + 3, "a", 2}});
    armFaultPoint(std::string(point) + "=error");
    EXPECT_THROW(runAvailableNow(sessions(events(), gap("5 seconds")), OutputMode::Append), Error);
    armFaultPoint("");
    runAvailableNow(sessions(events(), gap("5 seconds")), OutputMode::Append);
    second += 100;
    ++count;
  }
  feed_->add({{second, "z", 0}});
  runAvailableNow(sessions(events(), gap("5 seconds")), OutputMode::Append);
  Rows expected;
  for (int i = 0; i < count; ++i)
    expected.push_back(std::to_string(1000 + 100 * i) + "|" + std::to_string(1008 + 100 * i) + "|a|3");
  EXPECT_EQ(store_->take(), expected);
}

// Sorts all events of a key and merges those that are close.
Rows modelSessions(const std::vector<Event>& events, int64_t gapSeconds) {
  std::map<std::string, std::vector<Event>> ofKey;
  for (const Event& event : events) ofKey[event.key].push_back(event);
  Rows rows;
  for (auto& [key, list] : ofKey) {
    std::sort(list.begin(), list.end(), [](const Event& a, const Event& b) { return *a.second < *b.second; });
    for (size_t i = 0; i < list.size();) {
      const int64_t start = *list[i].second;
      int64_t end = start + gapSeconds, sum = 0;
      for (; i < list.size() && *list[i].second <= end; ++i) {
        end = *list[i].second + gapSeconds;
        sum += list[i].value;
      }
      rows.push_back(std::to_string(start) + "|" + std::to_string(end) + "|" + key + "|" +
                     std::to_string(sum));
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST_P(SessionQueryTest, AreThoseOfAModelInWhateverOrderEventsCome) {
  std::mt19937 random(7);
  std::vector<Event> seen;
  Steps steps;
  std::vector<Rows> expected;
  for (int step = 0; step < 15; ++step) {
    std::vector<Event> events;
    for (int i = 0; i < 12; ++i) {
      events.push_back({1000 + static_cast<int64_t>(random() % 400), "k" + std::to_string(random() % 4),
                        static_cast<int64_t>(random() % 100)});
    }
    seen.insert(seen.end(), events.begin(), events.end());
    steps.push_back(events);
    expected.push_back(modelSessions(seen, 6));
  }
  EXPECT_EQ(rowsOfSteps(sessions(rawEvents(), gap("6 seconds")), OutputMode::Complete, steps), expected);
  EXPECT_EQ(lastState()["numRowsTotal"], expected.back().size());
}

INSTANTIATE_TEST_SUITE_P(Setups, SessionQueryTest, allSetups(), setupName);

}  // namespace
}  // namespace thalweg
