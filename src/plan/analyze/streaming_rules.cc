#include "plan/analyze/streaming_rules.h"

#include <functional>
#include <string>

#include "common/error.h"
#include "plan/logical/event_time.h"

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

// The streaming aggregations of a plan, the topmost first.
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

// Grouped by an event time or a window of one: groups end when the watermark passes them.
bool hasEventTimeGroup(const LogicalAggregate& aggregate) {
  const auto& groups = aggregate.grouping();
  return std::any_of(groups.begin(), groups.end(), [](const ExpressionPtr& group) {
    const AttributePtr column = group->kind() == ExpressionKind::Alias ? static_cast<const Alias&>(*group).toAttribute()
                                : group->kind() == ExpressionKind::Attribute ? std::static_pointer_cast<const Attribute>(group)
                                                                             : nullptr;
    return column && hasMetadataKey(column->metadata(), kWatermarkDelayKey);
  });
}

void checkAggregates(const std::vector<const LogicalAggregate*>& aggregates, OutputMode mode) {
  for (const LogicalAggregate* aggregate : aggregates) {
    if (mode == OutputMode::Append && !hasEventTimeGroup(*aggregate)) {
      refuseMode(mode, "streaming aggregations without watermark",
                 "Declare a watermark and group by its column or a window of it, or use the mode update or complete.");
    }
  }
  if (aggregates.size() > 1 && mode != OutputMode::Append) {
    refuseOperator("Multiple streaming aggregations are supported in the output mode append only.");
  }
}

// What each operator over a stream demands. `aggregated`: an aggregation of the stream lies below.
void checkOperator(const LogicalNode& node, OutputMode mode) {
  const bool aggregated = !streamingAggregates(node).empty();
  switch (node.kind()) {
    case LogicalKind::Sort:
      if (aggregated && mode == OutputMode::Complete) return;
      refuseOperator("Sorting a stream is supported after an aggregation, in the output mode complete only.");
    case LogicalKind::Limit: {
      const auto& limit = static_cast<const LogicalLimit&>(node);
      if (limit.offset() > 0 || limit.tail()) refuseOperator("offset and tail are not supported on streaming DataFrames/Datasets.");
      if (mode == OutputMode::Update) refuseOperator("limit is not supported on streaming DataFrames/Datasets in the output mode update.");
      return;
    }
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
    default: return;
  }
}

void checkOperators(const LogicalNode& node, OutputMode mode) {
  if (!node.isStreaming()) return;
  checkOperator(node, mode);
  for (const LogicalPtr& child : node.children()) checkOperators(*child, mode);
}

}  // namespace

void checkStreamingPlan(const LogicalNode& plan, OutputMode mode) {
  const auto aggregates = streamingAggregates(plan);
  if (mode == OutputMode::Complete && aggregates.empty()) {
    refuseMode(mode, "no streaming aggregations", "Aggregate the stream, or use the mode append.");
  }
  checkAggregates(aggregates, mode);
  checkOperators(plan, mode);
}

}  // namespace thalweg
