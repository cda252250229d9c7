// Operators with state one above the other: what the lower one lets out late is not late for the upper one.
// Expected rows follow from Spark's rules for watermarks; Spark 4.2 gave the same rows for the same events.
#include "expr/time_window.h"
#include "plan/analyze/relations.h"
#include "plan/logical/join.h"
#include "streaming/query/query_test_support.h"

namespace thalweg::query_test {
namespace {

class ChainedOperatorsTest : public StatefulQueryTest {
 protected:
  ChainedOperatorsTest() {
    FormatProvider provider;
    provider.name = "others";
    provider.openStream = [feed = others_](const ReadDefinition&, const FileSystemRegistry&,
                                           const StreamSourceContext&) {
      return std::make_unique<EventSource>(feed);
    };
    formats_.add(std::move(provider));
  }

  LogicalPtr otherEvents() const {
    auto source = std::make_shared<StreamSourceDefinition>();
    source->format = "others";
    source->schema = eventSchema();
    source->visibleColumns = 3;
    const LogicalPtr scan =
        std::make_shared<LogicalStreamScan>(source, std::vector<int>{0, 1, 2}, attributesOf(*eventSchema()));
    return std::make_shared<LogicalEventTimeWatermark>(scan->output()[0], 10'000, scan);
  }

  // window|key|n: counts of ten seconds.
  static LogicalPtr counts(LogicalPtr child) {
    std::vector<ExpressionPtr> grouping = {
        std::make_shared<TimeWindow>(child->output()[0], TimeWindowSpec{10 * kSecond, 10 * kSecond, 0}),
        child->output()[1]};
    child = placeTimeWindows(&grouping, child);
    return makeAggregate(grouping, {grouping[0], grouping[1], named(call("count", {Literal::of(1)}), "n")},
                         child);
  }
  // session|key|sum, ten seconds apart.
  static LogicalPtr sessions(LogicalPtr child) {
    const AttributePtr key = child->output()[1], value = child->output()[2];
    std::vector<ExpressionPtr> grouping = {
        std::make_shared<TimeWindow>(child->output()[0], Literal::of(std::string("10 seconds"))), key};
    child = placeTimeWindows(&grouping, child);
    return makeAggregate(grouping, {grouping[0], key, named(call("sum", {value}), "s")}, child);
  }
  static LogicalPtr deduplicated(const LogicalPtr& child, const std::vector<size_t>& keys,
                                 bool withinWatermark) {
    std::vector<AttributePtr> columns;
    for (const size_t key : keys) columns.push_back(child->output()[key]);
    return std::make_shared<LogicalDeduplicate>(std::move(columns), child, withinWatermark);
  }
  static LogicalPtr joinedCounts(JoinType type, const LogicalPtr& left, const LogicalPtr& right) {
    const auto l = left->output(), r = right->output();
    const LogicalPtr joined = std::make_shared<LogicalJoin>(
        type, joinConjuncts({call("=", {l[0], r[0]}), call("=", {l[1], r[1]})}), left, right);
    const auto out = joined->output();
    return std::make_shared<LogicalProject>(
        std::vector<ExpressionPtr>{out[0], out[1], out[2], out[4], out[5]}, joined);
  }

  // Rows dropped by any operator, over the last run's reports.
  int64_t dropped() const {
    int64_t sum = 0;
    for (const std::string& report : last_->recentProgress()) {
      const auto operators = nlohmann::json::parse(report)["stateOperators"];
      for (const auto& one : operators) sum += one["numRowsDroppedByWatermark"].get<int64_t>();
    }
    return sum;
  }

  std::shared_ptr<Feed> others_ = std::make_shared<Feed>();
};

// The third step's a is late for the counts, and the only row that is.
const Steps kSteps = {{{5, "a"}, {5, "a"}, {12, "b"}}, {{25, "a"}}, {{3, "a"}, {14, "b"}}, {{40, "c"}}};

TEST_P(ChainedOperatorsTest, ADeduplicationOfGroupsLosesNone) {
  for (const bool withinWatermark : {false, true}) {
    SCOPED_TRACE(withinWatermark);
    EXPECT_EQ(
        rowsOfSteps(deduplicated(counts(events()), {0, 1}, withinWatermark), OutputMode::Append, kSteps),
        (std::vector<Rows>{{}, {"0|a|2"}, {}, {"10|b|2", "20|a|1"}}));
    EXPECT_EQ(lastState()["operatorName"], withinWatermark ? "dedupeWithinWatermark" : "dedupe");
    EXPECT_EQ(sumOf("numRowsDroppedByWatermark"), 0);
    if (!GetParam().restarts) {
      EXPECT_EQ(dropped(), 1);
    }
    checkpoint_.fileSystem->removeTree("/checkpoint");
    feed_->steps.clear();
    store_ = std::make_shared<Store>();
  }
}

// a's session ends at 1024 and b's at 1012, both passed by 1030; the window from 1020 on waits for 1080.
TEST_P(ChainedOperatorsTest, CountsOfSessionsLoseNone) {
  LogicalPtr child = sessions(events());
  std::vector<ExpressionPtr> grouping = {std::make_shared<TimeWindow>(
      std::make_shared<WindowTime>(child->output()[0]), TimeWindowSpec{60 * kSecond, 60 * kSecond, 0})};
  child = placeTimeWindows(&grouping, child);
  const LogicalPtr plan =
      makeAggregate(grouping, {grouping[0], named(call("count", {Literal::of(1)}), "n")}, child);
  EXPECT_EQ(rowsOfSteps(plan, OutputMode::Append,
                        {{{1000, "a", 1}, {1006, "a", 2}, {1002, "b", 3}},
                         {{1014, "a", 4}},
                         {{1040, "b", 5}},
                         {{1080, "z", 0}},
                         {{1200, "z", 0}}}),
            (std::vector<Rows>{{}, {}, {"960|1"}, {}, {"1020|2", "1080|1"}}));
  EXPECT_EQ(dropped(), 0);
}

TEST_P(ChainedOperatorsTest, SessionsOfWhatIsNoDuplicate) {
  EXPECT_EQ(rowsOfSteps(sessions(deduplicated(events(), {1, 2}, true)), OutputMode::Append,
                        {{{1000, "a", 1}, {1000, "a", 1}},
                         {{1002, "a", 1}, {1006, "a", 2}},
                         {{1040, "z", 0}},
                         {{1080, "z", 1}}}),
            (std::vector<Rows>{{}, {}, {"1000|a|3"}, {"1040|z|0"}}));
  EXPECT_EQ(dropped(), 0);
}

// Both sides' counts come out in one batch, with windows that the watermark has passed already.
TEST_P(ChainedOperatorsTest, CountsOfTwoStreamsMeet) {
  for (const JoinType type : {JoinType::Inner, JoinType::LeftOuter}) {
    SCOPED_TRACE(static_cast<int>(type));
    const bool outer = type == JoinType::LeftOuter;
    const LogicalPtr plan = joinedCounts(type, counts(events()), counts(otherEvents()));
    const Steps others = {{{7, "x"}}, {{45, "z"}}, {{36, "y"}, {39, "y"}}, {{75, "q"}}, {{120, "z"}}};
    const Steps steps = {
        {{5, "x"}, {6, "x"}, {12, "y"}}, {{45, "z"}}, {{38, "y"}}, {{75, "z"}}, {{120, "z"}}};
    std::vector<Rows> rows;
    for (size_t i = 0; i < steps.size(); ++i) {
      others_->add(others[i]);
      rows.push_back(rowsOfSteps(plan, OutputMode::Append, {steps[i]})[0]);
    }
    EXPECT_EQ(rows, (std::vector<Rows>{{},
                                       outer ? Rows{"0|x|2|x|1", "10|y|1|NULL|NULL"} : Rows{"0|x|2|x|1"},
                                       {},
                                       {"30|y|1|y|2", "40|z|1|z|1"},
                                       outer ? Rows{"70|z|1|NULL|NULL"} : Rows{}}));
    checkpoint_.fileSystem->removeTree("/checkpoint");
    feed_->steps.clear();
    others_->steps.clear();
    store_ = std::make_shared<Store>();
  }
}

INSTANTIATE_TEST_SUITE_P(Setups, ChainedOperatorsTest, allSetups(), setupName);

}  // namespace
}  // namespace thalweg::query_test
