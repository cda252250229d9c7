#include "expr/time_window.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "common/error.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/text/calendar.h"

namespace thalweg {
namespace {

DataTypePtr windowTypeOf(const DataTypePtr& time) {
  return DataType::structOf({{"start", time, true}, {"end", time, true}});
}

}  // namespace

int64_t lastWindowStart(int64_t time, const TimeWindowSpec& spec) {
  const auto sinceStart = static_cast<int64_t>(static_cast<uint64_t>(time) - static_cast<uint64_t>(spec.start));
  return static_cast<int64_t>(static_cast<uint64_t>(floorDivide(sinceStart, spec.slide)) * static_cast<uint64_t>(spec.slide) +
                              static_cast<uint64_t>(spec.start));
}

TimeWindow::TimeWindow(ExpressionPtr time, const TimeWindowSpec& spec)
    : Expression(ExpressionKind::TimeWindow, windowTypeOf(time->type()), false, {time}), spec_(spec) {}

TimeWindow::TimeWindow(ExpressionPtr time, ExpressionPtr gap)
    : Expression(ExpressionKind::TimeWindow, windowTypeOf(time->type()), false, {time, std::move(gap)}) {}

arrow::Datum TimeWindow::evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const {
  throw internalError("a time window was left in a plan");
}

ExpressionPtr TimeWindow::withChildren(std::vector<ExpressionPtr> children) const {
  if (isSession()) return std::make_shared<TimeWindow>(std::move(children[0]), std::move(children[1]));
  return std::make_shared<TimeWindow>(std::move(children[0]), spec_);
}

WindowTime::WindowTime(ExpressionPtr window)
    : Expression(ExpressionKind::WindowTime, window->type()->fields()[1].type, window->nullable(), {window}) {}

arrow::Datum WindowTime::evaluate(const arrow::RecordBatch& batch, const Selection& selection, const EvaluationContext& context) const {
  const auto windows = evaluateToArray(*children()[0], batch, selection, context);
  const auto ends = valueOrThrow(static_cast<const arrow::StructArray&>(*windows).GetFlattenedField(1));
  const auto& times = static_cast<const arrow::TimestampArray&>(*ends);
  arrow::TimestampBuilder builder(toArrowType(*type()), context.memoryPool());
  throwIfFailed(builder.Reserve(times.length()));
  for (int64_t row = 0; row < times.length(); ++row) {
    if (times.IsNull(row)) builder.UnsafeAppendNull();
    else builder.UnsafeAppend(times.Value(row) - 1);
  }
  return valueOrThrow(builder.Finish());
}

ExpressionPtr WindowTime::withChildren(std::vector<ExpressionPtr> children) const {
  return std::make_shared<WindowTime>(std::move(children[0]));
}

std::string WindowTime::toString() const { return "window_time(" + children()[0]->toString() + ")"; }

bool isWindowType(const DataType& type) {
  if (type.id() != TypeId::Struct || type.fields().size() != 2) return false;
  const auto& [start, end] = std::pair(type.fields()[0], type.fields()[1]);
  const bool times = start.type->id() == TypeId::Timestamp || start.type->id() == TypeId::TimestampNtz;
  return times && start.name == "start" && end.name == "end" && equals(*start.type, *end.type);
}

}  // namespace thalweg
