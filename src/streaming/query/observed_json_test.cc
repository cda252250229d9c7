// observe() over a stream: each batch's metrics in its progress report.
#include "streaming/query/observed_json.h"

#include "plan/logical/collect_metrics.h"
#include "streaming/query/query_test_support.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

using namespace query_test;

class ObserveQueryTest : public StatefulQueryTest {
 protected:
  static LogicalPtr observed(const LogicalPtr& child) {
    const std::vector<ExpressionPtr> metrics = {
        named(call("count", {Literal::of(1)}), "n"), named(call("max", {child->output()[1]}), "last"),
        named(call("+", {call("count", {Literal::of(1)}), Literal::of(1)}), "more"),
        named(call("sum", {child->output()[2]}), "total")};
    return std::make_shared<LogicalCollectMetrics>("seen", 7, metrics, child);
  }
  // Of the last run, "<batch>: <metrics>".
  Rows reports() const {
    Rows rows;
    for (const std::string& report : last_->recentProgress()) {
      const auto json = nlohmann::ordered_json::parse(report);
      if (json.contains("observedMetrics"))
        rows.push_back(std::to_string(json["batchId"].get<int64_t>()) + ": " +
                       json["observedMetrics"].dump());
    }
    return rows;
  }
};

TEST_P(ObserveQueryTest, EachBatchReportsItsOwnRows) {
  if (GetParam().restarts) GTEST_SKIP() << "the reports are of one run";
  EXPECT_EQ(
      rowsOfSteps(observed(rawEvents()), OutputMode::Append, {{{0, "a", 1}, {1, "c", 2}}, {{2, "b", 5}}}),
      (std::vector<Rows>{{"0|a|1", "1|c|2"}, {"2|b|5"}}));
  EXPECT_EQ(reports(), (Rows{R"(0: {"seen":{"n":2,"last":"c","more":3,"total":3}})",
                             R"(1: {"seen":{"n":1,"last":"b","more":2,"total":5}})"}));
}

// What a stateful operator holds back is not seen above it; a batch without rows has metrics of none.
TEST_P(ObserveQueryTest, AboveADeduplicationOnlyWhatIsLeftIsSeen) {
  if (GetParam().restarts) GTEST_SKIP() << "the reports are of one run";
  const LogicalPtr child = rawEvents();
  const auto deduplicated = std::make_shared<LogicalDeduplicate>(std::vector{child->output()[1]}, child);
  rowsOfSteps(observed(deduplicated), OutputMode::Append, {{{0, "a", 1}, {1, "a", 2}}, {{2, "a", 5}}});
  EXPECT_EQ(reports(), (Rows{R"(0: {"seen":{"n":1,"last":"a","more":2,"total":1}})",
                             R"(1: {"seen":{"n":0,"last":null,"more":1,"total":null}})"}));
}

INSTANTIATE_TEST_SUITE_P(Setups, ObserveQueryTest, allSetups(), setupName);

template <typename Builder, typename Value>
std::shared_ptr<arrow::Array> one(Builder&& builder, const Value& value) {
  throwIfFailed(builder.Append(value));
  return valueOrThrow(builder.Finish());
}

// As Spark 4.2 renders a row.
TEST(ObservedJson, RendersValuesAsSparkDoes) {
  const SchemaPtr schema =
      parseSchemaDdl("b BOOLEAN, i INT, d DOUBLE, s STRING, x BINARY, day DATE, t TIMESTAMP, n VOID");
  const auto zone = TimeZone::parse("UTC");
  const std::vector<std::shared_ptr<arrow::Array>> columns = {
      one(arrow::BooleanBuilder(), true),
      one(arrow::Int32Builder(), 3),
      one(arrow::DoubleBuilder(), 0.5),
      one(arrow::StringBuilder(), std::string("a\"b")),
      one(arrow::BinaryBuilder(), std::string("a")),
      one(arrow::Date32Builder(), 20468),
      one(arrow::TimestampBuilder(toArrowType(*timestampType()), arrow::default_memory_pool()),
          int64_t{1768471200'500000}),
      std::make_shared<arrow::NullArray>(1)};
  const ObservedMetrics observed{"seen", 0, schema,
                                 arrow::RecordBatch::Make(toArrowSchema(*schema), 1, columns)};
  EXPECT_EQ(
      observedJson(observed, zone),
      R"({"b":true,"i":3,"d":0.5,"s":"a\"b","x":"YQ==","day":"2026-01-15","t":"2026-01-15 10:00:00","n":null})");
}

}  // namespace
}  // namespace thalweg
