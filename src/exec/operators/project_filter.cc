#include "exec/operators/project_filter.h"

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {

PhysicalProject::PhysicalProject(SchemaPtr schema, std::vector<ExpressionPtr> expressions, PhysicalPtr child)
    : BatchTransform(schema, {std::move(child)}), expressions_(std::move(expressions)), arrowSchema_(toArrowSchema(*schema)) {}

std::shared_ptr<arrow::RecordBatch> PhysicalProject::transform(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                               const EvaluationContext& context) const {
  const Selection all = Selection::all(batch->num_rows());
  arrow::ArrayVector columns;
  columns.reserve(expressions_.size());
  for (const ExpressionPtr& expression : expressions_) columns.push_back(evaluateToArray(*expression, *batch, all, context));
  return arrow::RecordBatch::Make(arrowSchema_, batch->num_rows(), std::move(columns));
}

std::string PhysicalProject::describe() const {
  std::string text = "Project [";
  for (size_t i = 0; i < expressions_.size(); ++i) {
    text += (i ? ", " : "") + expressions_[i]->toString() + " AS " + schema()->fields()[i].name;
  }
  return text + "]";
}

PhysicalFilter::PhysicalFilter(ExpressionPtr condition, PhysicalPtr child)
    : BatchTransform(child->schema(), {child}), condition_(std::move(condition)) {}

std::shared_ptr<arrow::RecordBatch> PhysicalFilter::transform(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                              const EvaluationContext& context) const {
  const Selection selected = selectTrue(*condition_, *batch, Selection::all(batch->num_rows()), context);
  if (selected.count() == batch->num_rows()) return batch;
  std::vector<int32_t> rows;
  rows.reserve(static_cast<size_t>(selected.count()));
  selected.forEach([&](int64_t row) { rows.push_back(static_cast<int32_t>(row)); });
  return takeRows(batch, rows, context.memoryPool());
}

std::string PhysicalFilter::describe() const { return "Filter " + condition_->toString(); }

std::shared_ptr<arrow::RecordBatch> takeRows(const std::shared_ptr<arrow::RecordBatch>& batch, const std::vector<int32_t>& rows,
                                             arrow::MemoryPool* pool) {
  return arrow::RecordBatch::Make(batch->schema(), static_cast<int64_t>(rows.size()), takeRows(batch->columns(), rows, pool));
}

arrow::ArrayVector takeRows(const arrow::ArrayVector& columns, const std::vector<int32_t>& rows, arrow::MemoryPool* pool) {
  const auto indices = std::make_shared<arrow::Int32Array>(static_cast<int64_t>(rows.size()), arrow::Buffer::Wrap(rows));
  arrow::compute::ExecContext context(pool);
  arrow::ArrayVector taken;
  for (const auto& column : columns) {
    taken.push_back(valueOrThrow(arrow::compute::Take(*column, *indices, arrow::compute::TakeOptions::NoBoundsCheck(), &context)));
  }
  return taken;
}

}  // namespace thalweg
