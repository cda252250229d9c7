#include "plan/analyze/stream_join_bounds.h"

#include <algorithm>

#include "expr/call.h"
#include "plan/logical/event_time.h"
#include "types/column_metadata.h"

namespace thalweg {
namespace {

// A part of a sum, subtracted or not.
struct Term {
  const Expression* expression;
  bool negative;
};

void addTerms(const Expression& expression, bool negative, std::vector<Term>* terms) {
  const Expression& inner =
      expression.kind() == ExpressionKind::Cast ? *expression.children()[0] : expression;
  if (inner.kind() == ExpressionKind::Call && inner.children().size() == 2) {
    const std::string& name = static_cast<const Call&>(inner).traits().name;
    if (name == "+" || name == "-") {
      addTerms(*inner.children()[0], negative, terms);
      addTerms(*inner.children()[1], negative != (name == "-"), terms);
      return;
    }
  }
  terms->push_back({&inner, negative});
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

// smaller < greater bounds `held` from below if, all terms brought to the left, its one column is subtracted
// and everything else is constant once the watermark is put for the other side's event time.
bool bounds(const Expression& smaller, const Expression& greater, const LogicalNode& held,
            const LogicalNode& other) {
  std::vector<Term> terms;
  addTerms(smaller, false, &terms);
  addTerms(greater, true, &terms);
  int ofHeld = 0;
  bool ofOther = false;
  for (const Term& term : terms) {
    if (hasColumnOf(*term.expression, held)) {
      ++ofHeld;
      if (!term.negative || term.expression->kind() != ExpressionKind::Attribute) return false;
    } else if (hasColumnOf(*term.expression, other)) {
      if (!isEventTime(*term.expression)) return false;
      ofOther = true;
    }
  }
  return ofHeld == 1 && ofOther;
}

}  // namespace

bool hasWatermarkInKeys(const LogicalJoin& join) {
  const JoinCondition condition = splitJoinCondition(join);
  return std::any_of(condition.keys.begin(), condition.keys.end(),
                     [](const JoinKey& key) { return isEventTime(*key.left) || isEventTime(*key.right); });
}

bool isBoundedByWatermarkOf(const LogicalJoin& join, const LogicalNode& held, const LogicalNode& other) {
  if (!join.condition()) return false;
  const std::vector<ExpressionPtr> parts = splitConjuncts(join.condition());
  return std::any_of(parts.begin(), parts.end(), [&](const ExpressionPtr& part) {
    if (part->kind() != ExpressionKind::Call || part->children().size() != 2) return false;
    const std::string& name = static_cast<const Call&>(*part).traits().name;
    const Expression& left = *part->children()[0];
    const Expression& right = *part->children()[1];
    if (name == "<" || name == "<=") return bounds(left, right, held, other);
    return (name == ">" || name == ">=") && bounds(right, left, held, other);
  });
}

}  // namespace thalweg
