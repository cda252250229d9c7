// Which queries over a stream Spark starts in which output mode: Spark's own answers, query by query.
#include "plan/analyze/streaming_rules.h"

#include <gtest/gtest.h>
#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "plan/analyze/analyzer.h"
#include "plan/logical/event_time.h"
#include "sql/parser.h"

namespace thalweg {
namespace {

// A stream `raw`(ts, k, v); `events`, the same with a watermark on ts; and a table `fixed` of the same columns.
LogicalPtr relationNamed(const std::vector<std::string>& name, const Options&, bool) {
  const auto output = attributesOf(*DataType::structOf({{"ts", timestampType()}, {"k", stringType()}, {"v", intType()}}));
  if (name[0] == "fixed") return std::make_shared<LogicalLocalRelation>(output, std::vector<std::shared_ptr<arrow::RecordBatch>>{});
  const LogicalPtr stream =
      std::make_shared<LogicalStreamScan>(std::make_shared<StreamSourceDefinition>(), std::vector<int>{0, 1, 2}, output);
  if (name[0] == "raw") return stream;
  if (name[0] == "events") return std::make_shared<LogicalEventTimeWatermark>(output[0], 10'000, stream);
  return nullptr;
}

LogicalPtr analyzed(const std::string& query) {
  AnalyzerContext context;
  context.findRelation = relationNamed;
  spark::connect::Relation relation;
  sql::parseQuery(query, &relation);
  return analyzeRelation(relation, context);
}

std::string answer(const LogicalNode& plan, OutputMode mode) {
  try {
    checkStreamingPlan(plan, mode);
    return "ok";
  } catch (const Error& error) {
    if (error.condition() == "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION") return "mode";
    return error.condition() == "_LEGACY_ERROR_TEMP_3102" ? "operator" : error.condition();
  }
}

struct Case {
  std::string query;
  std::string append, update, complete;  // ok, mode (42KDE) or operator (Spark's unnamed condition)
};
void PrintTo(const Case& value, std::ostream* out) { *out << value.query; }

class StreamingRules : public testing::TestWithParam<Case> {};

TEST_P(StreamingRules, areSparks) {
  const LogicalPtr plan = analyzed(GetParam().query);
  EXPECT_EQ(answer(*plan, OutputMode::Append), GetParam().append) << "append";
  EXPECT_EQ(answer(*plan, OutputMode::Update), GetParam().update) << "update";
  EXPECT_EQ(answer(*plan, OutputMode::Complete), GetParam().complete) << "complete";
}

INSTANTIATE_TEST_SUITE_P(Stateless, StreamingRules, testing::Values(
    Case{"SELECT k, v + 1 FROM raw WHERE v > 0", "ok", "ok", "mode"},
    Case{"SELECT window(ts, '5 minutes'), v FROM raw", "ok", "ok", "mode"},
    Case{"SELECT * FROM raw UNION ALL SELECT * FROM events", "ok", "ok", "mode"},
    Case{"SELECT * FROM raw UNION ALL SELECT * FROM fixed", "operator", "operator", "mode"},
    Case{"SELECT * FROM raw ORDER BY v", "operator", "operator", "mode"},
    Case{"SELECT * FROM raw SORT BY v", "operator", "operator", "mode"},
    Case{"SELECT * FROM raw LIMIT 3", "ok", "operator", "mode"},
    Case{"SELECT * FROM raw LIMIT 3 OFFSET 1", "operator", "operator", "mode"}));

INSTANTIATE_TEST_SUITE_P(Aggregates, StreamingRules, testing::Values(
    Case{"SELECT k, count(*) FROM raw GROUP BY k", "mode", "ok", "ok"},
    Case{"SELECT count(*) FROM events", "mode", "ok", "ok"},
    Case{"SELECT k, count(*) FROM events GROUP BY k", "mode", "ok", "ok"},
    Case{"SELECT ts, count(*) FROM events GROUP BY ts", "ok", "ok", "ok"},
    Case{"SELECT ts, count(*) FROM raw GROUP BY ts", "mode", "ok", "ok"},
    Case{"SELECT window(ts, '5 minutes'), k, count(*) FROM events GROUP BY window(ts, '5 minutes'), k", "ok", "ok", "ok"},
    Case{"SELECT window(ts, '5 minutes') w, count(*) FROM raw GROUP BY w", "mode", "ok", "ok"},
    Case{"SELECT k, count(*) FROM raw GROUP BY k ORDER BY k", "mode", "operator", "ok"},
    Case{"SELECT k, count(*) FROM raw GROUP BY k LIMIT 2", "mode", "operator", "ok"},
    Case{"SELECT c FROM (SELECT k, count(*) c FROM raw GROUP BY k) a JOIN events ON a.k = events.k", "mode", "operator", "operator"},
    Case{"SELECT window(w, '1 hour') h, sum(c) FROM (SELECT window(ts, '5 minutes') w, count(*) c FROM events GROUP BY w) GROUP BY h",
         "ok", "operator", "operator"}));

INSTANTIATE_TEST_SUITE_P(GroupingSetsAndGenerators, StreamingRules, testing::Values(
    Case{"SELECT k, count(DISTINCT v) FROM raw GROUP BY k", "mode", "operator", "operator"},
    Case{"SELECT ts, count(DISTINCT v) FROM events GROUP BY ts", "operator", "operator", "operator"},
    Case{"SELECT k, count(*) FROM raw GROUP BY ROLLUP(k)", "mode", "ok", "ok"},
    Case{"SELECT k, count(*) FROM raw GROUP BY GROUPING SETS ((k), ())", "mode", "ok", "ok"},
    Case{"SELECT window(ts, '5 minutes') w, k, count(*) FROM events GROUP BY w, ROLLUP(k)", "ok", "ok", "ok"},
    Case{"SELECT ts, count(*) FROM events GROUP BY CUBE(ts)", "ok", "ok", "ok"},
    Case{"SELECT k, explode(array(v, 1)) e FROM raw", "ok", "ok", "mode"},
    Case{"SELECT e, count(*) FROM events LATERAL VIEW explode(array(v, 1)) t AS e GROUP BY e", "mode", "ok", "ok"}));

INSTANTIATE_TEST_SUITE_P(Distinct, StreamingRules, testing::Values(
    Case{"SELECT DISTINCT k FROM raw", "mode", "ok", "ok"},
    Case{"SELECT DISTINCT ts FROM events", "ok", "ok", "ok"},
    Case{"SELECT k FROM raw EXCEPT SELECT k FROM fixed", "mode", "ok", "ok"}));

INSTANTIATE_TEST_SUITE_P(Sessions, StreamingRules, testing::Values(
    Case{"SELECT session_window(ts, '5 minutes') s, k, count(*) FROM events GROUP BY s, k", "ok", "mode", "ok"},
    Case{"SELECT session_window(ts, '5 minutes') s, k, count(*) FROM raw GROUP BY s, k", "mode", "mode", "ok"},
    Case{"SELECT session_window(ts, '5 minutes') s, v FROM raw", "ok", "ok", "mode"}));

INSTANTIATE_TEST_SUITE_P(JoinsWithATable, StreamingRules, testing::Values(
    Case{"SELECT * FROM raw a JOIN fixed b ON a.k = b.k", "ok", "ok", "mode"},
    Case{"SELECT * FROM raw a CROSS JOIN fixed b", "ok", "ok", "mode"},
    Case{"SELECT * FROM raw a LEFT JOIN fixed b ON a.k = b.k", "ok", "ok", "mode"},
    Case{"SELECT * FROM raw a LEFT SEMI JOIN fixed b ON a.k = b.k", "ok", "ok", "mode"},
    Case{"SELECT * FROM raw a LEFT ANTI JOIN fixed b ON a.k = b.k", "ok", "ok", "mode"},
    Case{"SELECT * FROM raw a RIGHT JOIN fixed b ON a.k = b.k", "operator", "operator", "mode"},
    Case{"SELECT * FROM raw a FULL JOIN fixed b ON a.k = b.k", "operator", "operator", "mode"},
    Case{"SELECT * FROM fixed a JOIN raw b ON a.k = b.k", "ok", "ok", "mode"},
    Case{"SELECT * FROM fixed a RIGHT JOIN raw b ON a.k = b.k", "ok", "ok", "mode"},
    Case{"SELECT * FROM fixed a LEFT JOIN raw b ON a.k = b.k", "operator", "operator", "mode"},
    Case{"SELECT * FROM fixed a FULL JOIN raw b ON a.k = b.k", "operator", "operator", "mode"},
    Case{"SELECT * FROM fixed a LEFT SEMI JOIN raw b ON a.k = b.k", "operator", "operator", "mode"},
    Case{"SELECT * FROM fixed a LEFT ANTI JOIN raw b ON a.k = b.k", "operator", "operator", "mode"},
    Case{"SELECT b.k, count(*) FROM raw a JOIN fixed b ON a.k = b.k GROUP BY b.k", "mode", "ok", "ok"}));

INSTANTIATE_TEST_SUITE_P(JoinsOfStreams, StreamingRules, testing::Values(
    Case{"SELECT * FROM raw a JOIN raw b ON a.k = b.k", "ok", "ok", "mode"},
    Case{"SELECT window(a.ts, '5 minutes') w, count(*) FROM events a JOIN events b ON a.k = b.k GROUP BY w", "ok", "ok", "operator"},
    // Rows of the left end when no later b.ts can reach them.
    Case{"SELECT * FROM events a LEFT JOIN events b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + interval 10 minutes", "ok", "operator", "mode"},
    Case{"SELECT * FROM events a LEFT JOIN events b ON a.k = b.k AND a.ts >= b.ts - interval 10 minutes", "ok", "operator", "mode"},
    Case{"SELECT * FROM events a LEFT JOIN events b ON a.k = b.k AND a.ts <= b.ts", "operator", "operator", "mode"},
    Case{"SELECT * FROM events a LEFT JOIN raw b ON a.k = b.k AND b.ts <= a.ts", "operator", "operator", "mode"},
    Case{"SELECT * FROM events a RIGHT JOIN events b ON a.k = b.k AND b.ts >= a.ts", "ok", "operator", "mode"},
    Case{"SELECT * FROM events a RIGHT JOIN events b ON a.k = b.k AND b.ts <= a.ts", "operator", "operator", "mode"},
    Case{"SELECT * FROM events a FULL JOIN events b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + interval 10 minutes", "ok", "operator", "mode"},
    Case{"SELECT * FROM events a LEFT JOIN events b ON a.ts = b.ts", "ok", "operator", "mode"},
    Case{"SELECT * FROM raw a LEFT JOIN raw b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + interval 10 minutes", "operator", "operator", "mode"},
    Case{"SELECT * FROM events a LEFT JOIN events b ON a.k = b.k", "operator", "operator", "mode"},
    Case{"SELECT * FROM events a LEFT SEMI JOIN events b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + interval 10 minutes", "ok", "ok", "mode"},
    Case{"SELECT * FROM raw a LEFT SEMI JOIN raw b ON a.k = b.k", "operator", "operator", "mode"},
    Case{"SELECT * FROM events a LEFT ANTI JOIN events b ON a.k = b.k AND b.ts <= a.ts", "operator", "operator", "mode"}));

LogicalPtr deduplicated(const LogicalPtr& child, bool withinWatermark = false) {
  return std::make_shared<LogicalDeduplicate>(child->output(), child, withinWatermark);
}

TEST(StreamingRules, deduplicationEndsByAWatermarkOrNever) {
  EXPECT_EQ(answer(*deduplicated(analyzed("SELECT * FROM raw")), OutputMode::Append), "ok");
  EXPECT_EQ(answer(*deduplicated(analyzed("SELECT * FROM raw")), OutputMode::Update), "ok");
  EXPECT_EQ(answer(*deduplicated(analyzed("SELECT * FROM raw")), OutputMode::Complete), "mode");
  EXPECT_EQ(answer(*deduplicated(analyzed("SELECT * FROM events"), true), OutputMode::Append), "ok");
  EXPECT_EQ(answer(*deduplicated(analyzed("SELECT * FROM raw"), true), OutputMode::Append), "operator");
}

// Outside of append mode an aggregation emits rows again that the watermark has passed.
TEST(StreamingRules, deduplicationAfterAnAggregation) {
  const LogicalPtr counts = analyzed("SELECT window(ts, '5 minutes') w, k, count(*) FROM events GROUP BY w, k");
  EXPECT_EQ(answer(*deduplicated(counts), OutputMode::Append), "ok");
  EXPECT_EQ(answer(*deduplicated(counts), OutputMode::Update), "operator");
}

// A second watermark on the same column is another delay; on another column it is refused.
TEST(StreamingRules, oneColumnIsTheEventTime) {
  const auto output = attributesOf(*DataType::structOf({{"ts", timestampType()}, {"other", timestampType()}}));
  const LogicalPtr stream = std::make_shared<LogicalStreamScan>(std::make_shared<StreamSourceDefinition>(), std::vector<int>{0, 1}, output);
  const LogicalPtr first = std::make_shared<LogicalEventTimeWatermark>(output[0], 1000, stream);
  EXPECT_EQ(answer(LogicalEventTimeWatermark(first->output()[0], 2000, first), OutputMode::Append), "ok");
  EXPECT_EQ(answer(LogicalEventTimeWatermark(first->output()[1], 2000, first), OutputMode::Append), "_LEGACY_ERROR_TEMP_3076");
}

}  // namespace
}  // namespace thalweg
