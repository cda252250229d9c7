// What SQL text adds to Spark's messages: WITH, GROUP BY with HAVING, VALUES.
#include <arrow/api.h>
#include <delta/connect/relations.pb.h>
#include <spark/connect/relations.pb.h>

#include "common/clock.h"
#include "common/error.h"
#include "expr/aggregate.h"
#include "functions/coercion.h"
#include "plan/analyze/relations.h"
#include "sql/message_ptr.h"
#include "thalweg.pb.h"
#include "types/array_types.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

ExpressionPtr withoutAlias(const ExpressionPtr& expression) {
  return expression->kind() == ExpressionKind::Alias ? expression->children()[0] : expression;
}

// The select list's item that a position of GROUP BY means.
ExpressionPtr groupingItem(int ordinal, const std::vector<ExpressionPtr>& select) {
  const std::string position = std::to_string(ordinal);
  if (ordinal < 1 || ordinal > static_cast<int>(select.size())) {
    throw Error("GROUP_BY_POS_OUT_OF_RANGE",
                "GROUP BY " + position + " names no item of the select list, which has " + std::to_string(select.size()) + ".",
                {{"index", position}, {"size", std::to_string(select.size())}});
  }
  const ExpressionPtr item = withoutAlias(select[static_cast<size_t>(ordinal - 1)]);
  if (containsAggregate(*item)) {
    throw Error("GROUP_BY_POS_AGGREGATE",
                "GROUP BY " + position + " names '" + item->toString() + "', which holds an aggregate function.",
                {{"index", position}, {"aggExpr", item->toString()}});
  }
  return item;
}

void refuseAggregate(const ExpressionPtr& expression, const char* clause) {
  if (!containsAggregate(*expression)) return;
  throw Error("GROUP_BY_AGGREGATE", std::string(clause) + " cannot hold the aggregate function in '" + expression->toString() + "'.",
              {{"sqlExpr", expression->toString()}});
}

// GROUP BY ALL: every item without an aggregate function.
std::vector<ExpressionPtr> allGroups(const std::vector<ExpressionPtr>& select) {
  std::vector<ExpressionPtr> grouping;
  for (const ExpressionPtr& item : select) {
    if (!containsAggregate(*item) && item->foldability() == Foldability::Never) grouping.push_back(withoutAlias(item));
  }
  return grouping;
}

}  // namespace

RelationAnalyzer::RelationAnalyzer(const AnalyzerContext& context) : context_(context) {
  constants_.timestampMicros = systemClock().nowMicros();
  constants_.timeZone = TimeZone::parse(context.functions.timeZone);
}

std::optional<int> ordinalOf(const proto::Expression& expression) {
  if (!expression.has_literal() || !expression.literal().has_integer()) return std::nullopt;
  return expression.literal().integer();
}

LogicalPtr RelationAnalyzer::extension(const proto::Relation& relation) {
  messages::SqlAggregate aggregate;
  if (sql::unpackExtension(relation.extension(), &aggregate)) return sqlAggregate(aggregate);
  messages::SqlValues values;
  if (sql::unpackExtension(relation.extension(), &values)) return sqlValues(values);
  messages::SqlDistinct distinct;
  if (sql::unpackExtension(relation.extension(), &distinct)) return distinctRows(withoutHiddenColumns(analyze(distinct.input())));
  messages::SqlNaturalJoin join;
  if (sql::unpackExtension(relation.extension(), &join)) return naturalJoin(join.join());
  ::delta::connect::DeltaRelation query;
  if (sql::unpackExtension(relation.extension(), &query)) return context_.deltaQuery(query);
  throw Error("CONNECT_INVALID_PLAN.RELATION_NOT_SET", "The plan has an extension that this server does not know.");
}

LogicalPtr RelationAnalyzer::withRelations(const proto::Relation& relation) {
  const size_t outer = namedRelations_.size();
  for (const auto& reference : relation.with_relations().references()) {
    // References without a name are those of subqueries, which are refused where they stand.
    if (!reference.has_subquery_alias()) continue;
    namedRelations_.emplace_back(reference.subquery_alias().alias(), analyze(reference));
  }
  LogicalPtr root = analyze(relation.with_relations().root());
  namedRelations_.resize(outer);
  return root;
}

LogicalPtr RelationAnalyzer::findNamedRelation(const std::vector<std::string>& name) const {
  if (name.size() != 1) return nullptr;
  for (auto it = namedRelations_.rbegin(); it != namedRelations_.rend(); ++it) {
    if (context_.functions.caseSensitive ? it->first == name[0] : equalsIgnoreCase(it->first, name[0])) return it->second;
  }
  return nullptr;
}

LogicalPtr RelationAnalyzer::sqlAggregate(const messages::SqlAggregate& message) {
  LogicalPtr child = message.has_input() ? analyze(message.input()) : singleRow();
  // The select list may name the window that rows are grouped by (window.start).
  for (const auto& key : message.grouping()) {
    if (!key.has_unresolved_function() || !equalsIgnoreCase(key.unresolved_function().function_name(), "window")) continue;
    const Scope scope = scopeOf(*child);
    // A column of that name is what the list means.
    if (scope.find({"window"})) continue;
    std::vector<ExpressionPtr> window = {ExpressionAnalyzer(scope, context_).resolve(key)};
    child = placeTimeWindows(&window, std::move(child));
  }
  const Scope scope = message.has_input() ? scopeOf(*child) : Scope({}, nullptr, context_.functions.caseSensitive);
  const ExpressionAnalyzer selecting(scope, context_);
  std::vector<ExpressionPtr> select = selecting.resolveList(message.select());
  // GROUP BY names input columns first, then aliases of the select list; HAVING, which comes after the list, aliases first.
  const ExpressionAnalyzer expressions(scope, context_, &select);
  std::vector<ExpressionPtr> grouping;
  if (message.group_by_all()) grouping = allGroups(select);
  const auto groupingExpression = [&](const proto::Expression& key) {
    const auto ordinal = ordinalOf(key);
    const ExpressionPtr expression = ordinal ? groupingItem(*ordinal, select) : withoutAlias(expressions.resolve(key));
    refuseAggregate(expression, "GROUP BY");
    return expression;
  };
  for (const auto& key : message.grouping()) grouping.push_back(groupingExpression(key));
  const std::optional<GroupingType> type = groupingTypeOf(message.group_type());
  std::vector<std::vector<size_t>> sets;
  if (type) {
    std::vector<std::vector<ExpressionPtr>> named;
    for (const auto& set : message.grouping_sets()) {
      auto& one = named.emplace_back();
      for (const auto& key : set.grouping_set()) one.push_back(groupingExpression(key));
    }
    sets = groupingSetsOf(*type, named, &grouping);
  }
  const ExpressionAnalyzer filtering(scope, context_, &select, ExpressionAnalyzer::Prefer::Aliases);
  const ExpressionPtr having = message.has_having() ? filtering.resolve(message.having()) : Literal::of(true);
  // A window of time may stand in all three places and is one column.
  std::vector<ExpressionPtr> all = grouping;
  all.insert(all.end(), select.begin(), select.end());
  all.push_back(having);
  child = placeTimeWindows(&all, std::move(child));
  const auto selectBegin = all.begin() + static_cast<std::ptrdiff_t>(grouping.size());
  grouping.assign(all.begin(), selectBegin);
  select.assign(selectBegin, all.end() - 1);
  const ExpressionPtr condition = all.back();
  const auto aggregated = [&](std::vector<ExpressionPtr> results) {
    return type ? makeGroupingSets(grouping, sets, std::move(results), child) : makeAggregateAndGenerate(grouping, std::move(results), child);
  };
  if (!message.has_having()) return aggregated(select);

  const auto kept = std::make_shared<Alias>(booleanCondition(condition), "__having");
  std::vector<ExpressionPtr> results = select;
  results.push_back(kept);
  const LogicalPtr aggregate = aggregated(std::move(results));
  const std::vector<AttributePtr>& columns = aggregate->output();
  return std::make_shared<LogicalProject>(std::vector<ExpressionPtr>(columns.begin(), columns.end() - 1),
                                          std::make_shared<LogicalFilter>(columns.back(), aggregate));
}

LogicalPtr RelationAnalyzer::sqlValues(const messages::SqlValues& message) {
  const Scope scope({}, nullptr, context_.functions.caseSensitive);
  const ExpressionAnalyzer expressions(scope, context_);
  std::vector<std::vector<ExpressionPtr>> columns;
  for (const auto& row : message.rows()) {
    if (columns.empty()) columns.resize(static_cast<size_t>(row.values_size()));
    if (columns.size() != static_cast<size_t>(row.values_size())) {
      throw Error("INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH",
                  "The rows of VALUES have " + std::to_string(columns.size()) + " and " + std::to_string(row.values_size()) + " columns.",
                  {{"expectedNumCols", std::to_string(columns.size())}, {"actualNumCols", std::to_string(row.values_size())},
                   {"rowIndex", std::to_string(columns.empty() ? 0 : columns[0].size())}});
    }
    for (int i = 0; i < row.values_size(); ++i) {
      const ExpressionPtr value = expressions.resolve(row.values(i));
      if (containsAggregate(*value) || value->foldability() == Foldability::Never) {
        throw Error("INVALID_INLINE_TABLE.CANNOT_EVALUATE_EXPRESSION_IN_INLINE_TABLE",
                    "VALUES takes constants, not '" + value->toString() + "'.", {{"expr", "\"" + value->toString() + "\""}});
      }
      columns[static_cast<size_t>(i)].push_back(withoutAlias(value));
    }
  }
  std::vector<StructField> fields;
  arrow::ArrayVector arrays;
  const EvaluationContext evaluation{&constants_};
  for (const std::vector<ExpressionPtr>& column : columns) {
    const DataTypePtr type = commonType(column, context_.functions);
    if (!type) {
      throw Error("INVALID_INLINE_TABLE.INCOMPATIBLE_TYPES_IN_INLINE_TABLE",
                  "The values of column col" + std::to_string(fields.size() + 1) + " have types that do not go together.",
                  {{"colName", "`col" + std::to_string(fields.size() + 1) + "`"}});
    }
    arrow::ArrayVector values;
    bool nullable = false;
    for (const ExpressionPtr& value : column) {
      const auto scalar = evaluateConstant(*castTo(value, type, context_.functions.castMode()), evaluation);
      nullable = nullable || !scalar->is_valid;
      // Inside nested values each says for itself what may be null.
      const auto array = valueOrThrow(arrow::MakeArrayFromScalar(*scalar, 1));
      values.push_back(arrow::MakeArray(retype(array->data(), toArrowType(*type))));
    }
    fields.push_back({"col" + std::to_string(fields.size() + 1), type, nullable});
    arrays.push_back(valueOrThrow(arrow::Concatenate(values)));
  }
  const SchemaPtr schema = DataType::structOf(std::move(fields));
  const auto batch = arrow::RecordBatch::Make(toArrowSchema(*schema), message.rows_size(), std::move(arrays));
  return std::make_shared<LogicalLocalRelation>(attributesOf(*schema), std::vector{batch});
}

}  // namespace thalweg
