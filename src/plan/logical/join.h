// The logical join, and how its condition falls apart into keys and a rest.
#pragma once

#include "plan/logical/node.h"

namespace thalweg {

enum class JoinType { Inner, Cross, LeftOuter, RightOuter, FullOuter, LeftSemi, LeftAnti };

// As explain prints it, and Spark's messages ("LeftOuter").
const char* nameOf(JoinType type);

// The rows of a left that stay though no row of the other side matches them, and those of the right.
constexpr bool keepsLeft(JoinType type) {
  return type == JoinType::LeftOuter || type == JoinType::FullOuter;
}
constexpr bool keepsRight(JoinType type) {
  return type == JoinType::RightOuter || type == JoinType::FullOuter;
}
// Semi and anti joins ask only whether there is a match: rows of the left alone come out.
constexpr bool isExistence(JoinType type) {
  return type == JoinType::LeftSemi || type == JoinType::LeftAnti;
}

// Pairs of rows for which the condition is true; a type says what becomes of rows without a partner. Output:
// the left's columns, then the right's (not for semi and anti), nullable where their side may be missing. No
// column is on both sides.
class LogicalJoin final : public LogicalNode {
 public:
  // `condition`: a boolean over both sides' columns; null: every pair. `eachOnce`, of semi and anti joins on
  // equalities alone: a row of the right is the partner of one row of the left at most (INTERSECT ALL, EXCEPT
  // ALL).
  LogicalJoin(JoinType type, ExpressionPtr condition, LogicalPtr left, LogicalPtr right,
              bool eachOnce = false);
  JoinType type() const { return type_; }
  const ExpressionPtr& condition() const { return condition_; }
  bool eachOnce() const { return eachOnce_; }
  const LogicalPtr& left() const { return children()[0]; }
  const LogicalPtr& right() const { return children()[1]; }
  LogicalPtr withChildren(std::vector<LogicalPtr> children) const override;
  LogicalPtr with(ExpressionPtr condition, LogicalPtr left, LogicalPtr right) const;
  std::string describe() const override;

 private:
  JoinType type_;
  ExpressionPtr condition_;
  bool eachOnce_;
};

// left = right, or left <=> right (`nullSafe`), where left and right each need one side's columns only. Their
// types are equal.
struct JoinKey {
  ExpressionPtr left, right;
  bool nullSafe = false;
};

struct JoinCondition {
  std::vector<JoinKey> keys;
  ExpressionPtr rest;  // what else must hold; null: nothing
};
JoinCondition splitJoinCondition(const LogicalJoin& join);

// True if all columns of the expression are among these.
bool refersOnlyTo(const Expression& expression, const std::vector<AttributePtr>& columns);

// The AND of all parts; null where there are none.
ExpressionPtr joinConjuncts(const std::vector<ExpressionPtr>& parts);

}  // namespace thalweg
