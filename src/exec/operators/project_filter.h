// Operators that work row by row: projection and filter.
#pragma once

#include "exec/operators/operator.h"
#include "expr/expression.h"

namespace thalweg {

class PhysicalProject final : public BatchTransform {
 public:
  PhysicalProject(SchemaPtr schema, std::vector<ExpressionPtr> expressions, PhysicalPtr child);
  std::shared_ptr<arrow::RecordBatch> transform(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                const EvaluationContext& context) const override;
  std::string describe() const override;

 private:
  std::vector<ExpressionPtr> expressions_;
  std::shared_ptr<arrow::Schema> arrowSchema_;
};

class PhysicalFilter final : public BatchTransform {
 public:
  PhysicalFilter(ExpressionPtr condition, PhysicalPtr child);
  std::shared_ptr<arrow::RecordBatch> transform(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                const EvaluationContext& context) const override;
  std::string describe() const override;

 private:
  ExpressionPtr condition_;
};

// The selected rows of a batch, as a batch of their own.
std::shared_ptr<arrow::RecordBatch> takeRows(const std::shared_ptr<arrow::RecordBatch>& batch, const std::vector<int32_t>& rows,
                                             arrow::MemoryPool* pool);
// The same of columns.
std::vector<std::shared_ptr<arrow::Array>> takeRows(const std::vector<std::shared_ptr<arrow::Array>>& columns,
                                                    const std::vector<int32_t>& rows, arrow::MemoryPool* pool);

}  // namespace thalweg
