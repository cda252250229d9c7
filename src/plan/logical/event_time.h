// Logical operators of event time: windows and watermarks.
#pragma once

#include "expr/time_window.h"
#include "plan/logical/node.h"

namespace thalweg {

// A row for each window that holds its time, the latest window first; rows whose time is null are left out. Output: the
// child's columns, then the window.
class LogicalTimeWindow final : public LogicalNode {
 public:
  LogicalTimeWindow(ExpressionPtr time, const TimeWindowSpec& spec, AttributePtr window, LogicalPtr child);
  const ExpressionPtr& time() const { return time_; }
  const TimeWindowSpec& spec() const { return spec_; }
  const AttributePtr& window() const { return output().back(); }
  LogicalPtr withChildren(std::vector<LogicalPtr> children) const override;
  std::string describe() const override;

 private:
  ExpressionPtr time_;
  TimeWindowSpec spec_;
};

// A row's own session: from its time until its time and the gap. Rows whose time is null, or whose gap is null or not positive, are left
// out. Output: the child's columns, then the window. An aggregation by the window makes one session of those that touch.
class LogicalSessionWindow final : public LogicalNode {
 public:
  // `gap`: see TimeWindow.
  LogicalSessionWindow(ExpressionPtr time, ExpressionPtr gap, AttributePtr window, LogicalPtr child);
  const ExpressionPtr& time() const { return time_; }
  const ExpressionPtr& gap() const { return gap_; }
  const AttributePtr& window() const { return output().back(); }
  LogicalPtr withChildren(std::vector<LogicalPtr> children) const override;
  std::string describe() const override;

 private:
  ExpressionPtr time_, gap_;
};

// Declares a column of a stream as its event time. The batch's greatest value less the delay is the next batch's watermark.
class LogicalEventTimeWatermark final : public LogicalNode {
 public:
  // `eventTime` is a column of the child: a timestamp, or a window (whose end counts). `index` numbers the plan's watermarks
  // from the left once a query starts; −1 before.
  LogicalEventTimeWatermark(AttributePtr eventTime, int64_t delayMs, LogicalPtr child, int index = -1);
  const AttributePtr& eventTime() const { return eventTime_; }
  int64_t delayMs() const { return delayMs_; }
  int index() const { return index_; }
  LogicalPtr withChildren(std::vector<LogicalPtr> children) const override;
  std::string describe() const override;

 private:
  AttributePtr eventTime_;
  int64_t delayMs_;
  int index_;
};

}  // namespace thalweg
