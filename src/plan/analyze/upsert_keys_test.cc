#include "plan/analyze/upsert_keys.h"

#include <gtest/gtest.h>
#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "plan/analyze/analyzer.h"
#include "plan/analyze/relations.h"
#include "plan/logical/collect_metrics.h"
#include "plan/logical/event_time.h"
#include "sql/parser.h"

namespace thalweg {
namespace {

using Positions = std::optional<std::vector<int>>;

// A stream `events`(ts, k, v) and a table `fixed` of the same columns.
LogicalPtr relationNamed(const std::vector<std::string>& name, const Options&, bool) {
  const auto output = attributesOf(*DataType::structOf({{"ts", DataType::primitive(TypeId::Timestamp)},
                                                        {"k", DataType::primitive(TypeId::String)},
                                                        {"v", DataType::primitive(TypeId::Int)}}));
  if (name[0] == "fixed")
    return std::make_shared<LogicalLocalRelation>(output, std::vector<std::shared_ptr<arrow::RecordBatch>>{});
  const LogicalPtr stream = std::make_shared<LogicalStreamScan>(std::make_shared<StreamSourceDefinition>(),
                                                                std::vector<int>{0, 1, 2}, output);
  return std::make_shared<LogicalEventTimeWatermark>(output[0], 10'000, stream);
}

LogicalPtr analyzed(const std::string& query) {
  AnalyzerContext context;
  context.findRelation = relationNamed;
  spark::connect::Relation relation;
  sql::parseQuery(query, &relation);
  return analyzeRelation(relation, context);
}

Positions keysOf(const std::string& query) {
  return upsertKeyColumns(*analyzed(query));
}

std::string refusalOf(const std::string& query) {
  try {
    keysOf(query);
  } catch (const Error& error) {
    EXPECT_EQ(error.condition(), "UNSUPPORTED_FEATURE.THALWEG");
    return error.message();
  }
  return "none";
}

TEST(UpsertKeys, AreTheGroupingColumnsOfTheOutput) {
  EXPECT_EQ(keysOf("SELECT k, v, count(*) FROM events GROUP BY k, v"), (Positions{{0, 1}}));
  EXPECT_EQ(keysOf("SELECT count(*), v, k AS name FROM events GROUP BY k, v"), (Positions{{1, 2}}));
  EXPECT_EQ(keysOf("SELECT v % 10 AS digit, count(*) FROM events GROUP BY v % 10"), (Positions{{0}}));
}

TEST(UpsertKeys, AreFollowedThroughProjectionsFiltersAndNames) {
  EXPECT_EQ(keysOf("SELECT n * 2 AS twice, a AS b FROM (SELECT k AS a, count(*) AS n FROM events GROUP BY k) "
                   "AS t WHERE n > 1"),
            (Positions{{1}}));
  EXPECT_EQ(keysOf("SELECT k, count(*) FROM events GROUP BY k HAVING count(*) > 1"), (Positions{{0}}));
}

TEST(UpsertKeys, AreFollowedThroughObservedMetrics) {
  const LogicalPtr counts = analyzed("SELECT count(*), k FROM events GROUP BY k");
  EXPECT_EQ(upsertKeyColumns(LogicalCollectMetrics("seen", 1, {}, counts)), (Positions{{1}}));
}

// As groupBy(window(ts, …).alias("w")) has it.
TEST(UpsertKeys, AWindowMayHaveANameOfItsOwn) {
  LogicalPtr child = analyzed("SELECT ts FROM events");
  const auto window = std::make_shared<TimeWindow>(child->output()[0], TimeWindowSpec{60'000'000, 60'000'000, 0});
  std::vector<ExpressionPtr> grouping = {std::make_shared<Alias>(window, "w")};
  child = placeTimeWindows(&grouping, child);
  const AttributePtr w = static_cast<const Alias&>(*grouping[0]).toAttribute();
  const auto start = std::make_shared<Alias>(std::make_shared<FieldAccess>(w, 0), "start");
  EXPECT_EQ(upsertKeyColumns(*makeAggregate(grouping, {start}, child)), (Positions{{0}}));
}

TEST(UpsertKeys, AWindowIsThereItselfOrByAnEnd) {
  EXPECT_EQ(
      keysOf(
          "SELECT window(ts, '5 minutes') AS w, k, count(*) FROM events GROUP BY window(ts, '5 minutes'), k"),
      (Positions{{0, 1}}));
  EXPECT_EQ(keysOf("SELECT w.start, k, n FROM (SELECT window(ts, '5 minutes') AS w, k, count(*) n FROM "
                   "events GROUP BY w, k)"),
            (Positions{{0, 1}}));
  EXPECT_EQ(keysOf("SELECT n, w.end AS until, w.start AS since FROM "
                   "(SELECT window(ts, '5 minutes') AS w, count(*) n FROM events GROUP BY w)"),
            (Positions{{1, 2}}));
}

TEST(UpsertKeys, OtherStructsAreThereWithAllTheirMembers) {
  const std::string grouped =
      " FROM (SELECT s, count(*) n FROM (SELECT named_struct('a', k, 'b', v) AS s FROM events) GROUP BY s)";
  EXPECT_EQ(keysOf("SELECT s.b, n, s.a" + grouped), (Positions{{0, 2}}));
  EXPECT_NE(refusalOf("SELECT s.b, n" + grouped).find("grouping column s"), std::string::npos);
}

TEST(UpsertKeys, OneRowHasNoKeyAndPlainRowsHaveNone) {
  EXPECT_EQ(keysOf("SELECT count(*) FROM events"), (Positions{std::vector<int>{}}));
  EXPECT_EQ(keysOf("SELECT k, v FROM events WHERE v > 1"), std::nullopt);
  EXPECT_EQ(keysOf("SELECT a.k FROM events a JOIN (SELECT k, count(*) FROM fixed GROUP BY k) b ON a.k = b.k"),
            std::nullopt);
}

TEST(UpsertKeys, AMissingColumnIsNamed) {
  EXPECT_NE(refusalOf("SELECT count(*) FROM events GROUP BY k").find("grouping column k"), std::string::npos);
  EXPECT_NE(refusalOf("SELECT upper(k), count(*) FROM events GROUP BY k").find("grouping column k"),
            std::string::npos);
  EXPECT_NE(refusalOf("SELECT k, count(*) FROM events GROUP BY k, window(ts, '5 minutes')")
                .find("grouping column window"),
            std::string::npos);
}

TEST(UpsertKeys, WhatMayMultiplyAGroupsRowIsRefused) {
  EXPECT_NE(
      refusalOf(
          "SELECT a.k, n FROM (SELECT k, count(*) n FROM events GROUP BY k) a JOIN fixed b ON a.k = b.k"),
      "none");
}

}  // namespace
}  // namespace thalweg
