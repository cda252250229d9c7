// Generators in select lists, in FROM and in LATERAL VIEW.
#include <algorithm>

#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "expr/aggregate.h"
#include "plan/analyze/relations.h"
#include "plan/logical/generate.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

// The generator that a select list's item is, under whatever name; null where it is none.
std::shared_ptr<const GeneratorCall> generatorOf(const ExpressionPtr& item) {
  if (item->kind() == ExpressionKind::Generator) return std::static_pointer_cast<const GeneratorCall>(item);
  if (item->kind() != ExpressionKind::Alias || item->children()[0]->kind() != ExpressionKind::Generator)
    return nullptr;
  const auto& generator = static_cast<const GeneratorCall&>(*item->children()[0]);
  return std::static_pointer_cast<const GeneratorCall>(
      generator.withNames({static_cast<const Alias&>(*item).name()}));
}

void refuseNested(const Expression& item) {
  throw Error("UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS",
              "A generator is an item of a select list by itself, not a part of '" + item.toString() +
                  "'; select it first, then compute.",
              {{"expression", "\"" + item.toString() + "\""}});
}

std::vector<AttributePtr> columnsOf(const GeneratorCall& generator,
                                    const std::vector<std::string>& qualifier = {}) {
  std::vector<AttributePtr> columns;
  for (const StructField& field : generator.spec().columns)
    columns.push_back(
        std::make_shared<Attribute>(field.name, field.type, field.nullable, nextExpressionId(), qualifier));
  return columns;
}

// A table function in FROM, and what names it there.
struct NamedFunction {
  const proto::UnresolvedTableValuedFunction* call = nullptr;
  std::vector<std::string> columns;
  std::vector<std::string> qualifier;
};

NamedFunction namedFunction(const proto::Relation& relation) {
  NamedFunction named;
  const proto::Relation* node = &relation;
  while (!node->has_unresolved_table_valued_function()) {
    if (node->has_subquery_alias()) {
      if (named.qualifier.empty()) {
        named.qualifier.assign(node->subquery_alias().qualifier().begin(),
                               node->subquery_alias().qualifier().end());
        named.qualifier.push_back(node->subquery_alias().alias());
      }
      node = &node->subquery_alias().input();
    } else if (node->has_to_df()) {
      if (named.columns.empty())
        named.columns.assign(node->to_df().column_names().begin(), node->to_df().column_names().end());
      node = &node->to_df().input();
    } else {
      throw unsupported("A lateral join with a query");
    }
  }
  named.call = &node->unresolved_table_valued_function();
  return named;
}

}  // namespace

bool hasGenerator(const std::vector<ExpressionPtr>& list) {
  return std::any_of(list.begin(), list.end(),
                     [](const ExpressionPtr& one) { return containsGenerator(*one); });
}

LogicalPtr placeGenerators(std::vector<ExpressionPtr>* list, LogicalPtr child) {
  if (!hasGenerator(*list)) return child;
  std::vector<ExpressionPtr> items;
  for (const ExpressionPtr& item : *list) {
    const auto generator = generatorOf(item);
    if (!generator) {
      if (containsGenerator(*item)) refuseNested(*item);
      items.push_back(item);
      continue;
    }
    for (const ExpressionPtr& argument : generator->children()) {
      if (containsGenerator(*argument)) refuseNested(*generator);
    }
    const std::vector<AttributePtr> columns = columnsOf(*generator);
    items.insert(items.end(), columns.begin(), columns.end());
    child = std::make_shared<LogicalGenerate>(generator, columns, std::move(child));
  }
  *list = std::move(items);
  return child;
}

LogicalPtr makeAggregateAndGenerate(const std::vector<ExpressionPtr>& grouping,
                                    std::vector<ExpressionPtr> results, const LogicalPtr& child) {
  if (!hasGenerator(results)) return makeAggregate(grouping, std::move(results), child);
  // The generators' arguments are results of the aggregate; the generators stand above it.
  std::vector<ExpressionPtr> below;
  for (const ExpressionPtr& item : results) {
    const auto generator = generatorOf(item);
    if (!generator && containsGenerator(*item)) refuseNested(*item);
    if (!generator)
      below.push_back(item);
    else
      for (const ExpressionPtr& argument : generator->children())
        below.push_back(std::make_shared<Alias>(argument, "_gen_input"));
  }
  const LogicalPtr aggregate = makeAggregate(grouping, std::move(below), child);
  std::vector<ExpressionPtr> list;
  size_t at = 0;
  for (const ExpressionPtr& item : results) {
    const auto generator = generatorOf(item);
    const size_t count = generator ? generator->children().size() : 1;
    const auto begin = aggregate->output().begin() + static_cast<std::ptrdiff_t>(at);
    std::vector<ExpressionPtr> columns(begin, begin + static_cast<std::ptrdiff_t>(count));
    list.push_back(generator ? generator->withChildren(std::move(columns)) : columns[0]);
    at += count;
  }
  const LogicalPtr generated = placeGenerators(&list, aggregate);
  return std::make_shared<LogicalProject>(std::move(list), generated);
}

LogicalPtr RelationAnalyzer::generate(const proto::UnresolvedTableValuedFunction& call,
                                      const LogicalPtr& child, bool outer,
                                      const std::vector<std::string>& names,
                                      const std::vector<std::string>& qualifier) {
  const Scope scope = scopeOf(*child);
  const ExpressionAnalyzer expressions(scope, context_);
  FunctionCall function{call.function_name(), {}};
  for (const auto& argument : call.arguments()) function.arguments.push_back(expressions.resolve(argument));
  const ExpressionPtr resolved = resolveFunction(function, context_.functions);
  if (resolved->kind() != ExpressionKind::Generator)
    throw unsupported("The table function '" + call.function_name() + "'");
  auto generator = std::static_pointer_cast<const GeneratorCall>(resolved);
  for (const ExpressionPtr& argument : generator->children()) {
    if (containsGenerator(*argument)) refuseNested(*generator);
    if (containsAggregate(*argument))
      throw unsupported("An aggregate function inside a table function's argument");
  }
  if (outer) generator = std::static_pointer_cast<const GeneratorCall>(generator->asOuter());
  if (!names.empty()) generator = std::static_pointer_cast<const GeneratorCall>(generator->withNames(names));
  return std::make_shared<LogicalGenerate>(generator, columnsOf(*generator, qualifier), child);
}

LogicalPtr RelationAnalyzer::lateralJoin(const proto::LateralJoin& message) {
  const bool outer = message.join_type() == proto::Join::JOIN_TYPE_LEFT_OUTER;
  const bool inner = message.join_type() == proto::Join::JOIN_TYPE_INNER ||
                     message.join_type() == proto::Join::JOIN_TYPE_CROSS ||
                     message.join_type() == proto::Join::JOIN_TYPE_UNSPECIFIED;
  if (!outer && !inner) throw unsupported("A lateral join of this type");
  if (outer && message.has_join_condition()) throw unsupported("A lateral outer join with a condition");
  const NamedFunction named = namedFunction(message.right());
  const LogicalPtr left = analyze(message.left());
  LogicalPtr joined = generate(*named.call, left, outer, named.columns, named.qualifier);
  if (!message.has_join_condition()) return joined;
  const Scope scope = scopeOf(*joined);
  const ExpressionPtr condition =
      booleanCondition(ExpressionAnalyzer(scope, context_).resolve(message.join_condition()));
  return std::make_shared<LogicalFilter>(condition, std::move(joined));
}

}  // namespace thalweg
