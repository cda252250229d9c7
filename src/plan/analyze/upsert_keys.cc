#include "plan/analyze/upsert_keys.h"

#include <algorithm>
#include <map>
#include <string>

#include "common/error.h"
#include "expr/nodes.h"
#include "plan/analyze/streaming_rules.h"
#include "plan/logical/event_time.h"

namespace thalweg {
namespace {

// Grouping columns and results are attributes or aliases.
AttributePtr columnOf(const ExpressionPtr& named) {
  if (named->kind() == ExpressionKind::Attribute) return std::static_pointer_cast<const Attribute>(named);
  return static_cast<const Alias&>(*named).toAttribute();
}

// A grouping column, or what lies within it: the way down through its members.
struct KeyPart {
  ExpressionId column = 0;
  std::vector<int> members;

  bool operator==(const KeyPart&) const = default;
};
// Of a node's output columns those that are parts of keys, by attribute id.
using KeyParts = std::map<ExpressionId, KeyPart>;

std::optional<KeyPart> partOf(const Expression& expression, const KeyParts& parts) {
  switch (expression.kind()) {
    case ExpressionKind::Alias:
      return partOf(*static_cast<const Alias&>(expression).child(), parts);
    case ExpressionKind::Attribute: {
      const auto found = parts.find(static_cast<const Attribute&>(expression).id());
      return found == parts.end() ? std::nullopt : std::optional(found->second);
    }
    case ExpressionKind::Field: {
      const auto& access = static_cast<const FieldAccess&>(expression);
      auto part = partOf(*access.children()[0], parts);
      if (part) part->members.push_back(access.ordinal());
      return part;
    }
    default:
      return std::nullopt;
  }
}

KeyParts partsOf(const std::vector<ExpressionPtr>& expressions, const KeyParts& below) {
  KeyParts parts;
  for (const ExpressionPtr& expression : expressions) {
    const auto part = partOf(*expression, below);
    if (part) parts[columnOf(expression)->id()] = *part;
  }
  return parts;
}

// The parts of keys in the node's output; the aggregation lies at or below it.
KeyParts partsIn(const LogicalNode& node) {
  switch (node.kind()) {
    case LogicalKind::Aggregate: {
      const auto& aggregate = static_cast<const LogicalAggregate&>(node);
      KeyParts groups;
      for (const ExpressionPtr& group : aggregate.grouping()) {
        const ExpressionId id = columnOf(group)->id();
        groups[id] = {id, {}};
      }
      return partsOf(aggregate.results(), groups);
    }
    case LogicalKind::Project:
      return partsOf(static_cast<const LogicalProject&>(node).expressions(), partsIn(*node.child()));
    case LogicalKind::Filter:
    case LogicalKind::SubqueryAlias:
    case LogicalKind::EventTimeWatermark:
    case LogicalKind::CollectMetrics:
    case LogicalKind::Repartition:
      return partsIn(*node.child());
    default:
      throw unsupported("update mode into this sink with " + node.describe() +
                        " after the aggregation, which may make several rows of a group's one");
  }
}

bool isWindowOfTime(const LogicalNode& plan, ExpressionId column) {
  if (plan.kind() == LogicalKind::TimeWindow &&
      static_cast<const LogicalTimeWindow&>(plan).window()->id() == column)
    return true;
  const auto& children = plan.children();
  return std::any_of(children.begin(), children.end(),
                     [&](const LogicalPtr& child) { return isWindowOfTime(*child, column); });
}

// Positions of the output columns that stand for a grouping column; none where they do not.
std::vector<int> positionsOf(const Attribute& group, const std::vector<AttributePtr>& output,
                             const KeyParts& parts, bool isWindow) {
  const auto positionOf = [&](const KeyPart& wanted) {
    for (size_t i = 0; i < output.size(); ++i) {
      const auto found = parts.find(output[i]->id());
      if (found != parts.end() && found->second == wanted) return static_cast<int>(i);
    }
    return -1;
  };
  if (const int whole = positionOf({group.id(), {}}); whole >= 0) return {whole};
  if (group.type()->id() != TypeId::Struct) return {};
  std::vector<int> members;
  const auto numMembers = static_cast<int>(group.type()->fields().size());
  for (int i = 0; i < numMembers; ++i) {
    if (const int position = positionOf({group.id(), {i}}); position >= 0) members.push_back(position);
  }
  const bool enough = isWindow ? !members.empty() : static_cast<int>(members.size()) == numMembers;
  return enough ? members : std::vector<int>();
}

}  // namespace

std::optional<std::vector<int>> upsertKeyColumns(const LogicalNode& plan) {
  const auto aggregates = streamingAggregates(plan);
  if (aggregates.empty()) return std::nullopt;
  const LogicalAggregate* aggregate = aggregates.front();
  const KeyParts parts = partsIn(plan);
  std::vector<int> keys;
  for (const ExpressionPtr& grouping : aggregate->grouping()) {
    const AttributePtr group = columnOf(grouping);
    // A window of time has one length: its start alone says which it is.
    const ExpressionPtr& column = grouping->kind() == ExpressionKind::Alias ? grouping->children()[0] : grouping;
    const bool isWindow = column->kind() == ExpressionKind::Attribute &&
                          isWindowOfTime(*aggregate, static_cast<const Attribute&>(*column).id());
    const auto positions = positionsOf(*group, plan.output(), parts, isWindow);
    if (positions.empty() && group->name() == "spark_grouping_id") {
      throw unsupported("update mode into this sink of rollup, cube or grouping sets without grouping_id(), which tells their rows apart "
                        "(add it to the aggregates)");
    }
    if (positions.empty()) {
      throw unsupported("update mode into this sink without the grouping column " + group->name() +
                        " in the output, by which a group's earlier row is found (select it too)");
    }
    keys.insert(keys.end(), positions.begin(), positions.end());
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace thalweg
