// Sessions of rows, before those that touch are one: a window of its own for each row.
#pragma once

#include "exec/operators/operator.h"
#include "expr/expression.h"

namespace thalweg {

// See LogicalSessionWindow. Throws Error UNSUPPORTED_FEATURE for gaps in months, which have no fixed length,
// and DATETIME_OVERFLOW for sessions that end after the last timestamp.
class PhysicalSessionWindow final : public BatchTransform {
 public:
  // The schema: the child's, then the window.
  PhysicalSessionWindow(SchemaPtr schema, ExpressionPtr time, ExpressionPtr gap, PhysicalPtr child);
  std::shared_ptr<arrow::RecordBatch> transform(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                const EvaluationContext& context) const override;
  std::string describe() const override;

 private:
  ExpressionPtr time_, gap_;
  std::shared_ptr<arrow::Schema> arrowSchema_;
};

}  // namespace thalweg
