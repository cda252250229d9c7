// Queries as SQL text → relations in compact form (message_printer.h).
#include <gtest/gtest.h>

#include "common/error.h"
#include "spark/connect/relations.pb.h"
#include "sql/message_printer.h"
#include "sql/parser.h"

namespace thalweg::sql {
namespace {

struct Case {
  std::string text;
  std::string expected;
};

void PrintTo(const Case& value, std::ostream* out) { *out << value.text; }

class QueryText : public testing::TestWithParam<Case> {};

TEST_P(QueryText, becomesRelation) { EXPECT_EQ(printedQuery(GetParam().text), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(
    Select, QueryText,
    testing::Values(
        Case{"SELECT 1", "Project[1]()"}, Case{"select a, b c from t;", "Project[a, b AS c](Read t)"},
        Case{"SELECT DISTINCT a FROM t", "Distinct(Project[a](Read t))"},
        Case{"SELECT * FROM db.t WHERE a > 1", "Project[*](Filter[>(a, 1)](Read db.t))"},
        Case{"SELECT start, end FROM t", "Project[start, end](Read t)"},
        Case{"SELECT /*+ COALESCE(1) */ a FROM t", "Hint COALESCE[1](Project[a](Read t))"},
        Case{"SELECT /*+ REPARTITION(3, p), coalesce(2) */ DISTINCT a FROM t",
             "Hint REPARTITION[3, p](Hint coalesce[2](Distinct(Project[a](Read t))))"},
        Case{"SELECT /*+ REBALANCE */ /*+ BROADCAST(t) */ a FROM t",
             "Hint REBALANCE[](Hint BROADCAST[t](Project[a](Read t)))"},
        Case{"SELECT a /*+ COALESCE(1) */ FROM t", "Project[a](Read t)"},
        Case{"SELECT /*+ COALESCE(1 */ a FROM t", "PARSE_SYNTAX_ERROR"},
        Case{"SELECT /*+ COALESCE(1)", "PARSE_SYNTAX_ERROR"},
        Case{"SELECT s.* FROM t", "Project[s.*](Read t)"},
        Case{"SELECT * EXCEPT (a) FROM t", "Project[* EXCEPT a](Read t)"},
        Case{"SELECT a FROM t ORDER BY b DESC, c NULLS LAST LIMIT 2 OFFSET 1",
             "Limit 2(Offset 1(Sort[b DESC, c ASC LAST](Project[a](Read t))))"},
        Case{"SELECT a FROM t SORT BY a", "LocalSort[a ASC](Project[a](Read t))"},
        Case{"SELECT a FROM t LIMIT 1+1", "Limit 2(Project[a](Read t))"},
        Case{"SELECT a FROM t LIMIT ALL", "Project[a](Read t)"},
        Case{"SELECT a FROM t LIMIT -1", "INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE"},
        Case{"SELECT a FROM t LIMIT a", "UNSUPPORTED_FEATURE.THALWEG"},
        Case{"SELECT id FROM t CLUSTER BY id", "LocalSort[id ASC](Repartition[id](Project[id](Read t)))"},
        Case{"SELECT current_catalog() c, 1 AS select_", "Project[current_catalog() AS c, 1 AS select_]()"},
        Case{"SELECT sum(v) OVER w s FROM t WINDOW w AS (PARTITION BY k ORDER BY v)",
             "Project[sum(v) OVER (PARTITION k ORDER v ASC) AS s](Read t)"}));

INSTANTIATE_TEST_SUITE_P(GroupBy, QueryText, testing::Values(
    Case{"SELECT k, count(*) c FROM t GROUP BY k", "Aggregate GROUPBY[k][k, count(*) AS c](Read t)"},
    Case{"SELECT sum(v) FROM t", "Project[sum(v)](Read t)"},
    Case{"SELECT k FROM t GROUP BY 1 HAVING sum(v) > 1", "Aggregate GROUPBY[1][k] HAVING >(sum(v), 1)(Read t)"},
    Case{"SELECT count(*) FROM t HAVING count(*) > 1", "Aggregate UNSPECIFIED[][count(*)] HAVING >(count(*), 1)(Read t)"},
    Case{"SELECT a, b FROM t GROUP BY ROLLUP(a, b)", "Aggregate ROLLUP[a, b][a, b](Read t)"},
    Case{"SELECT a FROM t GROUP BY a WITH CUBE", "Aggregate CUBE[a][a](Read t)"},
    Case{"SELECT a, b FROM t GROUP BY GROUPING SETS ((a, b), a, ())", "Aggregate GROUPING_SETS[]{a, b}{a}{}[a, b](Read t)"},
    Case{"SELECT a, b FROM t GROUP BY a, b GROUPING SETS ((a), (b))", "Aggregate GROUPING_SETS[a, b]{a}{b}[a, b](Read t)"},
    Case{"SELECT a, sum(b) FROM t GROUP BY ALL", "Aggregate GROUPBY ALL[][a, sum(b)](Read t)"},
    Case{"SELECT a FROM t GROUP BY a, ROLLUP(b)", "Aggregate GROUPING_SETS[]{a, b}{a}[a](Read t)"},
    Case{"SELECT a FROM t GROUP BY ROLLUP((a, b), c)", "Aggregate GROUPING_SETS[]{a, b, c}{a, b}{}[a](Read t)"},
    Case{"SELECT a FROM t GROUP BY CUBE((a, b), a)", "Aggregate GROUPING_SETS[]{a, b, a}{a, b}{a}{}[a](Read t)"},
    Case{"SELECT a FROM t GROUP BY ROLLUP((a + b) * c)", "Aggregate ROLLUP[*(+(a, b), c)][a](Read t)"},
    Case{"SELECT a FROM t GROUP BY GROUPING SETS ((a + b) * c, (a))", "Aggregate GROUPING_SETS[]{*(+(a, b), c)}{a}[a](Read t)"},
    Case{"SELECT a FROM t GROUP BY CUBE(a), GROUPING SETS ((b), ())", "Aggregate GROUPING_SETS[]{a, b}{a}{b}{}[a](Read t)"},
    Case{"SELECT a FROM t GROUP BY GROUPING SETS (ROLLUP(a, b), (c))", "Aggregate GROUPING_SETS[]{a, b}{a}{}{c}[a](Read t)"},
    Case{"SELECT window(ts, '5 minutes') w, count(*) FROM STREAM(s) GROUP BY window(ts, '5 minutes')",
         "Aggregate GROUPBY[window(ts, '5 minutes')][window(ts, '5 minutes') AS w, count(*)](Stream s)"}));

INSTANTIATE_TEST_SUITE_P(From, QueryText, testing::Values(
    Case{"SELECT * FROM delta.`/a/b` d", "Project[*](d=Read delta.`/a/b`)"}, Case{"TABLE t", "Read t"},
    Case{"SELECT * FROM t VERSION AS OF 1", "Project[*](Read t versionAsOf=1)"},
    Case{"SELECT * FROM t VERSION AS OF -1", "PARSE_SYNTAX_ERROR"},
    Case{"SELECT * FROM t FOR TIMESTAMP AS OF '2024-01-01' x", "Project[*](x=Read t timestampAsOf=2024-01-01)"},
    Case{"SELECT * FROM t TIMESTAMP AS OF current_timestamp() - interval 1 day",
         "Project[*](Read t timestampAsOfExpression=current_timestamp() - interval 1 day)"},
    Case{"SELECT * FROM (SELECT 1 a) AS s(b)", "Project[*](s=ToDF[b](Project[1 AS a]()))"},
    Case{"SELECT v FROM VALUES (2),(null) t(v)", "Project[v](t=ToDF[v](Values[(2), (NULL)]))"}, Case{"VALUES (1, 'a'), (2, null)", "Values[(1, 'a'), (2, NULL)]"},
    Case{"SELECT * FROM VALUES 1, 2", "Project[*](Values[(1), (2)])"}, Case{"VALUES (1), (1, 2)", "INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH"},
    Case{"SELECT * FROM range(1, 10, 4)", "Project[*](range(1, 10, 4))"}, Case{"SELECT * FROM explode(array(10,20)) AS e(z)", "Project[*](e=ToDF[z](explode(array(10, 20))))"},
    Case{"SELECT * FROM a, b", "Project[*](Join CROSS(Read a, Read b))"}, Case{"SELECT * FROM a JOIN b ON a.x = b.x", "Project[*](Join INNER[==(a.x, b.x)](Read a, Read b))"},
    Case{"SELECT * FROM a x LEFT OUTER JOIN b USING (k, l)", "Project[*](Join LEFT_OUTER USING k, l(x=Read a, Read b))"},
    Case{"SELECT * FROM a RIGHT JOIN b ON p FULL JOIN c ON q", "Project[*](Join FULL_OUTER[q](Join RIGHT_OUTER[p](Read a, Read b), Read c))"},
    Case{"SELECT * FROM a LEFT SEMI JOIN b ON p LEFT ANTI JOIN c ON q", "Project[*](Join LEFT_ANTI[q](Join LEFT_SEMI[p](Read a, Read b), Read c))"},
    Case{"SELECT * FROM a CROSS JOIN b", "Project[*](Join CROSS(Read a, Read b))"}, Case{"SELECT * FROM a NATURAL JOIN b", "Project[*](NaturalJoin INNER(Read a, Read b))"},
    Case{"SELECT * FROM (a JOIN b ON p) x", "Project[*](x=Join INNER[p](Read a, Read b))"},
    Case{"SELECT * FROM t LATERAL VIEW OUTER explode(xs) e AS x", "Project[*](Lateral LEFT_OUTER(Read t, e=ToDF[x](explode(xs))))"},
    Case{"SELECT a, b FROM t LATERAL VIEW explode(p) AS a LATERAL VIEW explode(q) AS b",
         "Project[a, b](Lateral INNER(Lateral INNER(Read t, ToDF[a](explode(p))), ToDF[b](explode(q))))"},
    Case{"SELECT * FROM t, LATERAL (SELECT t.x)", "Project[*](Lateral INNER(Read t, Project[t.x]()))"},
    Case{"SELECT * FROM t TABLESAMPLE (10 ROWS)", "UNSUPPORTED_FEATURE.THALWEG"}, Case{"SELECT * FROM t PIVOT (sum(v) FOR q IN ('x'))", "UNSUPPORTED_FEATURE.THALWEG"},
    Case{"FROM t SELECT *", "UNSUPPORTED_FEATURE.THALWEG"}));

INSTANTIATE_TEST_SUITE_P(SetOperations, QueryText, testing::Values(
    Case{"SELECT 1 UNION ALL SELECT 2", "UNION ALL(Project[1](), Project[2]())"},
    Case{"SELECT 1 UNION SELECT 2 INTERSECT SELECT 3", "UNION(Project[1](), INTERSECT(Project[2](), Project[3]()))"},
    Case{"SELECT 1 EXCEPT ALL SELECT 2 MINUS SELECT 3", "EXCEPT(EXCEPT ALL(Project[1](), Project[2]()), Project[3]())"},
    Case{"(SELECT 1 a UNION ALL SELECT 2) EXCEPT SELECT 2 ORDER BY a", "Sort[a ASC](EXCEPT(UNION ALL(Project[1 AS a](), Project[2]()), Project[2]()))"},
    Case{"SELECT * FROM ((SELECT 1) UNION (SELECT 2))", "Project[*](UNION(Project[1](), Project[2]()))"}));

INSTANTIATE_TEST_SUITE_P(Subqueries, QueryText, testing::Values(
    Case{"SELECT (SELECT max(x) FROM t) m", "With(Project[SCALAR#0() AS m](); #0=Project[max(x)](Read t))"},
    Case{"SELECT ((SELECT 1) + 1)", "With(Project[+(SCALAR#0(), 1)](); #0=Project[1]())"},
    Case{"SELECT x FROM t WHERE x NOT IN (SELECT y FROM u)", "With(Project[x](Filter[not(IN#0(x))](Read t)); #0=Project[y](Read u))"},
    Case{"SELECT x FROM t WHERE (x, z) IN (SELECT y, w FROM u)", "With(Project[x](Filter[IN#0(x, z)](Read t)); #0=Project[y, w](Read u))"},
    Case{"SELECT x FROM t WHERE EXISTS (SELECT 1 FROM u)", "With(Project[x](Filter[EXISTS#0()](Read t)); #0=Project[1](Read u))"},
    Case{"SELECT exists(xs, x -> x > 1) FROM t", "Project[exists(xs, (x) -> >($x, 1))](Read t)"},
    Case{"WITH a(p, q) AS (SELECT 1, 2) SELECT q FROM a", "With(Project[q](Read a); a=ToDF[p, q](Project[1, 2]()))"},
    Case{"WITH a AS (WITH b AS (SELECT 5 z) SELECT z FROM b), c AS (SELECT * FROM a) SELECT * FROM c",
         "With(Project[*](Read c); a=With(Project[z](Read b); b=Project[5 AS z]()); c=Project[*](Read a))"},
    Case{"WITH RECURSIVE r AS (SELECT 1) SELECT * FROM r", "UNSUPPORTED_FEATURE.THALWEG"}));

INSTANTIATE_TEST_SUITE_P(Errors, QueryText, testing::Values(
    Case{"SELEC 1", "PARSE_SYNTAX_ERROR"}, Case{"SELECT (1", "PARSE_SYNTAX_ERROR"}, Case{"SELECT @x", "PARSE_SYNTAX_ERROR"},
    Case{"SELECT a FROM", "PARSE_SYNTAX_ERROR"}, Case{"SELECT FROM t", "PARSE_SYNTAX_ERROR"}, Case{"SELECT a FROM t WHERE", "PARSE_SYNTAX_ERROR"},
    Case{"SELECT a FROM t GROUP a", "PARSE_SYNTAX_ERROR"}, Case{"", "PARSE_EMPTY_STATEMENT"},
    Case{"SELECT sum(v) OVER (w ROWS 1 PRECEDING) s FROM t WINDOW w AS (ORDER BY v)", "PARSE_SYNTAX_ERROR"},
    Case{"SELECT a FROM t |> WHERE a", "UNSUPPORTED_FEATURE.THALWEG"}));

// The places that Spark names for these texts ("near '@'", pos 7).
TEST(QueryErrors, nameThePlaceAsSparkDoes) {
  const auto near = [](const std::string& text) {
    spark::connect::Relation relation;
    try {
      parseQuery(text, &relation);
    } catch (const Error& error) {
      return error.parameters().at("error") + "@" + std::to_string(error.queryContext()->startIndex);
    }
    return std::string();
  };
  EXPECT_EQ(near("SELEC 1"), "'SELEC'@0");
  EXPECT_EQ(near("SELECT (1"), "end of input@9");
  EXPECT_EQ(near("SELECT @x"), "'@'@7");
}

TEST(QueryBounds, holdForNesting) {
  std::string nested = "SELECT 1", chain = "SELECT 1";
  for (int i = 0; i < 300; ++i) nested = "SELECT * FROM (" + nested + ")";
  for (int i = 0; i < 3000; ++i) chain += " UNION ALL SELECT 1";
  EXPECT_EQ(printedQuery(nested), "TOO_DEEPLY_NESTED");
  EXPECT_EQ(printedQuery(chain), "TOO_DEEPLY_NESTED");
  EXPECT_EQ(printedQuery(std::string(3000, '(') + "SELECT 1" + std::string(3000, ')')), "TOO_DEEPLY_NESTED");
  std::string grouped = "t";
  for (int i = 0; i < 50; ++i) grouped = "(SELECT a FROM " + grouped + " GROUP BY a)";
  EXPECT_EQ(printedQuery("SELECT a FROM " + grouped).substr(0, 27), "Project[a](Aggregate GROUPB");
}

}  // namespace
}  // namespace thalweg::sql
