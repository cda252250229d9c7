#include "expr/canonical.h"

#include <arrow/scalar.h>

#include "expr/aggregate.h"
#include "expr/call.h"
#include "expr/cast/cast.h"
#include "expr/generator.h"
#include "expr/grouping.h"
#include "expr/nodes.h"
#include "expr/time_window.h"

namespace thalweg {
namespace {

// What distinguishes a node besides its children.
std::string payload(const Expression& expression) {
  switch (expression.kind()) {
    case ExpressionKind::Literal: {
      const auto& literal = static_cast<const Literal&>(expression);
      return expression.type()->simpleString() + "=" + literal.value()->ToString();
    }
    case ExpressionKind::Attribute: return "#" + std::to_string(static_cast<const Attribute&>(expression).id());
    case ExpressionKind::Bound: return "@" + std::to_string(static_cast<const BoundReference&>(expression).ordinal());
    case ExpressionKind::Cast:
      return "cast" + std::to_string(static_cast<int>(static_cast<const Cast&>(expression).mode())) + ":" +
             expression.type()->simpleString();
    case ExpressionKind::Call: return static_cast<const Call&>(expression).traits().name + ":" + expression.type()->simpleString();
    case ExpressionKind::Aggregate: {
      const auto& spec = static_cast<const AggregateCall&>(expression).spec();
      return spec.name + spec.text + spec.tail + (spec.distinct ? " distinct" : "") + (spec.filtered ? " filtered" : "");
    }
    case ExpressionKind::CaseWhen: return "case";
    case ExpressionKind::And: return "and";
    case ExpressionKind::Or: return "or";
    case ExpressionKind::Field: return "field" + std::to_string(static_cast<const FieldAccess&>(expression).ordinal());
    case ExpressionKind::SortOrder: return expression.toString();
    case ExpressionKind::TimeWindow: {
      if (static_cast<const TimeWindow&>(expression).isSession()) return "session_window";
      const TimeWindowSpec& spec = static_cast<const TimeWindow&>(expression).spec();
      return "window" + std::to_string(spec.duration) + "/" + std::to_string(spec.slide) + "+" + std::to_string(spec.start);
    }
    case ExpressionKind::WindowTime: return "window_time";
    case ExpressionKind::Generator: return static_cast<const GeneratorCall&>(expression).spec().name;
    case ExpressionKind::Grouping: return static_cast<const GroupingCall&>(expression).ofOneColumn() ? "grouping" : "grouping_id";
    case ExpressionKind::Alias: break;
  }
  return "";
}

}  // namespace

std::string canonicalText(const Expression& expression) {
  if (expression.kind() == ExpressionKind::Alias) return canonicalText(*expression.children()[0]);
  std::string text = payload(expression);
  if (expression.children().empty()) return text;
  text += "(";
  for (const ExpressionPtr& child : expression.children()) text += canonicalText(*child) + ",";
  return text + ")";
}

}  // namespace thalweg
