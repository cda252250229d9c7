// Operators of event time: windows of rows, and the watch over a stream's event times.
#pragma once

#include "exec/operators/operator.h"
#include "expr/expression.h"
#include "expr/time_window.h"

namespace thalweg {

// See LogicalTimeWindow. A row may have any number of windows: batches are cut, also within a row's windows.
class PhysicalTimeWindow final : public PhysicalNode {
 public:
  PhysicalTimeWindow(SchemaPtr schema, ExpressionPtr time, const TimeWindowSpec& spec, PhysicalPtr child);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;

 private:
  ExpressionPtr time_;
  TimeWindowSpec spec_;
};

// Passes rows on and notes their event times in the execution, under the operator's number.
class PhysicalEventTimeWatermark final : public PhysicalNode {
 public:
  // `eventTime` is a timestamp or a window's end. `watermarkIndex` numbers the plan's watermarks.
  PhysicalEventTimeWatermark(SchemaPtr schema, ExpressionPtr eventTime, int watermarkIndex, PhysicalPtr child);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;

 private:
  ExpressionPtr eventTime_;
  int watermarkIndex_;
};

}  // namespace thalweg
