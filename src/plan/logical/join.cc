#include "plan/logical/join.h"

#include <algorithm>

#include "common/error.h"
#include "expr/call.h"

namespace thalweg {
namespace {

std::vector<AttributePtr> joinOutput(JoinType type, const LogicalNode& left, const LogicalNode& right) {
  std::vector<AttributePtr> output;
  for (const AttributePtr& column : left.output())
    output.push_back(keepsRight(type) ? column->withNullable(true) : column);
  if (isExistence(type)) return output;
  for (const AttributePtr& column : right.output())
    output.push_back(keepsLeft(type) ? column->withNullable(true) : column);
  return output;
}

bool hasColumns(const Expression& expression) {
  return anyOf(expression, [](const Expression& e) { return e.kind() == ExpressionKind::Attribute; });
}

std::optional<JoinKey> toKey(const ExpressionPtr& part, const LogicalJoin& join) {
  if (part->kind() != ExpressionKind::Call || !part->deterministic()) return std::nullopt;
  const std::string& name = static_cast<const Call&>(*part).traits().name;
  if (name != "=" && name != "<=>") return std::nullopt;
  const ExpressionPtr& first = part->children()[0];
  const ExpressionPtr& second = part->children()[1];
  if (!hasColumns(*first) || !hasColumns(*second) || !equals(*first->type(), *second->type()))
    return std::nullopt;
  const bool nullSafe = name == "<=>";
  const auto& left = join.left()->output();
  const auto& right = join.right()->output();
  if (refersOnlyTo(*first, left) && refersOnlyTo(*second, right)) return JoinKey{first, second, nullSafe};
  if (refersOnlyTo(*first, right) && refersOnlyTo(*second, left)) return JoinKey{second, first, nullSafe};
  return std::nullopt;
}

}  // namespace

const char* nameOf(JoinType type) {
  switch (type) {
    case JoinType::Inner:
      return "Inner";
    case JoinType::Cross:
      return "Cross";
    case JoinType::LeftOuter:
      return "LeftOuter";
    case JoinType::RightOuter:
      return "RightOuter";
    case JoinType::FullOuter:
      return "FullOuter";
    case JoinType::LeftSemi:
      return "LeftSemi";
    case JoinType::LeftAnti:
      return "LeftAnti";
  }
  throw internalError("unknown join type");
}

LogicalJoin::LogicalJoin(JoinType type, ExpressionPtr condition, LogicalPtr left, LogicalPtr right,
                         bool eachOnce)
    : LogicalNode(LogicalKind::Join, {left, right}, joinOutput(type, *left, *right)),
      type_(type),
      condition_(std::move(condition)),
      eachOnce_(eachOnce) {}

LogicalPtr LogicalJoin::with(ExpressionPtr condition, LogicalPtr left, LogicalPtr right) const {
  return std::make_shared<LogicalJoin>(type_, std::move(condition), std::move(left), std::move(right),
                                       eachOnce_);
}

LogicalPtr LogicalJoin::withChildren(std::vector<LogicalPtr> children) const {
  return with(condition_, std::move(children[0]), std::move(children[1]));
}

std::string LogicalJoin::describe() const {
  return std::string("Join ") + nameOf(type_) + (condition_ ? ", " + condition_->toString() : "") +
         (eachOnce_ ? ", each once" : "");
}

JoinCondition splitJoinCondition(const LogicalJoin& join) {
  JoinCondition condition;
  if (!join.condition()) return condition;
  std::vector<ExpressionPtr> rest;
  for (const ExpressionPtr& part : splitConjuncts(join.condition())) {
    if (auto key = toKey(part, join))
      condition.keys.push_back(std::move(*key));
    else
      rest.push_back(part);
  }
  condition.rest = joinConjuncts(rest);
  return condition;
}

bool refersOnlyTo(const Expression& expression, const std::vector<AttributePtr>& columns) {
  return !anyOf(expression, [&](const Expression& e) {
    return e.kind() == ExpressionKind::Attribute &&
           std::none_of(columns.begin(), columns.end(), [&](const AttributePtr& column) {
             return column->id() == static_cast<const Attribute&>(e).id();
           });
  });
}

ExpressionPtr joinConjuncts(const std::vector<ExpressionPtr>& parts) {
  ExpressionPtr all;
  for (const ExpressionPtr& part : parts)
    all = all ? std::make_shared<Conjunction>(ExpressionKind::And, all, part) : part;
  return all;
}

}  // namespace thalweg
