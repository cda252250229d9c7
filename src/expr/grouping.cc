#include "expr/grouping.h"

#include <arrow/datum.h>

#include "common/error.h"

namespace thalweg {

void GroupingCall::refuse() {
  throw Error("UNSUPPORTED_GROUPING_EXPRESSION",
              "grouping() and grouping_id() need grouping sets: group by rollup, cube or GROUPING SETS.");
}

arrow::Datum GroupingCall::evaluate(const arrow::RecordBatch&, const Selection&,
                                    const EvaluationContext&) const {
  refuse();
}

ExpressionPtr GroupingCall::withChildren(std::vector<ExpressionPtr> children) const {
  return std::make_shared<GroupingCall>(ofOneColumn_, std::move(children));
}

std::string GroupingCall::toString() const {
  std::string text = ofOneColumn_ ? "grouping(" : "grouping_id(";
  for (size_t i = 0; i < children().size(); ++i) text += (i ? ", " : "") + children()[i]->toString();
  return text + ")";
}

}  // namespace thalweg
