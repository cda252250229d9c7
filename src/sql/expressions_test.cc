// Expressions as SQL text → messages in compact form (message_printer.h). Function names are those of PySpark's Column.
#include <gtest/gtest.h>

#include "common/error.h"
#include "spark/connect/expressions.pb.h"
#include "sql/lexer.h"
#include "sql/message_printer.h"
#include "sql/parser.h"

namespace thalweg::sql {
namespace {

struct Case {
  std::string text;
  std::string expected;
};

void PrintTo(const Case& value, std::ostream* out) { *out << value.text; }

class ExpressionText : public testing::TestWithParam<Case> {};

TEST_P(ExpressionText, becomesMessage) { EXPECT_EQ(printedExpression(GetParam().text), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(Literals, ExpressionText, testing::Values(
    Case{"1", "1"}, Case{"-1", "-1"}, Case{"2147483647", "2147483647"}, Case{"2147483648", "2147483648L"},
    Case{"-2147483648", "-2147483648"}, Case{"-9223372036854775808", "-9223372036854775808L"},
    Case{"9223372036854775808", "9223372036854775808:decimal(19,0)"}, Case{"1L", "1L"}, Case{"7S", "7S"}, Case{"7y", "7Y"},
    Case{"128Y", "INVALID_NUMERIC_LITERAL_RANGE"}, Case{"1.5", "1.5:decimal(2,1)"}, Case{"1.50", "1.50:decimal(3,2)"},
    Case{"0.05", "0.05:decimal(2,2)"}, Case{".5", "0.5:decimal(1,1)"}, Case{"1.", "1:decimal(1,0)"},
    Case{"1.5BD", "1.5:decimal(2,1)"}, Case{"1e3BD", "1000:decimal(4,0)"}, Case{"1.5D", "1.5D"}, Case{"2F", "2F"},
    Case{"1e3", "1000D"}, Case{"1E-2", "0.01D"}, Case{"1e10d", "10000000000D"}, Case{"1a", "1a"}, Case{"1_000", "1_000"},
    Case{"NULL", "NULL"}, Case{"True", "true"}, Case{"X'1F'", "X'1F'"}, Case{"x'F'", "X'0F'"},
    Case{"X'zz'", "INVALID_TYPED_LITERAL"},
    Case{"'a' 'b'", "'ab'"}, Case{"\"q\"", "'q'"}, Case{"'it''s'", "'it's'"}, Case{R"('\t\n\\\'')", "'\t\n\\''"},
    Case{R"('\u00e9\101')", "'\xC3\xA9" "A'"}, Case{R"('\ud83d\ude00')", "'\xF0\x9F\x98\x80'"},
    Case{R"('a\ud800')", "'a?'"}, Case{R"('\ude00\ud83d\u0041')", "'??A'"}, Case{R"('\U0000d800')", "'?'"},
    Case{R"('100\%')", "'100\\%'"}, Case{R"(r'\n')", "'\\n'"},
    Case{"date'2024-01-01'", "date:19723"}, Case{"DATE '1970-1-2'", "date:1"}, Case{"date'2024-13-01'", "INVALID_TYPED_LITERAL"},
    Case{"date'2023-02-29'", "INVALID_TYPED_LITERAL"}, Case{"date'0001-01-01'", "date:-719162"},
    Case{"timestamp'1970-01-01 00:00:01.5'", "timestamp:1500000"},
    Case{"timestamp'1970-01-01T01:00:00+01:00'", "timestamp:0"}, Case{"TIMESTAMP_NTZ'1970-01-01 00:00:01'", "ntz:1000000"},
    Case{"timestamp'nope'", "INVALID_TYPED_LITERAL"}));

INSTANTIATE_TEST_SUITE_P(Intervals, ExpressionText, testing::Values(
    Case{"interval '1' day", "micros:86400000000(0-0)"}, Case{"INTERVAL 10 minutes", "micros:600000000(2-2)"},
    Case{"interval '1 day 2 hours'", "micros:93600000000(0-1)"}, Case{"interval 1 day 2 hours", "micros:93600000000(0-1)"},
    Case{"interval -3 days", "micros:-259200000000(0-0)"}, Case{"interval '-1' second", "micros:-1000000(3-3)"},
    Case{"interval '1.5' second", "micros:1500000(3-3)"}, Case{"interval 2 weeks", "micros:1209600000000(0-0)"},
    Case{"interval '2:30' hour to minute", "micros:9000000000(1-2)"},
    Case{"interval '1 02:03:04.5' day to second", "micros:93784500000(0-3)"},
    Case{"interval '3-4' year to month", "months:40(0-1)"}, Case{"interval '-1-1' year to month", "months:-13(0-1)"},
    Case{"interval 13 month", "months:13(1-1)"}, Case{"interval '7' millisecond", "micros:7000(3-3)"},
    Case{"interval '1 year 3 months -2 weeks'", "_LEGACY_ERROR_TEMP_0029"}, Case{"interval 'nope'", "INVALID_TYPED_LITERAL"},
    Case{"ts + interval 10 minutes", "+(ts, micros:600000000(2-2))"}, Case{"interval 1 day - x", "-(micros:86400000000(0-0), x)"},
    Case{"interval + 1", "+(interval, 1)"}, Case{"interval", "interval"}));

INSTANTIATE_TEST_SUITE_P(Precedence, ExpressionText, testing::Values(
    Case{"1 + 2 * 3", "+(1, *(2, 3))"}, Case{"(1 + 2) * 3", "*(+(1, 2), 3)"}, Case{"a - b - c", "-(-(a, b), c)"},
    Case{"a / b % c div d", "div(%(/(a, b), c), d)"}, Case{"-a * b", "*(negative(a), b)"}, Case{"- -1", "negative(-1)"},
    Case{"+a", "positive(a)"}, Case{"~a + b", "+(~(a), b)"}, Case{"a || b + c", "+(concat(a, b), c)"},
    Case{"a | b ^ c & d << e", "|(a, ^(b, &(c, shiftleft(d, e))))"}, Case{"a >> 1 >>> 2", "shiftrightunsigned(shiftright(a, 1), 2)"},
    Case{"a or b and not c = d", "or(a, and(b, not(==(c, d))))"}, Case{"not a and b", "and(not(a), b)"},
    Case{"a = b is null", "isNull(==(a, b))"}, Case{"a < b = c", "==(<(a, b), c)"}, Case{"a + 1 > b | c", ">(+(a, 1), |(b, c))"},
    Case{"a and b and c and d", "and(and(a, b), and(c, d))"}, Case{"a between 1 and 2 and b", "and(between(a, 1, 2), b)"},
    Case{"-1::string", "CAST(-1 AS string)"}, Case{"-a::int", "negative(CAST(a AS int))"}, Case{"a - 1", "-(a, 1)"},
    Case{"a -1", "-(a, 1)"}, Case{"2 - -1", "-(2, -1)"}, Case{"! a", "not(a)"}));

INSTANTIATE_TEST_SUITE_P(Predicates, ExpressionText, testing::Values(
    Case{"a == b", "==(a, b)"}, Case{"a <> b", "not(==(a, b))"}, Case{"a != b", "not(==(a, b))"}, Case{"a <=> b", "<=>(a, b)"},
    Case{"a !> b", "<=(a, b)"}, Case{"a in (1, 2)", "in(a, 1, 2)"}, Case{"a not in (1)", "not(in(a, 1))"},
    Case{"a in (select 1)", "UNSUPPORTED_FEATURE.THALWEG"}, Case{"a like 'x%'", "like(a, 'x%')"},
    Case{"a not like 'x' escape '/'", "not(like(a, 'x', '/'))"}, Case{"a like 'x' escape 'ab'", "INVALID_ESCAPE_CHAR"},
    Case{"a ilike 'x'", "ilike(a, 'x')"}, Case{"a rlike 'x'", "rlike(a, 'x')"}, Case{"a regexp 'x'", "rlike(a, 'x')"},
    Case{"a like any ('x', 'y')", "or(like(a, 'x'), like(a, 'y'))"}, Case{"a like all ('x', 'y')", "and(like(a, 'x'), like(a, 'y'))"},
    Case{"a is not null", "isNotNull(a)"}, Case{"a is true", "<=>(a, true)"}, Case{"a is not false", "not(<=>(a, false))"},
    Case{"a is unknown", "isNull(a)"}, Case{"a is distinct from b", "not(<=>(a, b))"}, Case{"a is not distinct from b", "<=>(a, b)"},
    Case{"a not between 1 and 2", "not(between(a, 1, 2))"}));

INSTANTIATE_TEST_SUITE_P(Primaries, ExpressionText, testing::Values(
    Case{"a.b.c", "a.b.c"}, Case{"`a b`.c", "`a b`.c"}, Case{"`a``b`", "`a``b`"}, Case{"a[0].b", "a[0]['b']"},
    Case{"f(x).b", "f(x)['b']"}, Case{"(a).b", "a['b']"}, Case{"*", "*"}, Case{"t.*", "t.*"}, Case{"* except (a, b.c)", "* EXCEPT a, b.c"},
    Case{"cast(a as array<struct<x:int>>)", "CAST(a AS array<struct<x:int>>)"}, Case{"try_cast(a as decimal(10, 2))", "TRY_CAST(a AS decimal(10,2))"},
    Case{"a::map<string,array<int>>", "CAST(a AS map<string,array<int>>)"}, Case{"cast(a as nope)", "UNSUPPORTED_DATATYPE"},
    Case{"case when a then 1 when b then 2 else 3 end", "when(a, 1, b, 2, 3)"}, Case{"case x when 1 then 'a' end", "when(==(x, 1), 'a')"},
    Case{"CASE WHEN k = 'a' THEN '2 minutes' ELSE '10 minutes' END", "when(==(k, 'a'), '2 minutes', '10 minutes')"},
    Case{"(1, a)", "struct(1, a)"}, Case{"struct(1 as x, b)", "struct(1 AS x, b)"}, Case{"count(*)", "count(*)"},
    Case{"count(distinct a, b)", "count(DISTINCT a, b)"}, Case{"sum(a) filter (where b > 1)", "sum(a) FILTER >(b, 1)"},
    Case{"first(a ignore nulls)", "first(a, true)"}, Case{"lead(a) ignore nulls over (order by b)", "lead(a) IGNORE NULLS OVER (ORDER b ASC)"},
    Case{"percentile_cont(0.5) within group (order by v desc)", "percentile_cont(0.5:decimal(1,1)) WITHIN v DESC"},
    Case{"f(k => 1, v => x)", "f(k => 1, v => x)"}, Case{"transform(xs, x -> x + y)", "transform(xs, (x) -> +($x, y))"},
    Case{"aggregate(xs, 0, (acc, x) -> acc + x.v)", "aggregate(xs, 0, (acc, x) -> +($acc, $x.v))"},
    Case{"db.f(1)", "call db.f(1)"}, Case{"extract(year from ts)", "extract('year', ts)"}, Case{"substring(a from 2 for 3)", "substring(a, 2, 3)"},
    Case{"substr(a, 2)", "substr(a, 2)"}, Case{"trim(both 'x' from a)", "trim('x', a)"}, Case{"trim(leading from a)", "ltrim(a)"},
    Case{"trim(a)", "trim(a)"}, Case{"position('a' in b)", "position('a', b)"}, Case{"overlay(a placing b from 3)", "overlay(a, b, 3)"},
    Case{"timestampadd(HOUR, 1, ts)", "timestampadd('HOUR', 1, ts)"}, Case{"datediff(a, b)", "datediff(a, b)"},
    Case{"current_date", "current_date()"}, Case{"CURRENT_TIMESTAMP", "current_timestamp()"}, Case{"a as b", "a AS b"}, Case{"a b", "a AS b"},
    Case{"f(x) as (p, q)", "f(x) AS p+q"}, Case{"end", "end"}, Case{"date", "date"}, Case{"timestamp(a)", "timestamp(a)"},
    Case{"left(a, 1)", "left(a, 1)"}, Case{"identifier('a.b')", "a.b"}, Case{"a /* c /* n */ */ + -- tail\n b", "+(a, b)"},
    Case{"if(a, 1, 2)", "if(a, 1, 2)"}, Case{"map('k', 1)['k']", "map('k', 1)['k']"}, Case{"filter(xs, x -> x > 1)", "filter(xs, (x) -> >($x, 1))"},
    Case{"grouping(a)", "grouping(a)"}, Case{"window(ts, '5 minutes').start", "window(ts, '5 minutes')['start']"}));

INSTANTIATE_TEST_SUITE_P(Windows, ExpressionText, testing::Values(
    Case{"rank() over (partition by k order by v desc)", "rank() OVER (PARTITION k ORDER v DESC)"},
    Case{"sum(v) over ()", "sum(v) OVER ()"}, Case{"sum(v) over (order by v rows 1 preceding)", "sum(v) OVER (ORDER v ASC ROWS -1..CURRENT)"},
    Case{"sum(v) over (order by v rows between unbounded preceding and 2 following)", "sum(v) OVER (ORDER v ASC ROWS UNBOUNDED..2)"},
    Case{"sum(v) over (order by v range between interval 1 day preceding and current row)",
         "sum(v) OVER (ORDER v ASC RANGE negative(micros:86400000000(0-0))..CURRENT)"},
    Case{"sum(v) over w", "MISSING_WINDOW_SPECIFICATION"}));

INSTANTIATE_TEST_SUITE_P(Errors, ExpressionText, testing::Values(
    Case{"", "PARSE_EMPTY_STATEMENT"}, Case{"  -- x", "PARSE_EMPTY_STATEMENT"}, Case{"a +", "PARSE_SYNTAX_ERROR"}, Case{"(a", "PARSE_SYNTAX_ERROR"},
    Case{"a b c", "PARSE_SYNTAX_ERROR"}, Case{"'abc", "PARSE_SYNTAX_ERROR"}, Case{"a /* x", "UNCLOSED_BRACKETED_COMMENT"},
    Case{":p", "UNBOUND_SQL_PARAMETER"}, Case{"?", "UNBOUND_SQL_PARAMETER"}, Case{"a is null is null", "PARSE_SYNTAX_ERROR"},
    Case{"case end", "PARSE_SYNTAX_ERROR"}, Case{"a = and", "PARSE_SYNTAX_ERROR"}));

TEST(ExpressionErrors, nameThePlace) {
  spark::connect::Expression expression;
  try {
    parseExpression("a +\n  ) b", &expression);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.condition(), "PARSE_SYNTAX_ERROR");
    EXPECT_EQ(error.sqlState(), "42601");
    EXPECT_EQ(error.parameters().at("error"), "')'");
    EXPECT_EQ(error.text(), "Syntax error at or near ')' (line 2, pos 2).");
    ASSERT_TRUE(error.queryContext());
    EXPECT_EQ(error.queryContext()->startIndex, 6);
    EXPECT_EQ(error.queryContext()->stopIndex, 6);
  }
  try {
    parseExpression("a +", &expression);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.parameters().at("error"), "end of input");
    EXPECT_EQ(error.queryContext()->startIndex, 3);
  }
}

TEST(ExpressionOrigin, isTheSourceRange) {
  spark::connect::Expression expression;
  parseExpression("x + foo(y)", &expression);
  const auto& call = expression.unresolved_function().arguments(1).common().origin().jvm_origin();
  EXPECT_EQ(call.start_index(), 4);
  EXPECT_EQ(call.stop_index(), 9);
}

TEST(ExpressionBounds, holdForNestingAndChains) {
  EXPECT_EQ(printedExpression(std::string(2000, '(') + "1" + std::string(2000, ')')), "TOO_DEEPLY_NESTED");
  std::string chain = "1", conditions = "a";
  for (int i = 0; i < 5000; ++i) {
    chain += "+1";
    conditions += " and a";
  }
  EXPECT_EQ(printedExpression(chain), "TOO_DEEPLY_NESTED");
  EXPECT_EQ(printedExpression(conditions).substr(0, 4), "and(");
  EXPECT_EQ(printedExpression(std::string(450, '(') + "1" + std::string(450, ')')), "1");
  EXPECT_EQ(printedExpression(std::string(kMaxTextBytes + 1, ' ')), "SQL_TEXT_TOO_LONG");
  EXPECT_EQ(printedExpression(std::string(5000, '-') + "1"), "PARSE_EMPTY_STATEMENT");
  EXPECT_EQ(printedExpression(std::string(5000, '~') + "1"), "TOO_DEEPLY_NESTED");
}

TEST(Parameters, areCopiedInPlace) {
  spark::connect::Expression one, text, expression;
  one.mutable_literal()->set_integer(1);
  text.mutable_literal()->set_string("t");
  ParseOptions options;
  options.namedArguments = {{"a", &one}};
  options.positionalArguments = {&text};
  parseExpression(":a + length(?)", &expression, options);
  EXPECT_EQ(printed(expression), "+(1, length('t'))");
}

TEST(Identifiers, splitAndJoin) {
  EXPECT_EQ(parseMultipartIdentifier("a.`b.c`.`d``e`"), (std::vector<std::string>{"a", "b.c", "d`e"}));
  EXPECT_EQ(unparsedIdentifier({"a", "b.c", "d`e"}), "a.`b.c`.`d``e`");
  EXPECT_EQ(parseTableName("delta.`/x/y`"), (std::vector<std::string>{"delta", "/x/y"}));
  EXPECT_THROW(parseTableName("a.b.c.d"), Error);
  EXPECT_THROW(parseMultipartIdentifier("a..b"), Error);
}

}  // namespace
}  // namespace thalweg::sql
