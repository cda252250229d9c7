#include "plan/analyze/streaming_rules.h"

#include <functional>
#include <string>

#include "common/error.h"
#include "expr/aggregate.h"
#include "plan/analyze/stream_join_bounds.h"
#include "plan/logical/event_time.h"
#include "types/column_metadata.h"

namespace thalweg {
namespace {

const char* nameOf(OutputMode mode) {
  return mode == OutputMode::Append ? "append" : mode == OutputMode::Update ? "update" : "complete";
}

[[noreturn]] void refuseOperator(const std::string& message) { throw Error("_LEGACY_ERROR_TEMP_3102", message, {{"msg", message}}); }

[[noreturn]] void refuseMode(OutputMode mode, const std::string& operation, const std::string& advice) {
  throw Error("STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION",
              std::string("The output mode ") + nameOf(mode) + " does not go with " + operation + ". " + advice,
              {{"outputMode", nameOf(mode)}, {"operation", operation}});
}

bool hasGroupMarked(const LogicalAggregate& aggregate, std::string_view metadataKey) {
  const auto& groups = aggregate.grouping();
  return std::any_of(groups.begin(), groups.end(), [&](const ExpressionPtr& group) {
    const AttributePtr column = group->kind() == ExpressionKind::Alias ? static_cast<const Alias&>(*group).toAttribute()
                                : group->kind() == ExpressionKind::Attribute ? std::static_pointer_cast<const Attribute>(group)
                                                                             : nullptr;
    return column && hasMetadataKey(column->metadata(), metadataKey);
  });
}

// Grouped by an event time or a window of one: groups end when the watermark passes them.
bool hasEventTimeGroup(const LogicalAggregate& aggregate) { return hasGroupMarked(aggregate, kWatermarkDelayKey); }

void checkAggregates(const std::vector<const LogicalAggregate*>& aggregates, OutputMode mode) {
  for (const LogicalAggregate* aggregate : aggregates) {
    if (mode == OutputMode::Append && !hasEventTimeGroup(*aggregate)) {
      refuseMode(mode, "streaming aggregations without watermark",
                 "Declare a watermark and group by its column or a window of it, or use the mode update or complete.");
    }
    if (mode == OutputMode::Update && hasGroupMarked(*aggregate, kSessionWindowKey)) {
      refuseMode(mode, "session window streaming aggregations", "Use the mode append or complete.");
    }
  }
  if (aggregates.size() > 1 && mode != OutputMode::Append) {
    refuseOperator("Multiple streaming aggregations are supported in the output mode append only.");
  }
}

// An outer or semi join of two streams: what it holds must end by a watermark. `bounded`: it does by its times.
void checkHeldRows(const LogicalJoin& join, OutputMode mode, bool bounded) {
  const std::string kind = std::string("A ") + nameOf(join.type()) + " join of two streams ";
  if (mode != OutputMode::Append && join.type() != JoinType::LeftSemi) refuseOperator(kind + "is supported in the output mode append only.");
  if (bounded || hasWatermarkInKeys(join)) return;
  refuseOperator(kind + "needs a watermark on a column of its equalities, or a watermark on the side without rows to keep and a range "
                 "of time in its condition.");
}

void checkJoin(const LogicalJoin& join, OutputMode mode) {
  const LogicalNode& left = *join.left();
  const LogicalNode& right = *join.right();
  const bool both = left.isStreaming() && right.isStreaming();
  if (both && mode == OutputMode::Complete) refuseOperator("A join of two streams is not supported in the output mode complete.");
  const auto refuse = [&](const char* which) {
    refuseOperator(std::string("A ") + nameOf(join.type()) + " join with a stream on the " + which + " side alone is not supported.");
  };
  switch (join.type()) {
    case JoinType::Inner:
    case JoinType::Cross: return;
    case JoinType::LeftAnti:
      if (right.isStreaming()) refuseOperator("A left anti join with a stream on its right side is not supported.");
      return;
    case JoinType::LeftOuter:
    case JoinType::LeftSemi:
      if (!left.isStreaming()) refuse("right");
      if (both) checkHeldRows(join, mode, isBoundedByWatermarkOf(join, left, right));
      return;
    case JoinType::RightOuter:
      if (!right.isStreaming()) refuse("left");
      if (both) checkHeldRows(join, mode, isBoundedByWatermarkOf(join, right, left));
      return;
    case JoinType::FullOuter:
      if (!both) refuse(left.isStreaming() ? "left" : "right");
      checkHeldRows(join, mode, isBoundedByWatermarkOf(join, left, right) || isBoundedByWatermarkOf(join, right, left));
      return;
  }
}

void checkAggregateFunctions(const LogicalAggregate& aggregate) {
  const auto isDistinct = [](const Expression& e) {
    return e.kind() == ExpressionKind::Aggregate && static_cast<const AggregateCall&>(e).spec().distinct;
  };
  for (const ExpressionPtr& result : aggregate.results()) {
    if (anyOf(*result, isDistinct))
      refuseOperator("Distinct aggregations are not supported on streaming DataFrames/Datasets. Consider using approx_count_distinct() instead.");
  }
}

// Of an operator with state above an aggregation.
void refuseLateRows(OutputMode mode) {
  if (mode == OutputMode::Append) return;
  refuseOperator("Deduplications and joins of streams after a streaming aggregation are supported in the output mode append only: in others "
                 "the aggregation brings a group again and again, and may bring rows that are late for them.");
}

void checkDeduplicate(const LogicalDeduplicate& node) {
  const auto& columns = node.child()->output();
  const bool hasWatermark = std::any_of(columns.begin(), columns.end(), [](const AttributePtr& column) {
    return hasMetadataKey(column->metadata(), kWatermarkDelayKey);
  });
  if (!node.withinWatermark() || hasWatermark) return;
  refuseOperator("dropDuplicatesWithinWatermark is not supported on streaming DataFrames/Datasets without a watermark.");
}

// What each operator over a stream demands. `aggregated`: an aggregation of the stream lies below.
void checkOperator(const LogicalNode& node, OutputMode mode) {
  const bool aggregated = !streamingAggregates(node).empty();
  switch (node.kind()) {
    case LogicalKind::Aggregate: return checkAggregateFunctions(static_cast<const LogicalAggregate&>(node));
    case LogicalKind::Sort:
      if (aggregated && mode == OutputMode::Complete) return;
      refuseOperator("Sorting a stream is supported after an aggregation, in the output mode complete only.");
    case LogicalKind::Limit: {
      const auto& limit = static_cast<const LogicalLimit&>(node);
      if (limit.offset() > 0 || limit.tail()) refuseOperator("offset and tail are not supported on streaming DataFrames/Datasets.");
      if (mode == OutputMode::Update) refuseOperator("limit is not supported on streaming DataFrames/Datasets in the output mode update.");
      return;
    }
    case LogicalKind::Deduplicate:
      if (aggregated) refuseLateRows(mode);
      return checkDeduplicate(static_cast<const LogicalDeduplicate&>(node));
    case LogicalKind::EventTimeWatermark: {
      const auto& watermark = static_cast<const LogicalEventTimeWatermark&>(node);
      for (const AttributePtr& column : node.child()->output()) {
        if (column->id() == watermark.eventTime()->id() || !hasMetadataKey(column->metadata(), kWatermarkDelayKey)) continue;
        throw Error("_LEGACY_ERROR_TEMP_3076",
                    "The stream has a watermark on '" + column->name() + "' already; another one on '" + watermark.eventTime()->name() +
                        "' is not supported.",
                    {});
      }
      return;
    }
    case LogicalKind::Union:
      for (const LogicalPtr& child : node.children()) {
        if (!child->isStreaming()) refuseOperator("A union of a streaming with a static DataFrame is not supported.");
      }
      return;
    case LogicalKind::Join:
      if (aggregated && node.children()[0]->isStreaming() && node.children()[1]->isStreaming()) refuseLateRows(mode);
      return checkJoin(static_cast<const LogicalJoin&>(node), mode);
    default: return;
  }
}

void checkOperators(const LogicalNode& node, OutputMode mode) {
  if (!node.isStreaming()) return;
  checkOperator(node, mode);
  for (const LogicalPtr& child : node.children()) checkOperators(*child, mode);
}

}  // namespace

std::vector<const LogicalAggregate*> streamingAggregates(const LogicalNode& plan) {
  std::vector<const LogicalAggregate*> found;
  if (!plan.isStreaming()) return found;
  if (plan.kind() == LogicalKind::Aggregate) found.push_back(static_cast<const LogicalAggregate*>(&plan));
  for (const LogicalPtr& child : plan.children()) {
    const auto below = streamingAggregates(*child);
    found.insert(found.end(), below.begin(), below.end());
  }
  return found;
}

void checkStreamingPlan(const LogicalNode& plan, OutputMode mode) {
  const auto aggregates = streamingAggregates(plan);
  if (mode == OutputMode::Complete && aggregates.empty()) {
    refuseMode(mode, "no streaming aggregations", "Aggregate the stream, or use the mode append.");
  }
  checkAggregates(aggregates, mode);
  checkOperators(plan, mode);
}

}  // namespace thalweg
