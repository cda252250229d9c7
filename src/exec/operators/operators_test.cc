// Operators over small inputs, through the planner: rows in, rows out.
#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <gtest/gtest.h>

#include "exec/planner/planner.h"
#include "expr/cast/value_text.h"
#include "expr/time_window.h"
#include "functions/registry.h"
#include "plan/analyze/relations.h"
#include "plan/optimize/optimizer.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

using OptionalLong = std::optional<int64_t>;
using OptionalText = std::optional<std::string>;

const SchemaPtr& pairSchema() {
  static const SchemaPtr schema = DataType::structOf({{"k", stringType()}, {"v", longType()}});
  return schema;
}

std::shared_ptr<arrow::RecordBatch> pairs(const std::vector<std::pair<OptionalText, OptionalLong>>& rows) {
  arrow::StringBuilder keys;
  arrow::Int64Builder values;
  for (const auto& [key, value] : rows) {
    throwIfFailed(key ? keys.Append(*key) : keys.AppendNull());
    throwIfFailed(value ? values.Append(*value) : values.AppendNull());
  }
  return arrow::RecordBatch::Make(toArrowSchema(*pairSchema()), static_cast<int64_t>(rows.size()),
                                  {valueOrThrow(keys.Finish()), valueOrThrow(values.Finish())});
}

class OperatorsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(arrow::compute::Initialize().ok()); }

  static LogicalPtr table(std::vector<std::shared_ptr<arrow::RecordBatch>> batches) {
    return std::make_shared<LogicalLocalRelation>(attributesOf(*pairSchema()), std::move(batches));
  }
  static ExpressionPtr call(std::string_view name, std::vector<ExpressionPtr> arguments) {
    return resolveFunction({name, std::move(arguments)}, FunctionContext());
  }

  // One text a row: its values as show() prints them, joined by '|'.
  std::vector<std::string> run(const LogicalPtr& plan) {
    Execution execution;
    execution.pool = &pool_;
    const PhysicalPtr physical = planPhysical(optimize(plan), execution.batch);
    const auto running = physical->start(execution);
    std::vector<std::string> rows;
    for (const auto& batch : collectAll(*running, execution)) {
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        std::string text;
        for (int column = 0; column < batch->num_columns(); ++column) {
          if (column) text += "|";
          if (batch->column(column)->IsNull(row)) text += "NULL";
          else ValueText(*physical->schema()->fields()[static_cast<size_t>(column)].type, TimeZone()).append(*batch->column(column), row, &text);
        }
        rows.push_back(std::move(text));
      }
    }
    return rows;
  }

  TaskPool pool_{2};
  using Rows = std::vector<std::string>;
};

// Spark's: windows count from 1970-01-01 in UTC whatever the zone, hold their start and not their end, and the latest comes
// first; a slide need not divide the length.
TEST_F(OperatorsTest, WindowsOfATime) {
  struct Case {
    std::string time;  // seconds since the epoch
    TimeWindowSpec seconds;
    Rows expected;  // start|end
  };
  for (const Case& one : std::vector<Case>{{"12", {10, 10, 0}, {"10|20"}},
                                           {"10", {10, 10, 0}, {"10|20"}},
                                           {"-1", {10, 10, 0}, {"-10|0"}},
                                           {"12", {10, 10, 3}, {"3|13"}},
                                           {"2", {10, 10, -3}, {"-3|7"}},
                                           {"12", {10, 5, 0}, {"10|20", "5|15"}},
                                           {"10", {7, 3, 0}, {"9|16", "6|13"}},
                                           {"12", {7, 3, 0}, {"12|19", "9|16", "6|13"}},
                                           {"", {10, 5, 0}, {}}}) {
    constexpr int64_t kSecond = 1'000'000;
    const ExpressionPtr time = one.time.empty()
                                   ? Literal::null(timestampType())
                                   : std::make_shared<Literal>(std::make_shared<arrow::TimestampScalar>(std::stoll(one.time) * kSecond,
                                                                                                         toArrowType(*timestampType())),
                                                               timestampType());
    std::vector<ExpressionPtr> list = {std::make_shared<Alias>(
        std::make_shared<TimeWindow>(
            time, TimeWindowSpec{one.seconds.duration * kSecond, one.seconds.slide * kSecond, one.seconds.start * kSecond}),
        "w")};
    LogicalPtr child = placeTimeWindows(&list, table({pairs({{"a", 1}})}));
    const auto field = [&](int ordinal) {
      return std::make_shared<Alias>(call("unix_seconds", {std::make_shared<FieldAccess>(list[0]->children()[0], ordinal)}), "s");
    };
    EXPECT_EQ(run(std::make_shared<LogicalProject>(std::vector<ExpressionPtr>{field(0), field(1)}, child)), one.expected) << one.time;
  }
}

TEST_F(OperatorsTest, FilterKeepsTrueAloneAndProjectComputes) {
  const LogicalPtr input = table({pairs({{"a", 1}, {"b", std::nullopt}, {"c", 3}})});
  const LogicalPtr filtered = std::make_shared<LogicalFilter>(call(">", {input->output()[1], Literal::of(int64_t{1})}), input);
  const LogicalPtr projected = std::make_shared<LogicalProject>(
      std::vector<ExpressionPtr>{std::make_shared<Alias>(call("+", {input->output()[1], Literal::of(int64_t{10})}), "x")}, filtered);
  EXPECT_EQ(run(projected), (Rows{"13"}));
}

TEST_F(OperatorsTest, GroupsNullsTogetherAndCountsOnlyValues) {
  const LogicalPtr input = table({pairs({{"a", 1}, {std::nullopt, 2}, {"a", std::nullopt}}), pairs({{std::nullopt, 4}, {"b", 5}})});
  const LogicalPtr grouped = makeAggregate({input->output()[0]},
                                           {input->output()[0], named(call("count", {input->output()[1]})), named(call("sum", {input->output()[1]}))}, input);
  const LogicalPtr sorted = std::make_shared<LogicalSort>(std::vector<ExpressionPtr>{sortOrder(grouped->output()[0], true, std::nullopt)}, true, grouped);
  EXPECT_EQ(run(sorted), (Rows{"NULL|2|6", "a|1|1", "b|1|5"}));
}

TEST_F(OperatorsTest, AnAggregateWithoutGroupsHasOneRowEvenOverNothing) {
  const LogicalPtr input = table({});
  const LogicalPtr total = makeAggregate({}, {named(call("count", {Literal::of(1)})), named(call("sum", {input->output()[1]}))}, input);
  EXPECT_EQ(run(total), (Rows{"0|NULL"}));
}

TEST_F(OperatorsTest, TheSameAggregateIsComputedOnce) {
  const LogicalPtr input = table({pairs({{"a", 1}, {"a", 2}})});
  const ExpressionPtr sum = call("sum", {input->output()[1]});
  const LogicalPtr total = makeAggregate({}, {std::make_shared<Alias>(call("+", {sum, call("sum", {input->output()[1]})}), "twice")}, input);
  EXPECT_EQ(run(total), (Rows{"6"}));
  EXPECT_EQ(physicalTreeString(*planPhysical(total, BatchContext())).find("sum(v), sum(v)"), std::string::npos);
}

TEST_F(OperatorsTest, SortsByEachKeysOwnDirection) {
  const LogicalPtr input = table({pairs({{"b", 1}, {"a", 2}}), pairs({{"a", std::nullopt}, {"a", 3}, {std::nullopt, 9}})});
  const LogicalPtr sorted = std::make_shared<LogicalSort>(
      std::vector<ExpressionPtr>{sortOrder(input->output()[0], true, std::nullopt), sortOrder(input->output()[1], false, std::nullopt)}, true, input);
  EXPECT_EQ(run(sorted), (Rows{"NULL|9", "a|3", "a|2", "a|NULL", "b|1"}));
  const LogicalPtr nullsLast = std::make_shared<LogicalSort>(std::vector<ExpressionPtr>{sortOrder(input->output()[1], true, false)}, true, input);
  EXPECT_EQ(run(std::make_shared<LogicalLimit>(2, 0, false, nullsLast)), (Rows{"b|1", "a|2"}));
}

TEST_F(OperatorsTest, LimitOffsetAndTailCountAcrossBatches) {
  const LogicalPtr input = table({pairs({{"a", 1}, {"b", 2}}), pairs({{"c", 3}, {"d", 4}})});
  EXPECT_EQ(run(std::make_shared<LogicalLimit>(2, 1, false, input)), (Rows{"b|2", "c|3"}));
  EXPECT_EQ(run(std::make_shared<LogicalLimit>(0, 0, false, input)), Rows{});
  EXPECT_EQ(run(std::make_shared<LogicalLimit>(-1, 3, false, input)), (Rows{"d|4"}));
  EXPECT_EQ(run(std::make_shared<LogicalLimit>(3, 0, true, input)), (Rows{"b|2", "c|3", "d|4"}));
}

TEST_F(OperatorsTest, UnionWidensTypesByPosition) {
  const LogicalPtr left = table({pairs({{"a", 1}})});
  const LogicalPtr doubles = std::make_shared<LogicalProject>(
      std::vector<ExpressionPtr>{left->output()[0], std::make_shared<Alias>(Literal::of(0.5), "w")}, left);
  const LogicalPtr both = makeUnion({left, doubles}, FunctionContext());
  EXPECT_EQ(schemaOf(*both)->simpleString(), "struct<k:string,v:double>");
  EXPECT_EQ(run(both), (Rows{"a|1.0", "a|0.5"}));
}

TEST_F(OperatorsTest, DeduplicateKeepsTheFirstRowOfAKey) {
  const LogicalPtr input = table({pairs({{"a", 1}, {"b", 2}, {"a", 3}}), pairs({{std::nullopt, 4}, {"b", 5}, {std::nullopt, 6}})});
  EXPECT_EQ(run(std::make_shared<LogicalDeduplicate>(std::vector{input->output()[0]}, input)), (Rows{"a|1", "b|2", "NULL|4"}));
}

TEST_F(OperatorsTest, ARangeEndsBeforeItsEndInBothDirections) {
  auto id = [] { return std::vector<AttributePtr>{std::make_shared<Attribute>("id", longType(), false, nextExpressionId())}; };
  EXPECT_EQ(run(std::make_shared<LogicalRange>(0, 5, 2, 3, id())), (Rows{"0", "2", "4"}));
  EXPECT_EQ(run(std::make_shared<LogicalRange>(3, 0, -1, 2, id())), (Rows{"3", "2", "1"}));
  EXPECT_EQ(run(std::make_shared<LogicalRange>(5, 5, 1, 2, id())), Rows{});
  EXPECT_EQ(run(std::make_shared<LogicalRange>(0, 5, -1, 2, id())), Rows{});
}

// CASE WHEN v <> 0 THEN 10 / v END never divides by zero, and neither does a filter's right side.
TEST_F(OperatorsTest, ErrorsCountOnlyForSelectedRows) {
  const LogicalPtr input = table({pairs({{"a", 0}, {"b", 5}})});
  const ExpressionPtr v = input->output()[1];
  const ExpressionPtr notZero = call("not", {call("==", {v, Literal::of(int64_t{0})})});
  const ExpressionPtr guarded = call("when", {notZero, call("div", {Literal::of(int64_t{10}), v})});
  EXPECT_EQ(run(std::make_shared<LogicalProject>(std::vector<ExpressionPtr>{named(guarded)}, input)), (Rows{"NULL", "2"}));
  const ExpressionPtr both = call("and", {notZero, call(">", {call("div", {Literal::of(int64_t{10}), v}), Literal::of(int64_t{1})})});
  EXPECT_EQ(run(std::make_shared<LogicalFilter>(both, input)), (Rows{"b|5"}));
  try {
    run(std::make_shared<LogicalProject>(std::vector<ExpressionPtr>{named(call("div", {Literal::of(int64_t{10}), v}))}, input));
    FAIL() << "a division by zero passed";
  } catch (const Error& error) {
    EXPECT_EQ(error.condition(), "DIVIDE_BY_ZERO");
  }
}

}  // namespace
}  // namespace thalweg
