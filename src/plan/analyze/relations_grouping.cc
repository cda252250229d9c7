// rollup, cube, grouping sets and pivot: several groupings of the same rows at once.
#include <algorithm>

#include <arrow/api.h>
#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "expr/aggregate.h"
#include "expr/canonical.h"
#include "plan/analyze/literals.h"
#include "plan/analyze/relations.h"
#include "plan/logical/generate.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

using Sets = std::vector<std::vector<size_t>>;

constexpr size_t kMostSets = 4096;
constexpr size_t kMostPivotValues = 10'000;

Sets rollupSets(size_t count) {
  Sets sets;
  for (size_t length = count + 1; length-- > 0;) {
    std::vector<size_t> set;
    for (size_t i = 0; i < length; ++i) set.push_back(i);
    sets.push_back(std::move(set));
  }
  return sets;
}

Sets cubeSets(size_t count) {
  if (count > 12)
    throw unsupported("A cube of more than 12 columns (" + std::to_string(kMostSets) + " grouping sets)");
  Sets sets;
  for (size_t left = 0; left < size_t{1} << count; ++left) {
    std::vector<size_t> set;
    for (size_t i = 0; i < count; ++i) {
      if (!(left >> (count - 1 - i) & 1)) set.push_back(i);
    }
    sets.push_back(std::move(set));
  }
  return sets;
}

// The position of an expression in a list, added where it is new.
size_t positionOf(const ExpressionPtr& expression, std::vector<ExpressionPtr>* list) {
  const std::string text = canonicalText(*expression);
  for (size_t i = 0; i < list->size(); ++i) {
    if (canonicalText(*(*list)[i]) == text) return i;
  }
  list->push_back(expression);
  return list->size() - 1;
}

std::string textOf(const ExpressionPtr& literal, const FunctionContext& functions) {
  const BatchContext batch;
  const auto text =
      evaluateConstant(*castTo(literal, stringType(), functions.castMode()), EvaluationContext{&batch});
  return text->is_valid ? text->ToString() : "null";
}

std::string nameOf(const ExpressionPtr& named) {
  return named->kind() == ExpressionKind::Alias ? static_cast<const Alias&>(*named).name()
                                                : named->toString();
}

}  // namespace

Sets groupingSetsOf(GroupingType type, const std::vector<std::vector<ExpressionPtr>>& sets,
                    std::vector<ExpressionPtr>* grouping) {
  if (type == GroupingType::Rollup) return rollupSets(grouping->size());
  if (type == GroupingType::Cube) return cubeSets(grouping->size());
  if (sets.size() > kMostSets) throw unsupported("More than " + std::to_string(kMostSets) + " grouping sets");
  Sets positions;
  for (const auto& set : sets) {
    std::vector<size_t> one;
    for (const ExpressionPtr& expression : set) one.push_back(positionOf(expression, grouping));
    std::sort(one.begin(), one.end());
    one.erase(std::unique(one.begin(), one.end()), one.end());
    positions.push_back(std::move(one));
  }
  return positions;
}

LogicalPtr makeGroupingSets(std::vector<ExpressionPtr> grouping, Sets sets,
                            std::vector<ExpressionPtr> results, const LogicalPtr& child) {
  GroupingSets expanded = GroupingSets::of(std::move(grouping), std::move(sets));
  for (ExpressionPtr& result : results) result = expanded.overGroups(result);
  const std::vector<AttributePtr> added = expanded.added();
  return makeAggregateAndGenerate({added.begin(), added.end()}, std::move(results),
                                  std::make_shared<LogicalExpand>(std::move(expanded), child));
}

// The values that a pivot's column has, in their order.
std::vector<ExpressionPtr> RelationAnalyzer::pivotValues(const ExpressionPtr& column,
                                                         const LogicalPtr& child) {
  if (!context_.collectRows) throw unsupported("pivot without the list of values");
  const auto value = std::make_shared<Alias>(column, "value");
  LogicalPtr plan = std::make_shared<LogicalProject>(std::vector<ExpressionPtr>{value}, child);
  plan = std::make_shared<LogicalDeduplicate>(plan->output(), plan);
  plan = std::make_shared<LogicalSort>(
      std::vector<ExpressionPtr>{sortOrder(plan->output()[0], true, std::nullopt)}, true, plan);
  plan = std::make_shared<LogicalLimit>(kMostPivotValues + 1, 0, false, plan);
  std::vector<ExpressionPtr> values;
  for (const auto& batch : context_.collectRows(plan)) {
    for (int64_t row = 0; row < batch->num_rows(); ++row)
      values.push_back(
          std::make_shared<Literal>(valueOrThrow(batch->column(0)->GetScalar(row)), column->type()));
  }
  if (values.size() <= kMostPivotValues) return values;
  throw Error("_LEGACY_ERROR_TEMP_1324",
              "The column '" + column->toString() + "' of the pivot has more than " +
                  std::to_string(kMostPivotValues) + " values; give those that are wanted.",
              {{"pivotColumn", column->toString()}, {"maxValues", std::to_string(kMostPivotValues)}});
}

// Each value of the pivot's column has its own columns: the aggregates over its rows alone, null where there
// are none.
std::vector<ExpressionPtr> RelationAnalyzer::pivoted(const proto::Aggregate::Pivot& pivot,
                                                     const std::vector<ExpressionPtr>& aggregates,
                                                     const LogicalPtr& child) {
  const Scope scope = scopeOf(*child);
  const ExpressionAnalyzer expressions(scope, context_);
  const ExpressionPtr column = expressions.resolve(pivot.col());
  if (child->isStreaming()) {
    throw Error("_LEGACY_ERROR_TEMP_3063", "pivot is not there for streams: their values, which become columns, are not known beforehand.",
                {{"operation", "pivot"}});
  }
  std::vector<ExpressionPtr> values;
  for (const auto& value : pivot.values()) values.push_back(fromProtoLiteral(value));
  if (values.empty()) values = pivotValues(column, child);
  std::vector<ExpressionPtr> results;
  for (const ExpressionPtr& literal : values) {
    const ExpressionPtr isValue = resolveFunction({"<=>", {column, literal}}, context_.functions);
    const std::string prefix = textOf(literal, context_.functions);
    const ExpressionPtr count = resolveFunction({"count", {Literal::of(int32_t{1})}}, context_.functions);
    const ExpressionPtr any = resolveFunction(
        {">", {static_cast<const AggregateCall&>(*count).withFilter(isValue), Literal::of(int64_t{0})}},
        context_.functions);
    for (const ExpressionPtr& aggregate : aggregates) {
      const ExpressionPtr filtered = withFilter(
          aggregate->kind() == ExpressionKind::Alias ? aggregate->children()[0] : aggregate, isValue);
      const std::string name = aggregates.size() == 1 ? prefix : prefix + "_" + nameOf(aggregate);
      results.push_back(std::make_shared<Alias>(
          std::make_shared<CaseWhen>(std::vector<ExpressionPtr>{any, filtered}), name));
    }
  }
  return results;
}

}  // namespace thalweg
