// Deduplication of a stream: which rows come out, which keys are kept, and for how long. Expected rows and
// counts are those of Spark 4.2 for the same events.
#include "common/error.h"
#include "state/state_schema.h"
#include "streaming/query/query_test_support.h"

namespace thalweg {
namespace {

using namespace query_test;

class DeduplicateQueryTest : public StatefulQueryTest {
 protected:
  // By columns of the events: 0 is the time, 1 the key, 2 the value.
  static LogicalPtr deduplicated(const LogicalPtr& child, const std::vector<size_t>& keys,
                                 bool withinWatermark = false) {
    std::vector<AttributePtr> columns;
    for (const size_t key : keys) columns.push_back(child->output()[key]);
    return std::make_shared<LogicalDeduplicate>(std::move(columns), child, withinWatermark);
  }
  static LogicalPtr selected(const LogicalPtr& child, const std::vector<size_t>& columns) {
    std::vector<ExpressionPtr> list;
    for (const size_t column : columns) list.push_back(child->output()[column]);
    return std::make_shared<LogicalProject>(std::move(list), child);
  }
  std::string keyColumns() const {
    const auto schema = readStateSchema(*checkpoint_.fileSystem, {"/checkpoint/state", 0});
    return schema ? schema->key->simpleString() : "none";
  }
};

TEST_P(DeduplicateQueryTest, TheFirstRowOfAKeyComesOutOnceInTheStreamsLife) {
  EXPECT_EQ(rowsOfSteps(deduplicated(rawEvents(), {1}), OutputMode::Append,
                        {{{0, "a", 1}, {1, "a", 2}, {std::nullopt, "c", 3}},
                         {{-3600, "a", 5}, {2, "b", 2}},
                         {{3, "b", 1}, {4, "c", 2}}}),
            (std::vector<Rows>{{"0|a|1", "NULL|c|3"}, {"2|b|2"}, {}}));
  EXPECT_EQ(lastState()["operatorName"], "dedupe");
  EXPECT_EQ(lastState()["numRowsTotal"], 3);
  EXPECT_EQ(lastState()["numShufflePartitions"], GetParam().partitions);
  if (!GetParam().restarts) {
    EXPECT_EQ(sumOf("numRowsUpdated"), 3);
    EXPECT_EQ(sumOf("numRowsRemoved"), 0);
    EXPECT_EQ(sumOf("numRowsDroppedByWatermark"), 0);
    EXPECT_EQ(sumOf("customMetrics/numDroppedDuplicateRows"), 4);
  }
}

TEST_P(DeduplicateQueryTest, UpdateModeBringsTheSameRows) {
  EXPECT_EQ(rowsOfSteps(selected(deduplicated(rawEvents(), {1}), {1}), OutputMode::Update,
                        {{{0, "a"}}, {{1, "a"}, {2, "b"}}}),
            (std::vector<Rows>{{"a"}, {"b"}}));
}

TEST_P(DeduplicateQueryTest, AllColumnsMayBeTheKey) {
  EXPECT_EQ(rowsOfSteps(deduplicated(rawEvents(), {0, 1, 2}), OutputMode::Append,
                        {{{0, "a", 1}, {0, "a", 1}, {0, "a", 2}}, {{0, "a", 2}, {1, "a", 1}}}),
            (std::vector<Rows>{{"0|a|1", "0|a|2"}, {"1|a|1"}}));
}

// The watermark is at 120 seconds when the fourth step comes, and was when the third one ended: a row at 100
// is late, one at 125 is not. Keys at or before the watermark leave the state; so does the one without a
// time, never.
TEST_P(DeduplicateQueryTest, AnEventTimeAmongTheKeysBoundsTheState) {
  EXPECT_EQ(rowsOfSteps(deduplicated(events(), {1, 0}), OutputMode::Append,
                        {{{100, "a", 1}, {std::nullopt, "n", 0}},
                         {{100, "a", 1}, {101, "a", 2}, {std::nullopt, "n", 1}},
                         {{130, "b", 1}},
                         {{100, "a", 1}, {125, "c", 1}},
                         {{145, "d", 1}}}),
            (std::vector<Rows>{{"100|a|1", "NULL|n|0"}, {"101|a|2"}, {"130|b|1"}, {"125|c|1"}, {"145|d|1"}}));
  EXPECT_EQ(lastState()["numRowsTotal"], 2);
  if (!GetParam().restarts) {
    EXPECT_EQ(sumOf("numRowsUpdated"), 6);
    EXPECT_EQ(sumOf("numRowsRemoved"), 4);
    EXPECT_EQ(sumOf("numRowsDroppedByWatermark"), 1);
    EXPECT_EQ(sumOf("customMetrics/numDroppedDuplicateRows"), 2) << "the late row is none";
  }
}

// The same with an event time that is no key: late rows are dropped where the column is there, and keys stay.
TEST_P(DeduplicateQueryTest, AnEventTimeBesideTheKeysDropsLateRows) {
  EXPECT_EQ(rowsOfSteps(deduplicated(events(), {1}), OutputMode::Append,
                        {{{100, "a"}, {130, "b"}}, {{101, "c"}, {131, "a"}}, {{102, "d"}, {140, "a"}}}),
            (std::vector<Rows>{{"100|a|0", "130|b|0"}, {}, {}}));
  EXPECT_EQ(lastState()["numRowsTotal"], 2);
}

// Spark prunes the event time away where nothing above uses it, and then knows no late rows.
TEST_P(DeduplicateQueryTest, AnEventTimeThatNobodyUsesMakesNoRowLate) {
  EXPECT_EQ(rowsOfSteps(selected(deduplicated(events(), {1}), {1}), OutputMode::Append,
                        {{{100, "a"}, {130, "b"}}, {{101, "c"}, {131, "a"}}, {{102, "d"}, {140, "a"}}}),
            (std::vector<Rows>{{"a", "b"}, {"c"}, {"d"}}));
  EXPECT_EQ(lastState()["numRowsTotal"], 4);
}

TEST_P(DeduplicateQueryTest, WithinTheWatermarkAKeyReturnsAfterTheDelay) {
  EXPECT_EQ(rowsOfSteps(deduplicated(events(), {1}, true), OutputMode::Append,
                        {{{100, "a", 1}, {100, "b", 1}},
                         {{109, "a", 2}},
                         {{111, "a", 3}},
                         {{115, "b", 2}},
                         {{140, "a", 4}, {141, "c", 1}},
                         {{120, "a", 5}},
                         {{142, "a", 6}}}),
            (std::vector<Rows>{{"100|a|1", "100|b|1"}, {}, {}, {}, {"141|c|1"}, {}, {"142|a|6"}}));
  EXPECT_EQ(lastState()["operatorName"], "dedupeWithinWatermark");
  EXPECT_EQ(lastState()["numRowsTotal"], 2);
  if (!GetParam().restarts) {
    EXPECT_EQ(sumOf("numRowsDroppedByWatermark"), 1);
  }
}

// A row without an event time counts as of 1970: its key is kept until the batch ends.
TEST_P(DeduplicateQueryTest, WithinTheWatermarkARowWithoutATimeIsOld) {
  EXPECT_EQ(rowsOfSteps(deduplicated(events(), {1}, true), OutputMode::Append,
                        {{{std::nullopt, "n", 1}, {100, "a", 1}},
                         {{std::nullopt, "n", 1}, {130, "b", 2}},
                         {{std::nullopt, "n", 3}, {131, "c", 1}}}),
            (std::vector<Rows>{{"100|a|1", "NULL|n|1"}, {"130|b|2", "NULL|n|1"}, {"131|c|1", "NULL|n|3"}}));
  EXPECT_EQ(lastState()["numRowsTotal"], 2);
}

TEST_P(DeduplicateQueryTest, OneDeduplicationAfterAnother) {
  EXPECT_EQ(rowsOfSteps(deduplicated(deduplicated(events(), {0, 1}), {0, 2}), OutputMode::Append,
                        {{{105, "a", 1}, {105, "b", 1}, {105, "c", 2}}, {{106, "a", 1}, {105, "d", 2}}}),
            (std::vector<Rows>{{"105|a|1", "105|c|2"}, {"106|a|1"}}));
}

// SELECT DISTINCT and EXCEPT are aggregations without functions: their values in the state have no fields.
TEST_P(DeduplicateQueryTest, DistinctRowsOfSqlAreGroups) {
  const LogicalPtr child = rawEvents();
  const std::vector<ExpressionPtr> key = {child->output()[1]};
  EXPECT_EQ(rowsOfSteps(std::make_shared<LogicalAggregate>(key, key, child), OutputMode::Update,
                        {{{0, "a"}, {1, "b"}, {2, "a"}}, {{3, "a"}, {4, "c"}}}),
            (std::vector<Rows>{{"a", "b"}, {"a", "c"}}));
  EXPECT_EQ(lastState()["operatorName"], "stateStoreSave");
  EXPECT_EQ(lastState()["numRowsTotal"], 3);
}

// The keys' order is the checkpoint's: the same columns in another order are the same keys.
TEST_P(DeduplicateQueryTest, KeysMayBeNamedInAnotherOrder) {
  feed_->add({{0, "a", 1}, {0, "b", 1}});
  runAvailableNow(deduplicated(rawEvents(), {2, 1}), OutputMode::Append);
  EXPECT_EQ(keyColumns(), "struct<v:bigint,key:string>");
  feed_->add({{1, "a", 1}, {1, "a", 2}});
  runAvailableNow(deduplicated(rawEvents(), {1, 2}), OutputMode::Append);
  EXPECT_EQ(keyColumns(), "struct<v:bigint,key:string>");
  EXPECT_EQ(store_->take(), (Rows{"0|a|1", "0|b|1", "1|a|2"}));
}

TEST_P(DeduplicateQueryTest, OtherKeysAreRefused) {
  feed_->add({{0, "a", 1}});
  runAvailableNow(deduplicated(events(), {1, 2}), OutputMode::Append);
  feed_->add({{0, "a", 1}});
  try {
    runAvailableNow(deduplicated(events(), {1}), OutputMode::Append);
    FAIL() << "keys of other columns took over the state";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause()->condition(), "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE");
  }
  try {
    runAvailableNow(deduplicated(events(), {1, 2}, true), OutputMode::Append);
    FAIL() << "another operator took over the state";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause()->condition(), "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA");
  }
}

// Spark 4.2 goes on with the keys that it knows, and drops A as one of them.
TEST_P(DeduplicateQueryTest, AnotherColumnOfTheSameTypeIsNotTheKey) {
  const auto upper = [&](bool keepsKey) {
    const LogicalPtr scan = rawEvents();
    std::vector<ExpressionPtr> columns = {scan->output()[0], named(call("upper", {scan->output()[1]}), "other")};
    if (keepsKey) columns.push_back(scan->output()[1]);
    return deduplicated(std::make_shared<LogicalProject>(std::move(columns), scan), {1});
  };
  feed_->add({{0, "a", 1}, {0, "A", 1}});
  runAvailableNow(deduplicated(rawEvents(), {1}), OutputMode::Append);
  feed_->add({{0, "a", 1}});
  try {
    runAvailableNow(upper(true), OutputMode::Append);
    FAIL() << "keys of another column took over the state";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause()->condition(), "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE");
  }
  store_->take();
  // Without the column, the key may have got another name.
  runAvailableNow(upper(false), OutputMode::Append);
  EXPECT_EQ(store_->take(), Rows());
}

// Whatever step of a batch fails, its rows come out once, and the next batch knows their keys.
TEST_P(DeduplicateQueryTest, EveryStepOfABatchMayFail) {
  Rows expected;
  int64_t step = 0;
  for (const char* point : {"offsetLog.after", "stateChanges.before", "stateChanges.after",
                            "commitLog.before", "commitLog.after"}) {
    SCOPED_TRACE(point);
    const std::string key = "k" + std::to_string(step);
    feed_->add({{step, key, 1}, {step, key, 2}, {step, "k0", 3}});
    armFaultPoint(std::string(point) + "=error");
    EXPECT_THROW(runAvailableNow(deduplicated(rawEvents(), {1}), OutputMode::Append), Error);
    armFaultPoint("");
    runAvailableNow(deduplicated(rawEvents(), {1}), OutputMode::Append);
    expected.push_back(std::to_string(step++) + "|" + key + "|1");
  }
  EXPECT_EQ(store_->take(), expected);
}

// More versions than a snapshot waits for, and more than are kept.
TEST_P(DeduplicateQueryTest, ALongRunForgetsWhatHasEndedAndNothingElse) {
  for (int64_t i = 0; i < 40; ++i) {
    const int64_t second = 100 + 7 * i;
    const std::string key = "k" + std::to_string(i % 5), previous = "k" + std::to_string((i + 4) % 5);
    feed_->add({{second, key}, {second, key}, {second - 7, previous}});
    auto query =
        definition(deduplicated(events(), {0, 1}), OutputMode::Append, {Trigger::Kind::AvailableNow, 0});
    query.minBatchesToRetain = 5;
    StreamingQuery::start(std::move(query))->awaitTermination(std::nullopt);
  }
  // Each row once, and (93, k4), which came with the first step.
  EXPECT_EQ(store_->take().size(), 41u);
  EXPECT_LT(checkpoint_.fileSystem->list("/checkpoint/state/0/0").size(), 30u);
}

INSTANTIATE_TEST_SUITE_P(Setups, DeduplicateQueryTest, allSetups(), setupName);

}  // namespace
}  // namespace thalweg
