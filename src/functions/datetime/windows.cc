// window(ts, duration[, slide[, start]]), session_window(ts, gap) and window_time(window).
#include <cstdlib>

#include <arrow/scalar.h>

#include "common/error.h"
#include "expr/time_window.h"
#include "functions/coercion.h"
#include "functions/datetime/tables.h"
#include "types/text/intervals.h"

namespace thalweg {
namespace {

// Months have no fixed length.
int64_t fixedInterval(const std::string& text) {
  if (countsMonths(text)) {
    throw Error(ErrorKind::IllegalArgument, "_LEGACY_ERROR_TEMP_3231",
                "A window's length cannot be counted in months or years: '" + text + "'. Use days or less.", {{"interval", text}});
  }
  return parseIntervalMicros(text);
}

// A length of time: a constant text, interval or number of microseconds.
int64_t fixedInterval(const Expression& argument, const char* parameter) {
  const auto* literal = argument.kind() == ExpressionKind::Literal ? &static_cast<const Literal&>(argument) : nullptr;
  if (literal && !literal->isNull()) {
    switch (argument.type()->id()) {
      case TypeId::String: return fixedInterval(std::string(static_cast<const arrow::StringScalar&>(*literal->value()).view()));
      case TypeId::DayTimeInterval: return static_cast<const arrow::DurationScalar&>(*literal->value()).value;
      case TypeId::Int: return static_cast<const arrow::Int32Scalar&>(*literal->value()).value;
      case TypeId::Long: return static_cast<const arrow::Int64Scalar&>(*literal->value()).value;
      default: break;
    }
  }
  throw Error("NON_FOLDABLE_ARGUMENT",
              "The " + std::string(parameter) + " of a window is a constant such as '5 minutes', but here it is " + argument.toString() + ".",
              {{"funcName", "`window`"}, {"paramName", "`" + std::string(parameter) + "`"}, {"paramType", "\"STRING\""}});
}

// A row comes out once for each of its windows.
constexpr int64_t kMostWindowsOfARow = 100'000;

void requirePositive(const char* name, int64_t value, const std::string& sql) {
  if (value > 0) return;
  throw Error("DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
              std::string("The ") + name + " of a window must be longer than nothing, but is " + std::to_string(value) + " microseconds.",
              {{"sqlExpr", "\"" + sql + "\""}, {"exprName", name}, {"valueRange", "(0, 9223372036854775807]"},
               {"currentValue", std::to_string(value) + "L"}});
}

[[noreturn]] void throwConstraint(const char* left, int64_t leftValue, const char* relation, const char* right, int64_t rightValue) {
  throw Error("DATATYPE_MISMATCH.PARAMETER_CONSTRAINT_VIOLATION",
              std::string("A window's ") + left + " (" + std::to_string(leftValue) + " microseconds) must be " + relation + " its " + right +
                  " (" + std::to_string(rightValue) + " microseconds).",
              {{"sqlExpr", "\"window\""}, {"leftExprName", left}, {"leftExprValue", std::to_string(leftValue) + "L"},
               {"constraint", relation}, {"rightExprName", right}, {"rightExprValue", std::to_string(rightValue) + "L"}});
}

// The time by which rows are in windows; a window of windows is by the time of each.
ExpressionPtr timeArgument(const FunctionCall& call, const char* function, const FunctionContext& context) {
  const ExpressionPtr& time = call.arguments[0];
  if (isWindowType(*time->type())) return std::make_shared<WindowTime>(time);
  return time->type()->id() == TypeId::TimestampNtz ? time : implicitCast(time, timestampType(), function, 1, context);
}

ExpressionPtr resolveWindow(const FunctionCall& call, const FunctionContext& context) {
  const ExpressionPtr time = timeArgument(call, "window", context);
  TimeWindowSpec spec;
  spec.duration = fixedInterval(*call.arguments[1], "windowDuration");
  spec.slide = call.arguments.size() > 2 ? fixedInterval(*call.arguments[2], "slideDuration") : spec.duration;
  spec.start = call.arguments.size() > 3 ? fixedInterval(*call.arguments[3], "startTime") : 0;
  requirePositive("window_duration", spec.duration, "window");
  requirePositive("slide_duration", spec.slide, "window");
  if (spec.slide > spec.duration) throwConstraint("slide_duration", spec.slide, "<=", "window_duration", spec.duration);
  if (spec.duration / spec.slide > kMostWindowsOfARow) {
    throw unsupported("A window of " + std::to_string(spec.duration) + " microseconds that slides by " + std::to_string(spec.slide) +
                      ", of which a row has more than " + std::to_string(kMostWindowsOfARow) + ",");
  }
  if (std::abs(spec.start) >= spec.slide) throwConstraint("abs(start_time)", std::abs(spec.start), "<", "slide_duration", spec.slide);
  return std::make_shared<TimeWindow>(time, spec);
}

ExpressionPtr resolveWindowTime(const FunctionCall& call, const FunctionContext&) {
  const ExpressionPtr& window = call.arguments[0];
  if (!isWindowType(*window->type())) {
    throw Error("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                "window_time takes a column made by window(), but '" + window->toString() + "' is " + window->type()->sqlString() + ".",
                {{"sqlExpr", "\"window_time(" + window->toString() + ")\""}, {"paramIndex", "first"}, {"inputSql", "\"" + window->toString() + "\""},
                 {"inputType", "\"" + window->type()->sqlString() + "\""}, {"requiredType", "\"STRUCT<start: TIMESTAMP, end: TIMESTAMP>\""}});
  }
  return std::make_shared<WindowTime>(window);
}

ExpressionPtr resolveSessionWindow(const FunctionCall& call, const FunctionContext& context) {
  const ExpressionPtr& gap = call.arguments[1];
  const TypeId type = gap->type()->id();
  if (type != TypeId::String && type != TypeId::DayTimeInterval && type != TypeId::Void) {
    throw Error("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                "The gap of a session_window is a text such as '5 minutes', but '" + gap->toString() + "' is " + gap->type()->sqlString() + ".",
                {{"sqlExpr", "\"session_window\""}, {"paramIndex", "second"}, {"inputSql", "\"" + gap->toString() + "\""},
                 {"inputType", "\"" + gap->type()->sqlString() + "\""}, {"requiredType", "\"STRING\""}});
  }
  return std::make_shared<TimeWindow>(timeArgument(call, "session_window", context), gap);
}

}  // namespace

std::vector<FunctionRow> windowRows() {
  return {{"window", 2, 4, resolveWindow}, {"window_time", 1, 1, resolveWindowTime}, {"session_window", 2, 2, resolveSessionWindow}};
}

}  // namespace thalweg
