// Filters next to a table's scan become hints with which it leaves out files; the filter itself stays.
#include <arrow/scalar.h>

#include "expr/call.h"
#include "plan/optimize/optimizer.h"

namespace thalweg {
namespace {

std::optional<ScanPredicate::Op> operatorOf(const std::string& name, bool mirrored) {
  using Op = ScanPredicate::Op;
  if (name == "=") return Op::Equal;
  if (name == "<") return mirrored ? Op::Greater : Op::Less;
  if (name == "<=") return mirrored ? Op::GreaterOrEqual : Op::LessOrEqual;
  if (name == ">") return mirrored ? Op::Less : Op::Greater;
  if (name == ">=") return mirrored ? Op::LessOrEqual : Op::GreaterOrEqual;
  return std::nullopt;
}

std::optional<ScanPredicate> toPredicate(const Expression& condition) {
  if (condition.kind() != ExpressionKind::Call) return std::nullopt;
  const auto& call = static_cast<const Call&>(condition);
  if (call.children().size() == 1 && call.children()[0]->kind() == ExpressionKind::Attribute) {
    const std::string& column = static_cast<const Attribute&>(*call.children()[0]).name();
    if (call.traits().name == "isnull") return ScanPredicate{column, ScanPredicate::Op::IsNull, nullptr};
    if (call.traits().name == "isnotnull") return ScanPredicate{column, ScanPredicate::Op::IsNotNull, nullptr};
    return std::nullopt;
  }
  if (call.children().size() != 2) return std::nullopt;
  const bool mirrored = call.children()[0]->kind() == ExpressionKind::Literal;
  const ExpressionPtr& column = call.children()[mirrored ? 1 : 0];
  const ExpressionPtr& literal = call.children()[mirrored ? 0 : 1];
  if (column->kind() != ExpressionKind::Attribute || literal->kind() != ExpressionKind::Literal) return std::nullopt;
  const auto op = operatorOf(call.traits().name, mirrored);
  const auto& value = static_cast<const Literal&>(*literal);
  if (!op || value.isNull() || !equals(*column->type(), *literal->type())) return std::nullopt;
  return ScanPredicate{static_cast<const Attribute&>(*column).name(), *op, value.value()};
}

}  // namespace

std::vector<ScanPredicate> scanPredicates(const ExpressionPtr& condition) {
  std::vector<ScanPredicate> predicates;
  for (const ExpressionPtr& part : splitConjuncts(condition)) {
    if (auto predicate = toPredicate(*part)) predicates.push_back(std::move(*predicate));
  }
  return predicates;
}

LogicalPtr pushDownPredicates(const LogicalPtr& plan) {
  return transformUp(plan, [](const LogicalPtr& node) -> LogicalPtr {
    if (node->kind() != LogicalKind::Filter) return node;
    const auto& filter = static_cast<const LogicalFilter&>(*node);
    // Through nodes that only rename: the columns' names at the scan are what the hints name.
    LogicalPtr below = filter.child();
    while (below->kind() == LogicalKind::SubqueryAlias || below->kind() == LogicalKind::Filter) below = below->child();
    if (below->kind() != LogicalKind::TableScan) return node;
    const auto& scan = static_cast<const LogicalTableScan&>(*below);
    const std::vector<ScanPredicate> found = scanPredicates(filter.condition());
    if (found.empty()) return node;
    std::vector<ScanPredicate> predicates = scan.predicates();
    predicates.insert(predicates.end(), found.begin(), found.end());
    return transformUp(node, [&](const LogicalPtr& inner) -> LogicalPtr {
      if (inner.get() != below.get()) return inner;
      return std::make_shared<LogicalTableScan>(scan.table(), scan.columns(), scan.output(), std::move(predicates));
    });
  });
}

}  // namespace thalweg
