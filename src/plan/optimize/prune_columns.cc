// Scans read only the columns that something above uses; projections compute only what is used.
#include <set>

#include "plan/logical/collect_metrics.h"
#include "plan/logical/event_time.h"
#include "plan/logical/generate.h"
#include "plan/logical/join.h"
#include "plan/logical/repartition.h"
#include "plan/optimize/optimizer.h"
#include "types/column_metadata.h"

namespace thalweg {
namespace {

using Ids = std::set<ExpressionId>;

void addReferences(const Expression& expression, Ids* ids) {
  if (expression.kind() == ExpressionKind::Attribute) ids->insert(static_cast<const Attribute&>(expression).id());
  for (const ExpressionPtr& child : expression.children()) addReferences(*child, ids);
}

Ids allOf(const std::vector<AttributePtr>& output) {
  Ids ids;
  for (const AttributePtr& attribute : output) ids.insert(attribute->id());
  return ids;
}

ExpressionId idOf(const ExpressionPtr& named) {
  return named->kind() == ExpressionKind::Attribute ? static_cast<const Attribute&>(*named).id()
                                                    : static_cast<const Alias&>(*named).id();
}

template <typename Scan>
LogicalPtr pruneScan(const Scan& scan, const Ids& needed, const std::function<LogicalPtr(std::vector<int>, std::vector<AttributePtr>)>& make) {
  std::vector<int> columns;
  std::vector<AttributePtr> output;
  for (size_t i = 0; i < scan.output().size(); ++i) {
    if (!needed.contains(scan.output()[i]->id())) continue;
    columns.push_back(scan.columns()[i]);
    output.push_back(scan.output()[i]);
  }
  return make(std::move(columns), std::move(output));
}

LogicalPtr onlyColumns(const LogicalPtr& node, const Ids& wanted) {
  std::vector<ExpressionPtr> kept;
  for (const AttributePtr& column : node->output()) {
    if (wanted.contains(column->id())) kept.push_back(column);
  }
  if (kept.size() == node->output().size()) return node;
  return std::make_shared<LogicalProject>(std::move(kept), node);
}

LogicalPtr prune(const LogicalPtr& node, const Ids& needed) {
  switch (node->kind()) {
    case LogicalKind::TableScan: {
      const auto& scan = static_cast<const LogicalTableScan&>(*node);
      return pruneScan(scan, needed, [&](std::vector<int> columns, std::vector<AttributePtr> output) {
        return std::make_shared<LogicalTableScan>(scan.table(), std::move(columns), std::move(output), scan.predicates());
      });
    }
    case LogicalKind::StreamScan: {
      const auto& scan = static_cast<const LogicalStreamScan&>(*node);
      return pruneScan(scan, needed, [&](std::vector<int> columns, std::vector<AttributePtr> output) {
        return std::make_shared<LogicalStreamScan>(scan.source(), std::move(columns), std::move(output), scan.sourceIndex());
      });
    }
    case LogicalKind::Project: {
      const auto& project = static_cast<const LogicalProject&>(*node);
      std::vector<ExpressionPtr> kept;
      Ids below;
      for (const ExpressionPtr& expression : project.expressions()) {
        if (!needed.contains(idOf(expression))) continue;
        kept.push_back(expression);
        addReferences(*expression, &below);
      }
      return std::make_shared<LogicalProject>(std::move(kept), prune(project.child(), below));
    }
    case LogicalKind::Filter: {
      const auto& filter = static_cast<const LogicalFilter&>(*node);
      Ids below = needed;
      addReferences(*filter.condition(), &below);
      return std::make_shared<LogicalFilter>(filter.condition(), prune(filter.child(), below));
    }
    case LogicalKind::Sort: {
      const auto& sort = static_cast<const LogicalSort&>(*node);
      Ids below = needed;
      for (const ExpressionPtr& order : sort.orders()) addReferences(*order, &below);
      return node->withChildren({prune(sort.child(), below)});
    }
    case LogicalKind::Limit: return node->withChildren({prune(node->child(), needed)});
    case LogicalKind::Repartition: {
      Ids below = needed;
      for (const ExpressionPtr& key : static_cast<const LogicalRepartition&>(*node).spread().keys)
        addReferences(*key, &below);
      // Its rows are held: what only the operators below used is none of them.
      return node->withChildren({onlyColumns(prune(node->child(), below), below)});
    }
    case LogicalKind::Join: {
      const auto& join = static_cast<const LogicalJoin&>(*node);
      Ids below = needed;
      if (join.condition()) addReferences(*join.condition(), &below);
      LogicalPtr left = prune(join.left(), below), right = prune(join.right(), below);
      // Their rows are kept as state: what only the operators below used is none of it.
      if (left->isStreaming() && right->isStreaming()) {
        left = onlyColumns(left, below);
        right = onlyColumns(right, below);
      }
      return node->withChildren({std::move(left), std::move(right)});
    }
    case LogicalKind::TimeWindow: {
      Ids below = needed;
      addReferences(*static_cast<const LogicalTimeWindow&>(*node).time(), &below);
      return node->withChildren({prune(node->child(), below)});
    }
    case LogicalKind::Generate: {
      const auto& generate = static_cast<const LogicalGenerate&>(*node);
      std::vector<AttributePtr> kept;
      Ids below;
      for (const AttributePtr& column : generate.kept()) {
        if (!needed.contains(column->id())) continue;
        kept.push_back(column);
        below.insert(column->id());
      }
      addReferences(*generate.generator(), &below);
      return std::make_shared<LogicalGenerate>(generate.generator(), std::move(kept), generate.generated(), prune(generate.child(), below));
    }
    case LogicalKind::Expand: {
      Ids below = needed;
      for (const ExpressionPtr& one : static_cast<const LogicalExpand&>(*node).grouping().expressions) addReferences(*one, &below);
      return node->withChildren({prune(node->child(), below)});
    }
    case LogicalKind::SessionWindow: {
      Ids below = needed;
      addReferences(*static_cast<const LogicalSessionWindow&>(*node).time(), &below);
      addReferences(*static_cast<const LogicalSessionWindow&>(*node).gap(), &below);
      return node->withChildren({prune(node->child(), below)});
    }
    case LogicalKind::EventTimeWatermark: {
      Ids below = needed;
      below.insert(static_cast<const LogicalEventTimeWatermark&>(*node).eventTime()->id());
      return node->withChildren({prune(node->child(), below)});
    }
    case LogicalKind::Aggregate: {
      const auto& aggregate = static_cast<const LogicalAggregate&>(*node);
      Ids below;
      for (const ExpressionPtr& group : aggregate.grouping()) addReferences(*group, &below);
      std::vector<ExpressionPtr> kept;
      for (const ExpressionPtr& result : aggregate.results()) {
        if (!needed.contains(idOf(result))) continue;
        kept.push_back(result);
        addReferences(*result, &below);
      }
      return std::make_shared<LogicalAggregate>(aggregate.grouping(), std::move(kept), prune(aggregate.child(), below));
    }
    case LogicalKind::CollectMetrics: {
      Ids below = needed;
      for (const ExpressionPtr& metric : static_cast<const LogicalCollectMetrics&>(*node).metrics()) addReferences(*metric, &below);
      return node->withChildren({prune(node->child(), below)});
    }
    case LogicalKind::Deduplicate: {
      const auto& deduplicate = static_cast<const LogicalDeduplicate&>(*node);
      Ids below = needed;
      for (const AttributePtr& key : deduplicate.keys()) below.insert(key->id());
      for (const AttributePtr& column : node->child()->output()) {
        if (deduplicate.withinWatermark() && hasMetadataKey(column->metadata(), kWatermarkDelayKey)) below.insert(column->id());
      }
      // To Spark rows are late by an event time that is used above, or a key: with no other one may the operator see.
      return node->withChildren({onlyColumns(prune(node->child(), below), below)});
    }
    default: {
      // Operators that need all columns of their children (unions by position).
      std::vector<LogicalPtr> children;
      for (const LogicalPtr& child : node->children()) children.push_back(prune(child, allOf(child->output())));
      return children.empty() ? node : node->withChildren(std::move(children));
    }
  }
}

}  // namespace

LogicalPtr pruneColumns(const LogicalPtr& plan) { return prune(plan, allOf(plan->output())); }

}  // namespace thalweg
