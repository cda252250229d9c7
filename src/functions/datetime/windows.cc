// window(ts, duration[, slide[, start]]) and window_time(window).
#include <cstdlib>

#include <arrow/scalar.h>

#include "common/error.h"
#include "expr/time_window.h"
#include "functions/coercion.h"
#include "functions/datetime/tables.h"
#include "types/text/intervals.h"

namespace thalweg {
namespace {

// A length of time given as a constant text. Months have no fixed length.
int64_t fixedInterval(const Expression& argument) {
  const bool isText = argument.kind() == ExpressionKind::Literal && argument.type()->id() == TypeId::String &&
                      !static_cast<const Literal&>(argument).isNull();
  if (!isText) {
    throw Error("NON_FOLDABLE_ARGUMENT", "The lengths of a window are constant texts such as '5 minutes', but one is " + argument.toString() + ".",
                {{"funcName", "`window`"}, {"paramName", "`windowDuration`"}, {"paramType", "\"STRING\""}});
  }
  const std::string text(static_cast<const arrow::StringScalar&>(*static_cast<const Literal&>(argument).value()).view());
  const std::string lower = toLowerAscii(text);
  if (lower.find("month") != std::string::npos || lower.find("year") != std::string::npos) {
    throw Error(ErrorKind::IllegalArgument, "_LEGACY_ERROR_TEMP_3231",
                "A window's length cannot be counted in months or years: '" + text + "'. Use days or less.", {{"interval", text}});
  }
  return parseIntervalMicros(text);
}

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

ExpressionPtr resolveWindow(const FunctionCall& call, const FunctionContext& context) {
  ExpressionPtr time = call.arguments[0];
  // A window of windows is by the time of each.
  if (isWindowType(*time->type())) time = std::make_shared<WindowTime>(time);
  else if (time->type()->id() != TypeId::TimestampNtz) time = implicitCast(time, timestampType(), "window", 1, context);
  TimeWindowSpec spec;
  spec.duration = fixedInterval(*call.arguments[1]);
  spec.slide = call.arguments.size() > 2 ? fixedInterval(*call.arguments[2]) : spec.duration;
  spec.start = call.arguments.size() > 3 ? fixedInterval(*call.arguments[3]) : 0;
  requirePositive("window_duration", spec.duration, "window");
  requirePositive("slide_duration", spec.slide, "window");
  if (spec.slide > spec.duration) throwConstraint("slide_duration", spec.slide, "<=", "window_duration", spec.duration);
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

ExpressionPtr refuseSessionWindow(const FunctionCall&, const FunctionContext&) { throw unsupported("session_window"); }

}  // namespace

std::vector<FunctionRow> windowRows() {
  return {{"window", 2, 4, resolveWindow}, {"window_time", 1, 1, resolveWindowTime}, {"session_window", 2, 2, refuseSessionWindow}};
}

}  // namespace thalweg
