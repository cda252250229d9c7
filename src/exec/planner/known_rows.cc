#include "exec/planner/known_rows.h"

#include <algorithm>

#include <arrow/record_batch.h>

#include "expr/aggregate.h"
#include "expr/nodes.h"

namespace thalweg {
namespace {

// Of every row, whatever is in it.
bool countsRows(const AggregateCall& call) {
  if (call.spec().name != "count" || call.spec().distinct || call.spec().filtered) return false;
  return std::all_of(call.children().begin(), call.children().end(), [](const ExpressionPtr& argument) {
    return argument->kind() == ExpressionKind::Literal && !static_cast<const Literal&>(*argument).isNull();
  });
}

// The table whose rows come out of a plan one for one.
const LogicalTableScan* wholeTable(const LogicalNode& node) {
  if (node.kind() == LogicalKind::Project || node.kind() == LogicalKind::SubqueryAlias) return wholeTable(*node.child());
  return node.kind() == LogicalKind::TableScan ? static_cast<const LogicalTableScan*>(&node) : nullptr;
}

}  // namespace

std::optional<int64_t> mostRows(const LogicalNode& node) {
  switch (node.kind()) {
    case LogicalKind::LocalRelation: {
      int64_t rows = 0;
      for (const auto& batch : static_cast<const LogicalLocalRelation&>(node).batches()) rows += batch->num_rows();
      return rows;
    }
    case LogicalKind::TableScan: return static_cast<const LogicalTableScan&>(node).table()->rowCount();
    case LogicalKind::Project:
    case LogicalKind::Filter:
    case LogicalKind::SubqueryAlias:
    case LogicalKind::Repartition:
    case LogicalKind::Sort: return mostRows(*node.child());
    default: return std::nullopt;
  }
}

std::optional<std::vector<ExpressionPtr>> knownCounts(const LogicalAggregate& aggregate) {
  const LogicalTableScan* table = wholeTable(*aggregate.child());
  if (!table || !aggregate.grouping().empty()) return std::nullopt;
  bool onlyCounts = true;
  for (const ExpressionPtr& result : aggregate.results()) {
    onlyCounts = onlyCounts && !anyOf(*result, [](const Expression& part) {
      return part.kind() == ExpressionKind::Aggregate && !countsRows(static_cast<const AggregateCall&>(part));
    });
  }
  if (!onlyCounts) return std::nullopt;
  const std::optional<int64_t> rows = table->table()->rowCount();
  if (!rows) return std::nullopt;
  std::vector<ExpressionPtr> results;
  for (const ExpressionPtr& result : aggregate.results()) {
    results.push_back(transformUp(result, [&](const ExpressionPtr& part) {
      return part->kind() == ExpressionKind::Aggregate ? Literal::of(*rows) : part;
    }));
  }
  return results;
}

}  // namespace thalweg
