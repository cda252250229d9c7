// Operators that choose, compute, name and filter columns.
#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "expr/aggregate.h"
#include "expr/generator.h"
#include "plan/analyze/relations.h"
#include "sql/parser.h"
#include "types/ddl.h"
#include "plan/analyze/proto_types.h"

// Fields that Spark has given up: clients of 4.0 and 4.1 still send them.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace thalweg {
namespace {

namespace proto = spark::connect;

std::vector<ExpressionPtr> asExpressions(const std::vector<AttributePtr>& attributes) {
  return {attributes.begin(), attributes.end()};
}

}  // namespace

LogicalPtr RelationAnalyzer::project(const proto::Relation& relation) {
  const auto& project = relation.project();
  LogicalPtr child = project.has_input() ? analyze(project.input()) : singleRow();
  const Scope scope = project.has_input() ? scopeOf(*child) : Scope({}, nullptr, context_.functions.caseSensitive);
  const ExpressionAnalyzer expressions(scope, context_);
  std::vector<ExpressionPtr> list = expressions.resolveList(project.expressions());
  const bool aggregates = std::any_of(list.begin(), list.end(), [](const ExpressionPtr& one) { return containsAggregate(*one); });
  child = placeTimeWindows(&list, std::move(child));
  // select(count("*")): aggregate functions without groups make one row of all.
  if (aggregates) return makeAggregateAndGenerate({}, std::move(list), child);
  child = placeGenerators(&list, std::move(child));
  return std::make_shared<LogicalProject>(std::move(list), child);
}

LogicalPtr RelationAnalyzer::singleRow() {
  return std::make_shared<LogicalRange>(
      0, 1, 1, 1, std::vector<AttributePtr>{std::make_shared<Attribute>("__row", longType(), false, nextExpressionId())});
}

ExpressionPtr RelationAnalyzer::booleanCondition(const ExpressionPtr& condition) {
  if (condition->type()->id() != TypeId::Boolean && condition->type()->id() != TypeId::Void) {
    throw Error("DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
                "A filter takes a condition, but '" + condition->toString() + "' is " + condition->type()->sqlString() + ".",
                {{"sqlExpr", "\"" + condition->toString() + "\""}, {"filter", "\"" + condition->toString() + "\""},
                 {"type", "\"" + condition->type()->sqlString() + "\""}});
  }
  return castTo(condition, booleanType(), CastMode::Ansi);
}

ExpressionPtr RelationAnalyzer::filterCondition(const ExpressionAnalyzer& expressions, const proto::Expression& message) {
  try {
    const ExpressionPtr condition = expressions.resolve(message);
    if (!containsGenerator(*condition)) return booleanCondition(condition);
  } catch (const Error& error) {
    if (error.condition() != "UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS") throw;
  }
  throw Error("UNSUPPORTED_GENERATOR.OUTSIDE_SELECT", "A filter cannot hold a generator; select it first.", {{"plan", "'Filter"}});
}

LogicalPtr RelationAnalyzer::filter(const proto::Relation& relation) {
  LogicalPtr child = analyze(relation.filter().input());
  const Scope scope = scopeOf(*child);
  const ExpressionPtr condition = filterCondition(ExpressionAnalyzer(scope, context_), relation.filter().condition());
  refuseTimeWindow(*condition, "a filter");
  if (containsAggregate(*condition)) {
    throw Error("INVALID_WHERE_CONDITION", "A filter cannot hold an aggregate function: " + condition->toString() + "; use HAVING.",
                {{"condition", "\"" + condition->toString() + "\""}, {"expressionList", condition->toString()}});
  }
  return std::make_shared<LogicalFilter>(condition, child);
}

LogicalPtr RelationAnalyzer::withColumns(const proto::Relation& relation) {
  LogicalPtr child = analyze(relation.with_columns().input());
  const Scope scope = scopeOf(*child);
  const ExpressionAnalyzer expressions(scope, context_);
  const std::vector<AttributePtr> columns = visibleOutput(*child);
  std::vector<ExpressionPtr> list = asExpressions(columns);
  const size_t existing = list.size();
  for (const auto& alias : relation.with_columns().aliases()) {
    std::optional<std::string> metadata;
    if (alias.has_metadata()) metadata = alias.metadata();
    const auto column = std::make_shared<Alias>(expressions.resolve(alias.expr()), alias.name(0), nextExpressionId(), metadata);
    bool replaced = false;
    for (size_t i = 0; i < existing; ++i) {
      const std::string& name = columns[i]->name();
      if (scope.caseSensitive() ? name != alias.name(0) : !equalsIgnoreCase(name, alias.name(0))) continue;
      list[i] = column;
      replaced = true;
    }
    if (!replaced) list.push_back(column);
  }
  child = placeGenerators(&list, placeTimeWindows(&list, std::move(child)));
  return std::make_shared<LogicalProject>(std::move(list), child);
}

LogicalPtr RelationAnalyzer::withColumnsRenamed(const proto::Relation& relation) {
  const auto& renaming = relation.with_columns_renamed();
  LogicalPtr child = analyze(renaming.input());
  std::vector<std::pair<std::string, std::string>> renames;
  for (const auto& rename : renaming.renames()) renames.emplace_back(rename.col_name(), rename.new_col_name());
  for (const auto& [from, to] : renaming.rename_columns_map()) renames.emplace_back(from, to);
  std::vector<ExpressionPtr> list;
  for (const AttributePtr& column : visibleOutput(*child)) {
    std::string name = column->name();
    for (const auto& [from, to] : renames) {
      if (context_.functions.caseSensitive ? name == from : equalsIgnoreCase(name, from)) name = to;
    }
    if (name == column->name()) list.push_back(column);
    else list.push_back(std::make_shared<Alias>(column, name));
  }
  return std::make_shared<LogicalProject>(std::move(list), child);
}

LogicalPtr RelationAnalyzer::drop(const proto::Relation& relation) {
  LogicalPtr child = analyze(relation.drop().input());
  const Scope scope = scopeOf(*child);
  const ExpressionAnalyzer expressions(scope, context_);
  std::vector<ExpressionId> dropped;
  for (const auto& column : relation.drop().columns()) {
    try {
      const ExpressionPtr found = expressions.resolve(column);
      if (found->kind() == ExpressionKind::Attribute) dropped.push_back(static_cast<const Attribute&>(*found).id());
    } catch (const Error& error) {
      // A column that is not there need not be dropped.
      if (!error.condition().starts_with("UNRESOLVED_COLUMN") && !error.condition().starts_with("CANNOT_RESOLVE")) throw;
    }
  }
  std::vector<ExpressionPtr> list;
  for (const AttributePtr& column : visibleOutput(*child)) {
    bool isDropped = std::find(dropped.begin(), dropped.end(), column->id()) != dropped.end();
    for (const std::string& name : relation.drop().column_names()) {
      isDropped = isDropped || (scope.caseSensitive() ? column->name() == name : equalsIgnoreCase(column->name(), name));
    }
    if (!isDropped) list.push_back(column);
  }
  return std::make_shared<LogicalProject>(std::move(list), child);
}

LogicalPtr RelationAnalyzer::toDf(const proto::Relation& relation) {
  LogicalPtr child = withoutHiddenColumns(analyze(relation.to_df().input()));
  const auto& names = relation.to_df().column_names();
  if (static_cast<size_t>(names.size()) != child->output().size()) {
    throw Error(ErrorKind::IllegalArgument, "COLUMN_NUMBER_MISMATCH",
                "toDF got " + std::to_string(names.size()) + " names for " + std::to_string(child->output().size()) + " columns.");
  }
  std::vector<ExpressionPtr> list;
  for (int i = 0; i < names.size(); ++i) list.push_back(std::make_shared<Alias>(child->output()[static_cast<size_t>(i)], names[i]));
  return std::make_shared<LogicalProject>(std::move(list), child);
}

LogicalPtr RelationAnalyzer::toSchema(const proto::Relation& relation) {
  LogicalPtr child = analyze(relation.to_schema().input());
  const DataTypePtr schema = fromProtoType(relation.to_schema().schema());
  const Scope scope = scopeOf(*child);
  std::vector<ExpressionPtr> list;
  for (const StructField& field : schema->fields()) {
    const ExpressionPtr column = scope.resolve({field.name});
    if (column->nullable() && !field.nullable) {
      throw Error("NULLABLE_COLUMN_OR_FIELD", "The column `" + field.name + "` may be null, but the schema says that it is not.",
                  {{"name", "`" + field.name + "`"}});
    }
    list.push_back(std::make_shared<Alias>(castTo(column, field.type, context_.functions.castMode()), field.name,
                                           nextExpressionId(), field.metadata));
  }
  return std::make_shared<LogicalProject>(std::move(list), child);
}

LogicalPtr RelationAnalyzer::subqueryAlias(const proto::Relation& relation) {
  std::vector<std::string> name(relation.subquery_alias().qualifier().begin(), relation.subquery_alias().qualifier().end());
  name.push_back(relation.subquery_alias().alias());
  LogicalPtr child = analyze(relation.subquery_alias().input());
  // A key that a USING join hid goes by its side's name, which the alias takes away.
  std::vector<ExpressionPtr> named;
  for (const AttributePtr& column : child->output()) {
    if (!isHiddenKey(*column, child->output())) named.push_back(column);
  }
  if (named.size() < child->output().size()) child = std::make_shared<LogicalProject>(std::move(named), child);
  return std::make_shared<LogicalSubqueryAlias>(std::move(name), child);
}

}  // namespace thalweg
