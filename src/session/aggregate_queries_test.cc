// Queries with several groupings, generators and aggregate functions, as Spark 4.2 answers them.
#include <algorithm>

#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <gtest/gtest.h>
#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "exec/planner/planner.h"
#include "expr/cast/value_text.h"
#include "plan/analyze/analyzer.h"
#include "plan/optimize/optimizer.h"
#include "sql/parser.h"

namespace thalweg {
namespace {

using Rows = std::vector<std::string>;

class AggregateQueries : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(arrow::compute::Initialize().ok()); }

  // The columns' names; then one text a row, in the rows' order or sorted; or the condition of an error.
  Rows run(const std::string& query, bool sorted = true) {
    try {
      AnalyzerContext context;
      spark::connect::Relation relation;
      sql::parseQuery(query, &relation);
      const LogicalPtr plan = analyzeRelation(relation, context);
      Rows rows = rowsOf(plan);
      if (sorted) std::sort(rows.begin(), rows.end());
      std::string names;
      const SchemaPtr schema = schemaOf(*plan);
      for (const StructField& field : schema->fields())
        names += (names.empty() ? "" : "|") + field.name;
      rows.insert(rows.begin(), names);
      return rows;
    } catch (const Error& error) {
      return {error.condition()};
    }
  }

 private:
  Rows rowsOf(const LogicalPtr& plan) {
    Execution execution;
    execution.pool = &pool_;
    const PhysicalPtr physical = planPhysical(optimize(plan), execution.batch);
    const auto running = physical->start(execution);
    Rows rows;
    for (const auto& batch : collectAll(*running, execution)) {
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        std::string text;
        for (int column = 0; column < batch->num_columns(); ++column) {
          if (column) text += "|";
          const DataType& type = *physical->schema()->fields()[static_cast<size_t>(column)].type;
          if (batch->column(column)->IsNull(row))
            text += "NULL";
          else
            ValueText(type, TimeZone()).append(*batch->column(column), row, &text);
        }
        rows.push_back(std::move(text));
      }
    }
    return rows;
  }
  TaskPool pool_{2};
};

TEST_F(AggregateQueries, DistinctValuesCountOnce) {
  EXPECT_EQ(
      run("select count(distinct a, b), sum(distinct a), avg(distinct b), count(distinct a) filter (where b "
          "> 1), "
          "sum(a) filter (where b > 1), max(distinct a) from values (1,2),(1,2),(2,1),(null,3),(3,null) "
          "t(a,b)"),
      (Rows{"count(DISTINCT a, b)|sum(DISTINCT a)|avg(DISTINCT b)|count(DISTINCT a) FILTER (WHERE (b > 1))|"
            "sum(a) FILTER (WHERE (b > 1))|max(DISTINCT a)",
            "2|6|2.0|1|2|3"}));
  EXPECT_EQ(run("select collect_list(distinct a) from values (1),(1),(2) t(a)"),
            (Rows{"collect_list(DISTINCT a)", "[1, 2]"}));
  // Over partitions that are grouped alone and then merged.
  EXPECT_EQ(run("select count(distinct id % 7) c, sum(distinct id % 7) s from range(0, 1000, 1, 4)"),
            (Rows{"c|s", "7|21"}));
}

TEST_F(AggregateQueries, AFilterHoldsNoAggregate) {
  EXPECT_EQ(run("select count(a) filter (where sum(a) > 1) from values (1) t(a)"),
            Rows{"INVALID_AGGREGATE_FILTER.CONTAINS_AGGREGATE"});
  EXPECT_EQ(run("select max(a) filter (where 1) from values (1) t(a)"),
            Rows{"INVALID_AGGREGATE_FILTER.NOT_BOOLEAN"});
  EXPECT_EQ(run("select upper(a) filter (where true) from values ('x') t(a)"),
            Rows{"INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX"});
  EXPECT_EQ(run("select upper(distinct a) from values ('x') t(a)"),
            Rows{"INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX"});
  EXPECT_EQ(run("select sum(a) filter (where 1/a > 0) from values (0),(1) t(a)"), Rows{"DIVIDE_BY_ZERO"});
}

TEST_F(AggregateQueries, GroupingSets) {
  EXPECT_EQ(run("select grouping(a), grouping_id(a,b), grouping_id(), a, b, count(*) from values (1,2),(1,3) "
                "t(a,b) group by cube(a,b)"),
            (Rows{"grouping(a)|grouping_id(a, b)|grouping_id()|a|b|count(1)", "0|0|0|1|2|1", "0|0|0|1|3|1",
                  "0|1|1|1|NULL|2", "1|2|2|NULL|2|1", "1|2|2|NULL|3|1", "1|3|3|NULL|NULL|2"}));
  EXPECT_EQ(
      run("select a, b, count(*) from values (1,2),(1,3) t(a,b) group by grouping sets ((a),(a),(a,b))"),
      (Rows{"a|b|count(1)", "1|2|1", "1|3|1", "1|NULL|2", "1|NULL|2"}));
  EXPECT_EQ(run("select a, b, sum(c) from values (1,2,3),(1,3,4) t(a,b,c) group by a, rollup(b)"),
            (Rows{"a|b|sum(c)", "1|2|3", "1|3|4", "1|NULL|7"}));
  EXPECT_EQ(run("select a+1, b, sum(a) from values (1,2,3),(1,3,4) t(a,b,c) group by rollup(a+1, b)"),
            (Rows{"(a + 1)|b|sum(a)", "2|2|1", "2|3|1", "2|NULL|2", "NULL|NULL|2"}));
  EXPECT_EQ(run("select a as x, sum(a) s, grouping(a) g from values (1,2,3),(1,3,4),(2,2,2) t(a,b,c) group "
                "by rollup(a) having g = 0"),
            (Rows{"x|s|g", "1|2|0", "2|2|0"}));
  EXPECT_EQ(run("select sum(distinct a) from values (1),(1) t(a) group by grouping sets (())"),
            (Rows{"sum(DISTINCT a)", "1"}));
}

TEST_F(AggregateQueries, GroupingSetsAreSortedByWhatTheyLeaveOut) {
  EXPECT_EQ(run("select a, sum(b) from values (1,2),(2,3) t(a,b) group by rollup(a) order by grouping(a) "
                "desc, sum(a), a",
                false),
            (Rows{"a|sum(b)", "NULL|5", "1|2", "2|3"}));
}

TEST_F(AggregateQueries, GroupingIdsFollowTheSetsOrder) {
  EXPECT_EQ(run("select a, b, grouping_id() from values (1,2) t(a,b) group by grouping sets ((b), (a))"),
            (Rows{"a|b|grouping_id()", "1|NULL|2", "NULL|2|1"}));
}

TEST_F(AggregateQueries, GroupingNeedsGroupingSets) {
  EXPECT_EQ(run("select grouping(a) from values (1) t(a)"), Rows{"UNSUPPORTED_GROUPING_EXPRESSION"});
  EXPECT_EQ(run("select grouping(a) from values (1,2) t(a,b) group by a"),
            Rows{"UNSUPPORTED_GROUPING_EXPRESSION"});
  EXPECT_EQ(run("select grouping(b) from values (1,2) t(a,b) group by rollup(a)"),
            Rows{"GROUPING_COLUMN_MISMATCH"});
}

TEST_F(AggregateQueries, Generators) {
  EXPECT_EQ(run("select explode(array(1,2)), 3"), (Rows{"col|3", "1|3", "2|3"}));
  EXPECT_EQ(run("select posexplode(array(1,2)), 3"), (Rows{"pos|col|3", "0|1|3", "1|2|3"}));
  EXPECT_EQ(run("select explode(map('a',1,'b',2)) as (k, v), 7 z"), (Rows{"k|v|z", "a|1|7", "b|2|7"}));
  EXPECT_EQ(run("select stack(2, 1, 'a', 2) as (x, y)"), (Rows{"x|y", "1|a", "2|NULL"}));
  EXPECT_EQ(run("select explode_outer(array()), 1"), (Rows{"col|1", "NULL|1"}));
  EXPECT_EQ(run("select explode(array(1)), explode(array(2))"), (Rows{"col|col", "1|2"}));
  EXPECT_EQ(run("select explode(collect_list(a)) from values (1),(2) t(a)"), (Rows{"col", "1", "2"}));
  EXPECT_EQ(run("select k, explode(array(max(v))) e, sum(v) from values (1,2),(1,3) t(k,v) group by k"),
            (Rows{"k|e|sum(v)", "1|3|5"}));
  EXPECT_EQ(run("select * from explode(array(1,2))"), (Rows{"col", "1", "2"}));
}

TEST_F(AggregateQueries, LateralViews) {
  const std::string rows = " from values (1, array(1,2)), (2, array()), (3, null) t(a, arr) ";
  EXPECT_EQ(run("select a, e" + rows + "lateral view explode(arr) x as e"), (Rows{"a|e", "1|1", "1|2"}));
  EXPECT_EQ(run("select a, e, p" + rows + "lateral view outer posexplode(arr) x as p, e"),
            (Rows{"a|e|p", "1|1|0", "1|2|1", "2|NULL|NULL", "3|NULL|NULL"}));
  EXPECT_EQ(run("select a, x.e" + rows + "lateral view explode(arr) x as e where a = 1 and e > 1"),
            (Rows{"a|e", "1|2"}));
  EXPECT_EQ(
      run("select * from values (1, array(1,2)), (2, array(3)) t(a, arr), lateral explode(arr) as x(e)"),
      (Rows{"a|arr|e", "1|[1, 2]|1", "1|[1, 2]|2", "2|[3]|3"}));
}

TEST_F(AggregateQueries, GeneratorsStandAlone) {
  EXPECT_EQ(run("select explode(array(1,2)) + 1"), Rows{"UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS"});
  EXPECT_EQ(run("select explode(explode(array(array(1,2))))"),
            Rows{"UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS"});
  EXPECT_EQ(run("select sum(explode(array(1,2)))"), Rows{"UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS"});
  EXPECT_EQ(run("select a from values (1, array(1,2)) t(a, arr) where explode(arr) > 1"),
            Rows{"UNSUPPORTED_GENERATOR.OUTSIDE_SELECT"});
  EXPECT_EQ(run("select posexplode(array(1)) as x"), Rows{"UDTF_ALIAS_NUMBER_MISMATCH"});
  EXPECT_EQ(run("select stack(2, 1, 'a', 'x', 3)"), Rows{"DATATYPE_MISMATCH.STACK_COLUMN_DIFF_TYPES"});
  EXPECT_EQ(run("select explode(a) from values (1) t(a)"), Rows{"DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"});
}

TEST_F(AggregateQueries, Statistics) {
  EXPECT_EQ(
      run("select percentile(id, 0.3), percentile(id, array(0.1, 0.5)), median(id), percentile(id, 0.5, 2) "
          "from range(10)"),
      (Rows{"percentile(id, 0.3, 1)|percentile(id, array(0.1, 0.5), 1)|median(id)|percentile(id, 0.5, 2)",
            "2.6999999999999997|[0.9, 4.5]|4.5|4.5"}));
  EXPECT_EQ(run("select percentile(a, 0.5, f) p from values (1, 2), (5, 3), (9, 1) t(a, f)"),
            (Rows{"p", "5.0"}));
  EXPECT_EQ(run("select percentile(a, 1.5) from values (1) t(a)"),
            Rows{"DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE"});
  EXPECT_EQ(run("select percentile_cont(0.25) within group (order by a desc), percentile_disc(0.25) within "
                "group (order by a), "
                "percentile_disc(0.5) within group (order by a desc) from values (1),(2),(3),(4) t(a)"),
            (Rows{"percentile_cont(0.25) WITHIN GROUP (ORDER BY a DESC)|percentile_disc(0.25) WITHIN GROUP "
                  "(ORDER BY a)|"
                  "percentile_disc(0.5) WITHIN GROUP (ORDER BY a DESC)",
                  "3.25|1.0|3.0"}));
  EXPECT_EQ(
      run("select mode(a, true), mode() within group (order by a desc) from values (1),(2),(3),(3),(2) t(a)"),
      (Rows{"mode() WITHIN GROUP (ORDER BY a DESC)|mode() WITHIN GROUP (ORDER BY a)", "2|3"}));
  EXPECT_EQ(run("select corr(a,b) from values (1d,1d),(1d,1d) t(a,b)"), Rows{"DIVIDE_BY_ZERO"});
  EXPECT_EQ(run("select corr(a,b), regr_r2(a,b), regr_slope(a,b), skewness(a), stddev(a), var_pop(a) from "
                "values (1d,1d) t(a,b)")[1],
            "NULL|NULL|NULL|NULL|NULL|0.0");
  EXPECT_EQ(run("select try_sum(a), try_avg(a) from values (9223372036854775807L),(1L) t(a)")[1],
            "NULL|4.611686018427388E18");
}

// Averages of up to 11 digits are rounded doubles, those of more are exact: sums over many of both kinds.
TEST_F(AggregateQueries, AveragesOfDecimalsRoundAsSparks) {
  EXPECT_EQ(run("select sum(cast(a*1000000 as bigint)) s, count(*) n from (select id % 997 k, "
                "avg(cast(((id*7919)%1000003)/100 as decimal(9,2))) a from range(100000) group by k)"),
            (Rows{"s|n", "4984530681464|997"}));
  EXPECT_EQ(run("select sum(cast(a*10000000 as bigint)) s, count(*) n from (select id % 991 k, "
                "avg(cast(((id*7919)%100000007)/1000 as decimal(11,3))) a from range(100000) group by k)"),
            (Rows{"s|n", "490843337877905|991"}));
  EXPECT_EQ(run("select avg(cast(if(id = 0, 0.01, 0) as decimal(7,2))) a from range(32)"),
            (Rows{"a", "0.000313"}));
}

TEST_F(AggregateQueries, RegressionOfConstants) {
  EXPECT_EQ(run("select regr_r2(a,b) r from values (1d,1d),(1d,2d) t(a,b)"), (Rows{"r", "1.0"}));
  EXPECT_EQ(run("select regr_r2(a,b) r, regr_slope(a,b) s, regr_intercept(a,b) i from values (1d,1d),(2d,1d) "
                "t(a,b)"),
            (Rows{"r|s|i", "NULL|NULL|NULL"}));
}

TEST_F(AggregateQueries, ApproximatePercentiles) {
  EXPECT_EQ(run("select percentile_approx(id, 0.5) a, percentile_approx(id, array(0.1, 0.9, 0.99)) b, "
                "percentile_approx(id, array(0.1,0.5), 10) c, percentile_approx(id, 0.25, 100) d from "
                "range(0, 100000, 1, 1)"),
            (Rows{"a|b|c|d", "49999|[10002, 89990, 98989]|[0, 49999]|24445"}));
  EXPECT_EQ(
      run("select percentile_approx(x, 0.5) a, percentile_approx(x, array(0.0, 0.1, 0.9, 0.99, 1.0), 100) b "
          "from (select (id * 7919) % 100003 x from range(0, 100003, 1, 1))"),
      (Rows{"a|b", "49996|[0, 9272, 89481, 100002, 100002]"}));
  EXPECT_EQ(
      run("select percentile_approx(cast(id as decimal(10,2)), 0.5) a, "
          "percentile_approx(date_add(date'2020-01-01', cast(id as int)), 0.5) c from range(0, 100, 1, 1)"),
      (Rows{"a|c", "49.00|2020-02-19"}));
}

TEST_F(AggregateQueries, ApproximateCountsAreSparks) {
  struct Case {
    int rows;
    const char *count, *fine;  // with a standard deviation of 0.05 and of 0.01
  };
  for (const auto& [rows, count, fine] : std::vector<Case>{{10, "10", "10"},
                                                           {100, "103", nullptr},
                                                           {500, "484", nullptr},
                                                           {1000, "1026", nullptr},
                                                           {2000, "1947", nullptr},
                                                           {3000, "2770", nullptr},
                                                           {10'000, "9571", "9965"},
                                                           {30'000, nullptr, "30053"},
                                                           {60'000, nullptr, "60000"},
                                                           {100'000, "95546", nullptr},
                                                           {1'000'000, "925738", "996123"}}) {
    const std::string range = " c from range(" + std::to_string(rows) + ")";
    if (count) {
      EXPECT_EQ(run("select approx_count_distinct(id)" + range)[1], count) << rows;
    }
    if (fine) {
      EXPECT_EQ(run("select approx_count_distinct(id, 0.01)" + range)[1], fine) << rows;
    }
  }
  EXPECT_EQ(run("select approx_count_distinct(id, 0.39) c from range(100000)")[1], "78139");
  EXPECT_EQ(run("select approx_count_distinct(cast(id as string)) c from range(1000)")[1], "1034");
  EXPECT_EQ(run("select approx_count_distinct(id, 0.5) c from range(10)"), Rows{"FAILED_FUNCTION_CALL"});
}

TEST_F(AggregateQueries, JoinedTexts) {
  EXPECT_EQ(
      run("select listagg(a, ',') within group (order by a desc), listagg(distinct a), string_agg(a, '-') "
          "from values ('x'),('y'),('x'),(null) t(a)"),
      (Rows{"listagg(a, ,) WITHIN GROUP (ORDER BY a DESC NULLS LAST)|listagg(DISTINCT a, NULL)|string_agg(a, "
            "-)",
            "y,x,x|xy|x-y-x"}));
}

TEST_F(AggregateQueries, KeysHaveOneZero) {
  EXPECT_EQ(run("select x, count(*) c from values (-0.0D), (0.0D) t(x) group by x"), (Rows{"x|c", "0.0|2"}));
  EXPECT_EQ(run("select distinct x, n from values (-0.0D, 1), (0.0D, 1) t(x, n)"), (Rows{"x|n", "0.0|1"}));
  EXPECT_EQ(run("select s.x from (select distinct s from values (named_struct('x', -0.0D)) t(s))"), (Rows{"x", "0.0"}));
}

TEST_F(AggregateQueries, KeysThatRollUpTogether) {
  const std::string from = " from values (1, 2), (1, 3) t(a, b) group by ";
  EXPECT_EQ(run("select a, b, count(*) c" + from + "rollup((a, b))"), (Rows{"a|b|c", "1|2|1", "1|3|1", "NULL|NULL|2"}));
  EXPECT_EQ(run("select a, b, count(*) c" + from + "cube((a, b), a)"),
            (Rows{"a|b|c", "1|2|1", "1|2|1", "1|3|1", "1|3|1", "1|NULL|2", "NULL|NULL|2"}));
}

TEST_F(AggregateQueries, TypesOfArguments) {
  EXPECT_EQ(run("select regr_avgx(y, x) a, regr_avgy(y, x) b from values (1.5BD, 2.25BD), (2.5BD, null) t(y, x)"),
            (Rows{"a|b", "2.250000|1.50000"}));
  for (const char* value : {"1.5BD", "1.5D", "'5'"})
    EXPECT_EQ(run(std::string("select bit_or(x) from values (") + value + ") t(x)"), Rows{"DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"}) << value;
  EXPECT_EQ(run("select bit_and(x) c from values (null) t(x)"), (Rows{"c", "NULL"}));
}

TEST_F(AggregateQueries, ValuesThatDifferInWhatMayBeNull) {
  EXPECT_EQ(run("select * from values (array(1)), (array(null)), (null) t(a)", false), (Rows{"a", "[1]", "[null]", "NULL"}));
  EXPECT_EQ(run("select * from values (map('x', 1)), (map('y', null)) t(a)", false), (Rows{"a", "{x -> 1}", "{y -> null}"}));
  EXPECT_EQ(run("select a.x from values (named_struct('x', 1)), (named_struct('x', null)) t(a)", false), (Rows{"x", "1", "NULL"}));
  EXPECT_EQ(run("select a from values (named_struct('x', 1)), (null) t(a)", false), (Rows{"a", "{1}", "NULL"}));
  EXPECT_EQ(run("select a from values (map('k', named_struct('x', 1))), (map('k', null)) t(a)", false), (Rows{"a", "{k -> {1}}", "{k -> null}"}));
  EXPECT_EQ(run("select a from values (array(named_struct('x', 1))), (array(null)) t(a)", false), (Rows{"a", "[{1}]", "[null]"}));
}

}  // namespace
}  // namespace thalweg
