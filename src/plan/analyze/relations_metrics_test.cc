// What observe() takes: Spark's own answers, metric by metric.
#include <gtest/gtest.h>
#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "plan/analyze/analyzer.h"
#include "plan/logical/collect_metrics.h"
#include "sql/parser.h"

namespace thalweg {
namespace {

LogicalPtr tableNamed(const std::vector<std::string>&, const Options&, bool) {
  return std::make_shared<LogicalLocalRelation>(
      attributesOf(*DataType::structOf({{"k", stringType()}, {"v", longType()}})),
      std::vector<std::shared_ptr<arrow::RecordBatch>>{});
}

// SELECT * FROM t, observed under one name after the other.
LogicalPtr observed(const std::vector<std::pair<std::string, std::string>>& namesAndMetrics) {
  AnalyzerContext context;
  context.findRelation = tableNamed;
  spark::connect::Relation relation;
  sql::parseQuery("SELECT * FROM t", &relation);
  for (const auto& [name, metric] : namesAndMetrics) {
    spark::connect::Relation above;
    above.mutable_common()->set_plan_id(5);
    auto* message = above.mutable_collect_metrics();
    *message->mutable_input() = relation;
    message->set_name(name);
    message->add_metrics()->mutable_expression_string()->set_expression(metric);
    relation = above;
  }
  return analyzeRelation(relation, context);
}

std::string conditionOf(const std::vector<std::pair<std::string, std::string>>& namesAndMetrics) {
  try {
    observed(namesAndMetrics);
    return "ok";
  } catch (const Error& error) {
    return error.condition();
  }
}

TEST(CollectMetrics, TakeAggregatesAndConstants) {
  EXPECT_EQ(conditionOf({{"m", "count(1) + 1 AS n"}}), "ok");
  EXPECT_EQ(conditionOf({{"m", "max(v + length(k)) AS n"}}), "ok");
  EXPECT_EQ(conditionOf({{"m", "3 AS three"}}), "ok");
}

TEST(CollectMetrics, RefuseWhatIsNotOneValue) {
  EXPECT_EQ(conditionOf({{"m", "v"}}), "INVALID_OBSERVED_METRICS.NON_AGGREGATE_FUNC_ARG_IS_ATTRIBUTE");
  EXPECT_EQ(conditionOf({{"m", "sum(v) + v AS n"}}),
            "INVALID_OBSERVED_METRICS.NON_AGGREGATE_FUNC_ARG_IS_ATTRIBUTE");
  EXPECT_EQ(conditionOf({{"m", "sum(count(v)) AS n"}}),
            "INVALID_OBSERVED_METRICS.NESTED_AGGREGATES_UNSUPPORTED");
  EXPECT_EQ(conditionOf({{"m", "rand() AS n"}}),
            "INVALID_OBSERVED_METRICS.NON_AGGREGATE_FUNC_ARG_IS_NON_DETERMINISTIC");
  EXPECT_EQ(conditionOf({{"", "count(v) AS n"}}), "INVALID_OBSERVED_METRICS.MISSING_NAME");
}

TEST(CollectMetrics, ANameStandsForOneSetOfMetrics) {
  EXPECT_EQ(conditionOf({{"m", "count(v) AS n"}, {"other", "max(v) AS n"}}), "ok");
  EXPECT_EQ(conditionOf({{"m", "count(v) AS n"}, {"m", "max(v) AS n"}}), "DUPLICATED_METRICS_NAME");
}

TEST(CollectMetrics, KeepTheColumnsAndTheClientsNumber) {
  const LogicalPtr plan = observed({{"m", "count(v) AS n"}});
  ASSERT_EQ(plan->kind(), LogicalKind::CollectMetrics);
  EXPECT_EQ(schemaOf(*plan)->simpleString(), "struct<k:string,v:bigint>");
  EXPECT_EQ(static_cast<const LogicalCollectMetrics&>(*plan).planId(), 5);
}

}  // namespace
}  // namespace thalweg
