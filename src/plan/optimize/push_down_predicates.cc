// Filters above a table's scan become its conditions, with which it leaves out files; the filters themselves stay.
#include <algorithm>

#include <arrow/buffer.h>
#include <arrow/scalar.h>

#include "expr/call.h"
#include "expr/cast/cast.h"
#include "plan/optimize/optimizer.h"

namespace thalweg {
namespace {

using Op = ColumnPredicate::Op;
using Predicates = std::vector<ColumnPredicate>;

std::optional<Op> operatorOf(const std::string& name, bool mirrored) {
  if (name == "=" || name == "<=>") return Op::Equal;
  if (name == "<") return mirrored ? Op::Greater : Op::Less;
  if (name == "<=") return mirrored ? Op::GreaterOrEqual : Op::LessOrEqual;
  if (name == ">") return mirrored ? Op::Less : Op::Greater;
  if (name == ">=") return mirrored ? Op::LessOrEqual : Op::GreaterOrEqual;
  return std::nullopt;
}

// The column whose values an expression has; whole numbers may be in a wider type.
const Attribute* columnOf(const Expression& expression) {
  if (expression.kind() == ExpressionKind::Attribute) return static_cast<const Attribute*>(&expression);
  if (expression.kind() != ExpressionKind::Cast) return nullptr;
  const Expression& inner = *expression.children()[0];
  const bool widens = inner.type()->isIntegral() && expression.type()->isIntegral() && inner.type()->id() < expression.type()->id();
  return widens && inner.kind() == ExpressionKind::Attribute ? static_cast<const Attribute*>(&inner) : nullptr;
}

// The least text after all that begin with a prefix: its last byte that can be counted up, counted up.
std::optional<std::string> afterPrefix(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xFF) prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

Predicates beginsWith(const std::string& column, const std::string& prefix) {
  Predicates range = {{column, Op::GreaterOrEqual, std::make_shared<arrow::StringScalar>(prefix)}};
  if (const auto end = afterPrefix(prefix)) range.push_back({column, Op::Less, std::make_shared<arrow::StringScalar>(*end)});
  return range;
}

// What a pattern of LIKE begins with; the escape character ends it.
std::string plainFront(const std::string& pattern, char escape) {
  const std::string special = {'%', '_', escape};
  return pattern.substr(0, pattern.find_first_of(special));
}

Predicates ofNullTest(const Call& call) {
  const Attribute* column = columnOf(*call.children()[0]);
  if (!column) return {};
  if (call.traits().name == "isnull") return {{column->name(), Op::IsNull}};
  if (call.traits().name == "isnotnull") return {{column->name(), Op::IsNotNull}};
  return {};
}

Predicates ofTexts(const std::string& name, const Attribute& column, const Literal& literal) {
  if (column.type()->id() != TypeId::String || literal.type()->id() != TypeId::String || literal.isNull()) return {};
  const std::string text = static_cast<const arrow::StringScalar&>(*literal.value()).value->ToString();
  if (name == "startswith") return beginsWith(column.name(), text);
  // The call's name ends with the escape character.
  if (name.starts_with("like") && name.size() == 5) return beginsWith(column.name(), plainFront(text, name.back()));
  return {};
}

Predicates ofComparison(const Call& call) {
  const bool mirrored = call.children()[0]->kind() == ExpressionKind::Literal;
  const Expression& other = *call.children()[mirrored ? 0 : 1];
  const Attribute* column = columnOf(*call.children()[mirrored ? 1 : 0]);
  if (!column || other.kind() != ExpressionKind::Literal) return {};
  const auto& literal = static_cast<const Literal&>(other);
  const std::string& name = call.traits().name;
  if (!mirrored && column == call.children()[0].get()) {
    if (Predicates texts = ofTexts(name, *column, literal); !texts.empty()) return texts;
  }
  const auto op = operatorOf(name, mirrored);
  if (!op) return {};
  if (literal.isNull()) return name == "<=>" ? Predicates{{column->name(), Op::IsNull}} : Predicates{};
  return {{column->name(), *op, literal.value()}};
}

// a OR b OR …, however deep to the left.
Predicates ofAlternatives(const ExpressionPtr& condition) {
  ColumnPredicate any{.op = Op::AnyOf};
  ExpressionPtr rest = condition;
  while (true) {
    const bool isOr = rest->kind() == ExpressionKind::Or;
    any.alternatives.push_back(columnPredicates(isOr ? rest->children()[1] : rest));
    if (any.alternatives.back().empty()) return {};
    if (!isOr) return {std::move(any)};
    rest = rest->children()[0];
  }
}

Predicates ofPart(const ExpressionPtr& condition) {
  if (condition->kind() == ExpressionKind::Or) return ofAlternatives(condition);
  if (condition->kind() != ExpressionKind::Call) return {};
  const auto& call = static_cast<const Call&>(*condition);
  if (call.children().size() == 1) return ofNullTest(call);
  return call.children().size() == 2 ? ofComparison(call) : Predicates{};
}

}  // namespace

std::vector<ColumnPredicate> columnPredicates(const ExpressionPtr& condition) {
  Predicates predicates;
  for (const ExpressionPtr& part : splitConjuncts(condition)) {
    Predicates more = ofPart(part);
    std::move(more.begin(), more.end(), std::back_inserter(predicates));
  }
  return predicates;
}

LogicalPtr pushDownPredicates(const LogicalPtr& plan) {
  return transformUp(plan, [](const LogicalPtr& node) -> LogicalPtr {
    if (node->kind() != LogicalKind::Filter) return node;
    const auto& filter = static_cast<const LogicalFilter&>(*node);
    // Through nodes that only rename: the columns' names at the scan are what the conditions name.
    LogicalPtr below = filter.child();
    while (below->kind() == LogicalKind::SubqueryAlias || below->kind() == LogicalKind::Filter) below = below->child();
    if (below->kind() != LogicalKind::TableScan) return node;
    const auto& scan = static_cast<const LogicalTableScan&>(*below);
    std::vector<ExpressionPtr> conditions = scan.conditions();
    for (const ExpressionPtr& part : splitConjuncts(filter.condition())) {
      if (part->deterministic()) conditions.push_back(part);
    }
    return transformUp(node, [&](const LogicalPtr& inner) -> LogicalPtr {
      if (inner.get() != below.get()) return inner;
      return std::make_shared<LogicalTableScan>(scan.table(), scan.columns(), scan.output(), std::move(conditions));
    });
  });
}

}  // namespace thalweg
