// SQL text through the parser and the analyzer: the columns that come out, or the condition that is raised.
#include <gtest/gtest.h>
#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "plan/analyze/analyzer.h"
#include "sql/parser.h"

namespace thalweg {
namespace {

struct Case {
  std::string query;
  std::string expected;  // schema, or error condition
};
void PrintTo(const Case& value, std::ostream* out) { *out << value.query; }

// A table t(k string, v int, ts timestamp, s struct<a: int>).
LogicalPtr tableNamed(const std::vector<std::string>& name, const Options&, bool) {
  if (name != std::vector<std::string>{"t"}) return nullptr;
  const auto schema = DataType::structOf({{"k", stringType()}, {"v", intType()}, {"ts", timestampType()},
                                          {"s", DataType::structOf({{"a", intType()}})}});
  return std::make_shared<LogicalLocalRelation>(attributesOf(*schema), std::vector<std::shared_ptr<arrow::RecordBatch>>{});
}

std::string analyzed(const std::string& query) {
  AnalyzerContext context;
  context.findRelation = tableNamed;
  spark::connect::Relation relation;
  try {
    sql::parseQuery(query, &relation);
    return schemaOf(*analyzeRelation(relation, context))->simpleString();
  } catch (const Error& error) {
    return error.condition();
  }
}

class SqlQuery : public testing::TestWithParam<Case> {};
TEST_P(SqlQuery, hasColumnsOrCondition) { EXPECT_EQ(analyzed(GetParam().query), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(GroupBy, SqlQuery, testing::Values(
    Case{"SELECT k, count(*) c FROM t GROUP BY k", "struct<k:string,c:bigint>"},
    Case{"SELECT count(*) FROM t GROUP BY k", "struct<count(1):bigint>"},
    Case{"SELECT v + 1 AS w, sum(v) FROM t GROUP BY w", "struct<w:int,sum(v):bigint>"},
    Case{"SELECT v + 1, sum(v) FROM t GROUP BY 1", "struct<(v + 1):int,sum(v):bigint>"},
    Case{"SELECT k, sum(v) FROM t GROUP BY ALL", "struct<k:string,sum(v):bigint>"},
    Case{"SELECT k, count(*) s FROM t GROUP BY k HAVING s > 1", "struct<k:string,s:bigint>"},
    Case{"SELECT k, count(*) v FROM t GROUP BY k HAVING sum(v) > v", "struct<k:string,v:bigint>"},
    Case{"SELECT k FROM t GROUP BY 2", "GROUP_BY_POS_OUT_OF_RANGE"},
    Case{"SELECT sum(v) FROM t GROUP BY 1", "GROUP_BY_POS_AGGREGATE"},
    Case{"SELECT k, v FROM t GROUP BY k", "MISSING_AGGREGATION"},
    Case{"SELECT k FROM t GROUP BY k HAVING sum(v) > 1", "struct<k:string>"},
    Case{"SELECT k, sum(v) total FROM t GROUP BY k HAVING total > 1", "struct<k:string,total:bigint>"},
    Case{"SELECT k FROM t WHERE sum(v) > 1", "INVALID_WHERE_CONDITION"}));

INSTANTIATE_TEST_SUITE_P(OrderBy, SqlQuery, testing::Values(
    Case{"SELECT k FROM t ORDER BY v", "struct<k:string>"}, Case{"SELECT k FROM t ORDER BY 1", "struct<k:string>"},
    Case{"SELECT k FROM t ORDER BY 2", "ORDER_BY_POS_OUT_OF_RANGE"},
    Case{"SELECT k FROM t ORDER BY nope", "UNRESOLVED_COLUMN.WITH_SUGGESTION"},
    Case{"SELECT k FROM t GROUP BY k ORDER BY sum(v)", "struct<k:string>"},
    Case{"SELECT sum(v) s FROM t GROUP BY k ORDER BY k", "struct<s:bigint>"},
    Case{"SELECT k, sum(v) total FROM t GROUP BY k HAVING total > 1 ORDER BY max(v) LIMIT 3", "struct<k:string,total:bigint>"},
    Case{"SELECT k FROM t GROUP BY k ORDER BY v", "MISSING_AGGREGATION"}, Case{"SELECT DISTINCT k FROM t ORDER BY k", "struct<k:string>"}));

INSTANTIATE_TEST_SUITE_P(Names, SqlQuery, testing::Values(
    Case{"WITH a AS (SELECT k FROM t), b(x) AS (SELECT * FROM a) SELECT b.x FROM b", "struct<x:string>"},
    Case{"WITH t AS (SELECT 1 one) SELECT * FROM t", "struct<one:int>"},
    Case{"SELECT u.a, s.a b FROM (SELECT s.a, s FROM t) u", "struct<a:int,b:int>"},
    Case{"SELECT x + 1 y FROM (SELECT v FROM t) AS u(x)", "struct<y:int>"}, Case{"SELECT v + 1 a, a * 2 b FROM t", "struct<a:int,b:int>"},
    Case{"SELECT * EXCEPT (ts, s) FROM t", "struct<k:string,v:int>"}, Case{"SELECT * FROM nowhere", "TABLE_OR_VIEW_NOT_FOUND"},
    Case{"SELECT * FROM VALUES (1, 'a'), (2L, null) AS x(n, c)", "struct<n:bigint,c:string>"},
    Case{"VALUES (1), (2.5)", "struct<col1:decimal(11,1)>"}, Case{"SELECT id FROM range(3)", "struct<id:bigint>"}));

INSTANTIATE_TEST_SUITE_P(TimeWindows, SqlQuery, testing::Values(
    Case{"SELECT window(ts, '5 minutes'), v FROM t", "struct<window:struct<start:timestamp,end:timestamp>,v:int>"},
    Case{"SELECT window.start, count(*) c FROM t GROUP BY window(ts, '10 minutes', '5 minutes') ", "struct<start:timestamp,c:bigint>"},
    Case{"SELECT window(ts, '5 minutes') w, k, sum(v) s FROM t GROUP BY w, k HAVING s > 1", "struct<w:struct<start:timestamp,end:timestamp>,k:string,s:bigint>"},
    Case{"SELECT window_time(w) FROM (SELECT window(ts, '1 day') w FROM t)", "struct<window_time(w):timestamp>"},
    Case{"SELECT window('2024-01-01', '1 day').end e", "struct<e:timestamp>"},
    Case{"SELECT window(ts, '1 minute'), window(ts, '2 minutes') FROM t", "_LEGACY_ERROR_TEMP_1039"},
    Case{"SELECT window(ts, INTERVAL 1 HOUR, 1000000).end e FROM t", "struct<e:timestamp>"},
    Case{"SELECT window(ts, k) FROM t", "NON_FOLDABLE_ARGUMENT"},
    Case{"SELECT window(ts, '1 month') FROM t", "_LEGACY_ERROR_TEMP_3231"},
    Case{"SELECT window(ts, '0 seconds') FROM t", "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE"},
    Case{"SELECT window(ts, '1 minute', '2 minutes') FROM t", "DATATYPE_MISMATCH.PARAMETER_CONSTRAINT_VIOLATION"},
    Case{"SELECT window(ts, '2 minutes', '1 minute', '1 minute') FROM t", "DATATYPE_MISMATCH.PARAMETER_CONSTRAINT_VIOLATION"},
    Case{"SELECT window.a FROM (SELECT s AS window, ts FROM t) GROUP BY window(ts, '1 hour'), window", "struct<a:int>"},
    Case{"SELECT v FROM t WHERE window(ts, '1 hour').start IS NOT NULL", "UNSUPPORTED_FEATURE.THALWEG"},
    Case{"SELECT v FROM t ORDER BY window(ts, '1 hour').start", "UNSUPPORTED_FEATURE.THALWEG"},
    Case{"SELECT max(window(ts, '1 hour').end) m FROM t", "struct<m:timestamp>"},
    Case{"SELECT window_time(v) FROM t", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"}));

TEST(NamedTable, optionsOfTimeTravelReachTheCatalog) {
  Options seen;
  AnalyzerContext context;
  context.findRelation = [&](const std::vector<std::string>& name, const Options& options, bool streaming) {
    EXPECT_EQ(name, (std::vector<std::string>{"delta", "/a/b"}));
    seen = options;
    return tableNamed({"t"}, options, streaming);
  };
  spark::connect::Relation relation;
  sql::parseQuery("SELECT k FROM delta.`/a/b` VERSION AS OF 3", &relation);
  analyzeRelation(relation, context);
  EXPECT_EQ(seen.get("versionAsOf"), "3");
  spark::connect::Relation byTime;
  sql::parseQuery("SELECT k FROM delta.`/a/b` TIMESTAMP AS OF to_timestamp('2024-01-02 03:04:05')", &byTime);
  analyzeRelation(byTime, context);
  EXPECT_EQ(seen.get("timestampAsOf"), "2024-01-02 03:04:05");
}

}  // namespace
}  // namespace thalweg
