#include "plan/logical/event_time.h"

#include "types/column_metadata.h"

namespace thalweg {
namespace {

std::vector<AttributePtr> withWindow(const LogicalNode& child, const AttributePtr& window) {
  std::vector<AttributePtr> output = child.output();
  output.push_back(window);
  return output;
}

std::vector<AttributePtr> withDelay(const LogicalNode& child, const AttributePtr& eventTime, int64_t delayMs) {
  std::vector<AttributePtr> output;
  for (const AttributePtr& column : child.output()) {
    output.push_back(column->id() == eventTime->id()
                         ? column->withMetadata(withMetadataKey(column->metadata(), kWatermarkDelayKey, std::to_string(delayMs)))
                         : column);
  }
  return output;
}

}  // namespace

LogicalTimeWindow::LogicalTimeWindow(ExpressionPtr time, const TimeWindowSpec& spec, AttributePtr window, LogicalPtr child)
    : LogicalNode(LogicalKind::TimeWindow, {child}, withWindow(*child, window)), time_(std::move(time)), spec_(spec) {}

LogicalPtr LogicalTimeWindow::withChildren(std::vector<LogicalPtr> children) const {
  return std::make_shared<LogicalTimeWindow>(time_, spec_, window(), std::move(children[0]));
}

std::string LogicalTimeWindow::describe() const {
  return "TimeWindow " + time_->toString() + ", " + std::to_string(spec_.duration) + ", " + std::to_string(spec_.slide) + ", " +
         std::to_string(spec_.start);
}

LogicalSessionWindow::LogicalSessionWindow(ExpressionPtr time, ExpressionPtr gap, AttributePtr window, LogicalPtr child)
    : LogicalNode(LogicalKind::SessionWindow, {child}, withWindow(*child, window)), time_(std::move(time)), gap_(std::move(gap)) {}

LogicalPtr LogicalSessionWindow::withChildren(std::vector<LogicalPtr> children) const {
  return std::make_shared<LogicalSessionWindow>(time_, gap_, window(), std::move(children[0]));
}

std::string LogicalSessionWindow::describe() const { return "SessionWindow " + time_->toString() + ", " + gap_->toString(); }

LogicalEventTimeWatermark::LogicalEventTimeWatermark(AttributePtr eventTime, int64_t delayMs, LogicalPtr child, int index)
    : LogicalNode(LogicalKind::EventTimeWatermark, {child}, withDelay(*child, eventTime, delayMs)),
      eventTime_(std::move(eventTime)),
      delayMs_(delayMs),
      index_(index) {}

LogicalPtr LogicalEventTimeWatermark::withChildren(std::vector<LogicalPtr> children) const {
  return std::make_shared<LogicalEventTimeWatermark>(eventTime_, delayMs_, std::move(children[0]), index_);
}

std::string LogicalEventTimeWatermark::describe() const {
  return "EventTimeWatermark " + eventTime_->toString() + ", " + std::to_string(delayMs_) + " milliseconds";
}

}  // namespace thalweg
