// Windows of time as they stand in a plan before the analyzer gives them a node of their own: window(ts, …), session_window(ts, gap),
// window_time(w).
#pragma once

#include <cstdint>

#include "expr/expression.h"

namespace thalweg {

// Windows [start + k·slide, start + k·slide + duration) counted from 1970-01-01 00:00 UTC; times in microseconds.
struct TimeWindowSpec {
  int64_t duration = 0;  // > 0
  int64_t slide = 0;     // 0 < slide ≤ duration
  int64_t start = 0;     // |start| < slide
  bool operator==(const TimeWindowSpec&) const = default;
};

// The start of the latest window that holds a time. Times at the ends of the range wrap around, as Java's do.
int64_t lastWindowStart(int64_t time, const TimeWindowSpec& spec);

// The windows of a time: struct<start, end>. One row has duration/slide of them, and of a session's none where the gap is not positive,
// so that no value can stand for it: the analyzer puts a LogicalTimeWindow or LogicalSessionWindow below the operator that has one.
// Never evaluated.
class TimeWindow final : public Expression {
 public:
  // `time` is a timestamp with or without zone.
  TimeWindow(ExpressionPtr time, const TimeWindowSpec& spec);
  // The session that begins with a row: until its time and the gap, a text ("5 minutes") or a day-time interval. Children: both.
  TimeWindow(ExpressionPtr time, ExpressionPtr gap);
  bool isSession() const { return children().size() == 2; }
  const TimeWindowSpec& spec() const { return spec_; }
  arrow::Datum evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const override;
  ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const override;
  Foldability foldability() const override { return Foldability::Never; }
  std::string toString() const override { return isSession() ? "session_window" : "window"; }

 private:
  TimeWindowSpec spec_;
};

// The last microsecond of a window: its time as an event. The analyzer names it below the operator that has one, since
// its column keeps the window's watermark.
class WindowTime final : public Expression {
 public:
  explicit WindowTime(ExpressionPtr window);
  arrow::Datum evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const override;
  ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const override;
  std::string toString() const override;
};

// True for struct<start, end> of two equal timestamp types.
bool isWindowType(const DataType& type);

}  // namespace thalweg
