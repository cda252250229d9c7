// Joins: the sides' columns, conditions, USING and NATURAL.
#include <algorithm>
#include <map>

#include <spark/connect/relations.pb.h>

#include "common/error.h"
#include "expr/aggregate.h"
#include "functions/registry.h"
#include "plan/analyze/char_padding.h"
#include "plan/analyze/relations.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;

JoinType typeOf(proto::Join::JoinType type) {
  switch (type) {
    case proto::Join::JOIN_TYPE_INNER:
      return JoinType::Inner;
    case proto::Join::JOIN_TYPE_CROSS:
      return JoinType::Cross;
    case proto::Join::JOIN_TYPE_LEFT_OUTER:
      return JoinType::LeftOuter;
    case proto::Join::JOIN_TYPE_RIGHT_OUTER:
      return JoinType::RightOuter;
    case proto::Join::JOIN_TYPE_FULL_OUTER:
      return JoinType::FullOuter;
    case proto::Join::JOIN_TYPE_LEFT_SEMI:
      return JoinType::LeftSemi;
    case proto::Join::JOIN_TYPE_LEFT_ANTI:
      return JoinType::LeftAnti;
    default:
      throw Error("CONNECT_INVALID_PLAN.JOIN_TYPE", "The join has no type that this server knows.");
  }
}

// The plan's columns under new ids, with the names and qualifiers that they had. `renewed`: old id → new
// column.
LogicalPtr withNewIds(const LogicalPtr& plan, std::map<ExpressionId, AttributePtr>* renewed) {
  std::vector<ExpressionPtr> aliases;
  std::vector<ExpressionPtr> columns;
  for (const AttributePtr& column : plan->output()) {
    const auto alias = std::make_shared<Alias>(column, column->name());
    AttributePtr renewedColumn = alias->toAttribute()->withQualifier(column->qualifier());
    if (column->hidden()) renewedColumn = renewedColumn->withHidden();
    aliases.push_back(alias);
    columns.push_back(renewedColumn);
    renewed->emplace(column->id(), std::move(renewedColumn));
  }
  return std::make_shared<LogicalProject>(std::move(columns),
                                          std::make_shared<LogicalProject>(std::move(aliases), plan));
}

bool shareColumns(const LogicalNode& left, const LogicalNode& right) {
  return std::any_of(right.output().begin(), right.output().end(),
                     [&](const AttributePtr& column) { return refersOnlyTo(*column, left.output()); });
}

AttributePtr usingColumn(const std::string& name, const LogicalNode& plan, const char* side,
                         bool caseSensitive) {
  const std::vector<AttributePtr> columns = visibleOutput(plan);
  for (const AttributePtr& column : columns) {
    if (caseSensitive ? column->name() == name : equalsIgnoreCase(column->name(), name)) return column;
  }
  std::vector<std::string> names;
  for (const AttributePtr& column : columns) names.push_back("`" + column->name() + "`");
  std::sort(names.begin(), names.end());
  std::string suggestion;
  for (const std::string& one : names) suggestion += (suggestion.empty() ? "" : ", ") + one;
  throw Error("UNRESOLVED_USING_COLUMN_FOR_JOIN",
              "The " + std::string(side) + " side of the join has no column `" + name +
                  "` to join by; it has [" + suggestion + "].",
              {{"colName", "`" + name + "`"}, {"side", side}, {"suggestion", suggestion}});
}

void checkCondition(const Expression& condition) {
  const std::string text = "\"" + condition.toString() + "\"";
  if (condition.type()->id() != TypeId::Boolean && condition.type()->id() != TypeId::Void) {
    throw Error("JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE",
                "The join condition '" + condition.toString() + "' is " + condition.type()->sqlString() +
                    ", not a boolean.",
                {{"joinCondition", text}, {"conditionType", "\"" + condition.type()->sqlString() + "\""}});
  }
  if (!condition.deterministic()) {
    throw Error(
        "INVALID_NON_DETERMINISTIC_EXPRESSIONS",
        "A join condition must give the same answer each time it is asked: " + condition.toString() + ".",
        {{"sqlExprs", text}});
  }
  if (containsAggregate(condition)) {
    throw Error("UNSUPPORTED_EXPR_FOR_OPERATOR",
                "A join condition cannot hold an aggregate function: " + condition.toString() + ".",
                {{"invalidExprSqls", text}});
  }
}

// The columns of `output` with these ids replaced: those of the join, nullable where their side may be
// missing.
AttributePtr columnOf(const LogicalNode& join, const AttributePtr& column) {
  for (const AttributePtr& one : join.output()) {
    if (one->id() == column->id()) return one;
  }
  throw internalError("The join has lost the column '" + column->name() + "'.");
}

}  // namespace

RelationAnalyzer::JoinSides RelationAnalyzer::joinSides(const proto::Join& message) {
  // Each side's relations are kept apart: one that is on both makes its columns' plan ids ambiguous.
  Scope::PlanOutputs before = std::move(planOutputs_);
  planOutputs_.clear();
  LogicalPtr left = analyze(message.left());
  Scope::PlanOutputs leftOutputs = std::move(planOutputs_);
  planOutputs_.clear();
  LogicalPtr right = analyze(message.right());
  Scope::PlanOutputs rightOutputs = std::move(planOutputs_);
  if (shareColumns(*left, *right)) {
    std::map<ExpressionId, AttributePtr> renewed;
    right = withNewIds(right, &renewed);
    for (auto& [id, outputs] : rightOutputs) {
      for (auto& output : outputs) {
        for (AttributePtr& column : output) {
          if (const auto it = renewed.find(column->id()); it != renewed.end()) column = it->second;
        }
      }
    }
  }
  planOutputs_ = std::move(leftOutputs);
  for (auto& [id, outputs] : rightOutputs) {
    auto& all = planOutputs_[id];
    all.insert(all.end(), outputs.begin(), outputs.end());
  }
  planOutputs_.merge(before);
  return {std::move(left), std::move(right)};
}

LogicalPtr RelationAnalyzer::join(const proto::Join& message) {
  if (message.has_join_data_type()) throw unsupported("joinWith");
  const JoinType type = typeOf(message.join_type());
  const JoinSides sides = joinSides(message);
  if (message.using_columns_size() > 0) {
    if (message.has_join_condition()) {
      throw Error("CONNECT_INVALID_PLAN.USING_COLUMNS_OR_JOIN_CONDITION",
                  "A join has a condition or columns to use, not both.");
    }
    return joinUsing(type, {message.using_columns().begin(), message.using_columns().end()}, sides);
  }
  if (!message.has_join_condition())
    return std::make_shared<LogicalJoin>(type, nullptr, sides.left, sides.right);
  std::vector<AttributePtr> columns = sides.left->output();
  columns.insert(columns.end(), sides.right->output().begin(), sides.right->output().end());
  // A side's own columns come before those of the same relation somewhere below the other side.
  Scope::PlanOutputs planOutputs = planOutputs_;
  if (message.left().common().plan_id() != message.right().common().plan_id()) {
    if (message.left().common().has_plan_id())
      planOutputs[message.left().common().plan_id()] = {sides.left->output()};
    if (message.right().common().has_plan_id())
      planOutputs[message.right().common().plan_id()] = {sides.right->output()};
  }
  const Scope scope(std::move(columns), &planOutputs, context_.functions.caseSensitive);
  const ExpressionPtr condition = ExpressionAnalyzer(scope, context_).resolve(message.join_condition());
  checkCondition(*condition);
  return std::make_shared<LogicalJoin>(type, castTo(condition, booleanType(), CastMode::Ansi), sides.left,
                                       sides.right);
}

LogicalPtr RelationAnalyzer::naturalJoin(const proto::Join& message) {
  const JoinType type = typeOf(message.join_type());
  const JoinSides sides = joinSides(message);
  const std::vector<AttributePtr> right = visibleOutput(*sides.right);
  std::vector<std::string> names;
  for (const AttributePtr& column : visibleOutput(*sides.left)) {
    const bool common = std::any_of(right.begin(), right.end(), [&](const AttributePtr& other) {
      return other->name() == column->name();
    });
    if (common) names.push_back(column->name());
  }
  if (names.empty()) return std::make_shared<LogicalJoin>(type, nullptr, sides.left, sides.right);
  return joinUsing(type, names, sides);
}

LogicalPtr RelationAnalyzer::joinUsing(JoinType type, const std::vector<std::string>& names,
                                       const JoinSides& sides) const {
  std::vector<AttributePtr> leftKeys, rightKeys;
  std::vector<ExpressionPtr> equalities;
  for (const std::string& name : names) {
    leftKeys.push_back(usingColumn(name, *sides.left, "left", context_.functions.caseSensitive));
    rightKeys.push_back(usingColumn(name, *sides.right, "right", context_.functions.caseSensitive));
    std::vector<ExpressionPtr> keys = {leftKeys.back(), rightKeys.back()};
    padComparison("==", &keys);
    equalities.push_back(resolveFunction({"==", std::move(keys)}, context_.functions));
  }
  const auto joined = std::make_shared<LogicalJoin>(type, joinConjuncts(equalities), sides.left, sides.right);

  std::vector<ExpressionPtr> list;
  std::vector<ExpressionPtr> hidden;
  for (size_t i = 0; i < names.size(); ++i) {
    const AttributePtr left = columnOf(*joined, leftKeys[i]);
    if (isExistence(type)) {
      list.push_back(left);
      continue;
    }
    const AttributePtr right = columnOf(*joined, rightKeys[i]);
    if (type == JoinType::FullOuter) {
      list.push_back(std::make_shared<Alias>(resolveFunction({"coalesce", {left, right}}, context_.functions),
                                             left->name()));
      hidden.push_back(left->withHidden());
      hidden.push_back(right->withHidden());
    } else {
      list.push_back(type == JoinType::RightOuter ? right : left);
      hidden.push_back((type == JoinType::RightOuter ? left : right)->withHidden());
    }
  }
  for (const AttributePtr& column : joined->output()) {
    if (!refersOnlyTo(*column, leftKeys) && !refersOnlyTo(*column, rightKeys)) list.push_back(column);
  }
  list.insert(list.end(), hidden.begin(), hidden.end());
  return std::make_shared<LogicalProject>(std::move(list), joined);
}

}  // namespace thalweg
