// grouping(column) and grouping_id(columns): which of the grouping columns a row's grouping set leaves out.
// The analyzer replaces them by what the row's set says.
#pragma once

#include <string>
#include <vector>

#include "expr/expression.h"

namespace thalweg {

class GroupingCall final : public Expression {
 public:
  // `ofOneColumn`: grouping(column), 0 or 1; else grouping_id, a bit a column, all grouping columns where
  // none is named.
  GroupingCall(bool ofOneColumn, std::vector<ExpressionPtr> columns)
      : Expression(ExpressionKind::Grouping, ofOneColumn ? byteType() : longType(), false,
                   std::move(columns)),
        ofOneColumn_(ofOneColumn) {}
  bool ofOneColumn() const { return ofOneColumn_; }
  // Throws Error UNSUPPORTED_GROUPING_EXPRESSION: there are no grouping sets here.
  [[noreturn]] static void refuse();
  arrow::Datum evaluate(const arrow::RecordBatch&, const Selection&, const EvaluationContext&) const override;
  ExpressionPtr withChildren(std::vector<ExpressionPtr> children) const override;
  Foldability foldability() const override { return Foldability::Never; }
  std::string toString() const override;

 private:
  bool ofOneColumn_;
};

}  // namespace thalweg
