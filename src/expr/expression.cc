#include "expr/expression.h"

#include <arrow/api.h>

#include "common/error.h"
#include "types/arrow_result.h"

namespace thalweg {

arrow::MemoryPool* EvaluationContext::memoryPool() const { return pool ? pool : arrow::default_memory_pool(); }

Foldability Expression::foldability() const {
  if (!deterministic()) return Foldability::Never;
  Foldability lowest = Foldability::Always;
  for (const ExpressionPtr& child : children_) lowest = std::min(lowest, child->foldability());
  return lowest;
}

bool Expression::deterministic() const {
  for (const ExpressionPtr& child : children_) {
    if (!child->deterministic()) return false;
  }
  return true;
}

ExpressionPtr transformUp(const ExpressionPtr& expression, const std::function<ExpressionPtr(const ExpressionPtr&)>& rewrite) {
  bool changed = false;
  std::vector<ExpressionPtr> children;
  children.reserve(expression->children().size());
  for (const ExpressionPtr& child : expression->children()) {
    children.push_back(transformUp(child, rewrite));
    changed = changed || children.back() != child;
  }
  return rewrite(changed ? expression->withChildren(std::move(children)) : expression);
}

bool anyOf(const Expression& expression, const std::function<bool(const Expression&)>& predicate) {
  if (predicate(expression)) return true;
  for (const ExpressionPtr& child : expression.children()) {
    if (anyOf(*child, predicate)) return true;
  }
  return false;
}

std::shared_ptr<arrow::Array> evaluateToArray(const Expression& expression, const arrow::RecordBatch& batch,
                                              const Selection& selection, const EvaluationContext& context) {
  arrow::Datum result = expression.evaluate(batch, selection, context);
  if (result.is_array()) return result.make_array();
  return valueOrThrow(arrow::MakeArrayFromScalar(*result.scalar(), batch.num_rows(), context.memoryPool()));
}

std::shared_ptr<arrow::Scalar> evaluateConstant(const Expression& expression, const EvaluationContext& context) {
  static const auto emptyRow = arrow::RecordBatch::Make(arrow::schema({}), 1, arrow::ArrayVector{});
  arrow::Datum result = expression.evaluate(*emptyRow, Selection::all(1), context);
  if (result.is_scalar()) return result.scalar();
  return valueOrThrow(result.make_array()->GetScalar(0));
}

Selection selectTrue(const Expression& predicate, const arrow::RecordBatch& batch, const Selection& selection,
                     const EvaluationContext& context) {
  const arrow::Datum result = predicate.evaluate(batch, selection, context);
  const int64_t numRows = batch.num_rows();
  if (result.is_scalar()) {
    const auto& scalar = static_cast<const arrow::BooleanScalar&>(*result.scalar());
    return scalar.is_valid && scalar.value ? selection : Selection::of(numRows, {});
  }
  const auto array = std::static_pointer_cast<arrow::BooleanArray>(result.make_array());
  if (selection.isAll() && array->null_count() == 0 && array->true_count() == numRows) return selection;
  std::vector<int32_t> rows;
  rows.reserve(static_cast<size_t>(selection.count()));
  selection.forEach([&](int64_t row) {
    if (array->IsValid(row) && array->Value(row)) rows.push_back(static_cast<int32_t>(row));
  });
  return Selection::of(numRows, std::move(rows));
}

}  // namespace thalweg
