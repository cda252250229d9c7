#include "plan/analyze/stream_join_bounds.h"

#include <algorithm>

#include <arrow/scalar.h>

#include "expr/call.h"
#include "expr/cast/cast.h"
#include "plan/logical/event_time.h"
#include "types/column_metadata.h"

namespace thalweg {
namespace {

constexpr double kMicrosPerSecond = 1e6;
constexpr double kMicrosPerMilli = 1e3;

// A part of a sum, subtracted or not.
struct Term {
  ExpressionPtr expression;
  bool negative;
};

void addTerms(const ExpressionPtr& expression, bool negative, std::vector<Term>* terms) {
  const ExpressionPtr& inner =
      expression->kind() == ExpressionKind::Cast ? expression->children()[0] : expression;
  if (inner->kind() == ExpressionKind::Cast) return addTerms(inner, negative, terms);
  if (inner->kind() == ExpressionKind::Call) {
    const std::string& name = static_cast<const Call&>(*inner).traits().name;
    if (inner->children().size() == 2 && (name == "+" || name == "-")) {
      addTerms(inner->children()[0], negative, terms);
      return addTerms(inner->children()[1], negative != (name == "-"), terms);
    }
    if (inner->children().size() == 1 && (name == "negative" || name == "-"))
      return addTerms(inner->children()[0], !negative, terms);
  }
  terms->push_back({inner, negative});
}

bool isEventTime(const Expression& expression) {
  return expression.kind() == ExpressionKind::Attribute &&
         hasMetadataKey(static_cast<const Attribute&>(expression).metadata(), kWatermarkDelayKey);
}

bool hasColumnOf(const Expression& expression, const LogicalNode& side) {
  return anyOf(expression, [&](const Expression& e) {
    return e.kind() == ExpressionKind::Attribute && refersOnlyTo(e, side.output());
  });
}

// A constant term: a length of time, or a number of seconds. None where it is not one.
std::optional<double> microsOf(const ExpressionPtr& term) {
  if (term->foldability() != Foldability::Always) return std::nullopt;
  const BatchContext constants;
  const EvaluationContext context{&constants};
  const auto value = evaluateConstant(*term, context);
  if (!value->is_valid) return std::nullopt;
  switch (term->type()->id()) {
    case TypeId::DayTimeInterval:
      return static_cast<double>(static_cast<const arrow::DurationScalar&>(*value).value);
    case TypeId::CalendarInterval: {
      const auto& interval = static_cast<const arrow::MonthDayNanoIntervalScalar&>(*value).value;
      constexpr double kMicrosPerDay = 86'400 * kMicrosPerSecond;
      if (interval.months != 0) return std::nullopt;  // months have no length
      return interval.days * kMicrosPerDay + static_cast<double>(interval.nanoseconds) / 1000;
    }
    case TypeId::Byte:
    case TypeId::Short:
    case TypeId::Int:
    case TypeId::Long:
    case TypeId::Float:
    case TypeId::Double:
    case TypeId::Decimal: {
      const auto seconds = evaluateConstant(Cast(term, doubleType(), CastMode::Legacy), context);
      return static_cast<const arrow::DoubleScalar&>(*seconds).value * kMicrosPerSecond;
    }
    default:
      return std::nullopt;
  }
}

// smaller < greater bounds `held` from below if, all terms brought to the left, its one column is subtracted
// and everything else is constant once the watermark is put for the other side's event time. The constant, in
// microseconds.
std::optional<double> offsetOf(const ExpressionPtr& smaller, const ExpressionPtr& greater,
                               const LogicalNode& held, const LogicalNode& other) {
  std::vector<Term> terms;
  addTerms(smaller, false, &terms);
  addTerms(greater, true, &terms);
  int ofHeld = 0, ofOther = 0;
  double offset = 0;
  for (const Term& term : terms) {
    if (hasColumnOf(*term.expression, held)) {
      ++ofHeld;
      if (!term.negative || term.expression->kind() != ExpressionKind::Attribute) return std::nullopt;
    } else if (hasColumnOf(*term.expression, other)) {
      if (!isEventTime(*term.expression) || term.negative) return std::nullopt;
      ++ofOther;
    } else {
      const std::optional<double> micros = microsOf(term.expression);
      if (!micros) return std::nullopt;
      offset += term.negative ? -*micros : *micros;
    }
  }
  if (ofHeld != 1 || ofOther != 1) return std::nullopt;
  return offset;
}

}  // namespace

std::optional<size_t> watermarkedKey(const std::vector<JoinKey>& keys) {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!keys[i].nullSafe && isEventTime(*keys[i].left)) return i;
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!keys[i].nullSafe && isEventTime(*keys[i].right)) return i;
  }
  return std::nullopt;
}

bool hasWatermarkInKeys(const LogicalJoin& join) {
  return watermarkedKey(splitJoinCondition(join).keys).has_value();
}

std::vector<StreamJoinBound> boundsByWatermarkOf(const ExpressionPtr& condition, const LogicalNode& held,
                                                 const LogicalNode& other) {
  std::vector<StreamJoinBound> bounds;
  if (!condition) return bounds;
  for (const ExpressionPtr& part : splitConjuncts(condition)) {
    if (part->kind() != ExpressionKind::Call || part->children().size() != 2) continue;
    const std::string& name = static_cast<const Call&>(*part).traits().name;
    const bool less = name == "<" || name == "<=";
    if (!less && name != ">" && name != ">=") continue;
    const ExpressionPtr& smaller = part->children()[less ? 0 : 1];
    const ExpressionPtr& greater = part->children()[less ? 1 : 0];
    const bool inclusive = name == "<=" || name == ">=";
    if (const auto offset = offsetOf(smaller, greater, held, other)) bounds.push_back({*offset, inclusive});
  }
  return bounds;
}

bool isBoundedByWatermarkOf(const LogicalJoin& join, const LogicalNode& held, const LogicalNode& other) {
  return !boundsByWatermarkOf(join.condition(), held, other).empty();
}

std::optional<int64_t> stateWatermarkMs(const std::vector<StreamJoinBound>& bounds, int64_t watermarkMs) {
  // Beyond these no time is; a literal of the condition may be anything.
  constexpr double kMost = 9e15;
  std::optional<int64_t> least;
  for (const StreamJoinBound& bound : bounds) {
    const double millis = static_cast<double>(watermarkMs) + bound.offsetMicros / kMicrosPerMilli;
    // Towards zero, and a whole millisecond less where the bound itself may match: Spark's roundings.
    const int64_t state = static_cast<int64_t>(std::clamp(millis, -kMost, kMost)) - (bound.inclusive ? 1 : 0);
    least = std::min(least.value_or(state), state);
  }
  return least;
}

}  // namespace thalweg
