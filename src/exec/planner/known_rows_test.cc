// Aggregations that a table answers by what it knows of itself.
#include <gtest/gtest.h>

#include "exec/planner/known_rows.h"
#include "expr/nodes.h"
#include "functions/registry.h"

namespace thalweg {
namespace {

class CountedTable final : public Table {
 public:
  explicit CountedTable(std::optional<int64_t> rows) : rows_(rows) {}
  const SchemaPtr& schema() const override { return schema_; }
  std::vector<SplitPtr> planScan(const std::vector<ColumnPredicate>&) const override { return {}; }
  std::string description() const override { return "counted"; }
  std::optional<int64_t> rowCount() const override { return rows_; }

 private:
  SchemaPtr schema_ = DataType::structOf({{"a", longType()}});
  std::optional<int64_t> rows_;
};

LogicalPtr scan(std::optional<int64_t> rows) {
  const auto table = std::make_shared<CountedTable>(rows);
  return std::make_shared<LogicalTableScan>(table, std::vector{0}, attributesOf(*table->schema()));
}

ExpressionPtr call(std::string_view name, std::vector<ExpressionPtr> arguments) {
  return resolveFunction({name, std::move(arguments)}, FunctionContext());
}

std::string countsOf(const LogicalPtr& child, std::vector<ExpressionPtr> results, std::vector<ExpressionPtr> grouping = {}) {
  for (ExpressionPtr& result : results) result = std::make_shared<Alias>(result, "n");
  const auto known = knownCounts(LogicalAggregate(std::move(grouping), std::move(results), child));
  if (!known) return "unknown";
  std::string text;
  for (const ExpressionPtr& result : *known) text += result->children()[0]->toString() + ";";
  return text;
}

const ExpressionPtr kOne = Literal::of(1);

TEST(KnownCounts, RowsOfATableThatKnowsThem) {
  EXPECT_EQ(countsOf(scan(7), {call("count", {kOne})}), "7;");
  EXPECT_EQ(countsOf(scan(7), {call("count", {kOne}), call("+", {call("count", {kOne}), Literal::of(int64_t{1})})}), "7;(7 + 1);");
  const LogicalPtr projected = std::make_shared<LogicalProject>(std::vector<ExpressionPtr>{std::make_shared<Alias>(kOne, "x")}, scan(7));
  EXPECT_EQ(countsOf(projected, {call("count", {kOne})}), "7;");
}

TEST(KnownCounts, NothingElse) {
  const LogicalPtr table = scan(7);
  const ExpressionPtr column = table->output()[0];
  EXPECT_EQ(countsOf(scan(std::nullopt), {call("count", {kOne})}), "unknown");
  EXPECT_EQ(countsOf(table, {call("count", {column})}), "unknown") << "nulls do not count";
  EXPECT_EQ(countsOf(table, {call("count", {Literal::null(intType())})}), "unknown");
  EXPECT_EQ(countsOf(table, {call("count", {kOne}), call("max", {column})}), "unknown");
  EXPECT_EQ(countsOf(table, {call("count", {kOne})}, {column}), "unknown") << "groups";
  const LogicalPtr filtered = std::make_shared<LogicalFilter>(call("=", {column, Literal::of(int64_t{1})}), table);
  EXPECT_EQ(countsOf(filtered, {call("count", {kOne})}), "unknown");
}

}  // namespace
}  // namespace thalweg
