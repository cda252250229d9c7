#include "expr/call.h"

#include <arrow/api.h>

#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {

Call::Call(std::shared_ptr<const FunctionTraits> traits, std::vector<ExpressionPtr> arguments, DataTypePtr type,
           bool nullable, Kernel kernel)
    : Expression(ExpressionKind::Call, std::move(type), nullable, std::move(arguments)),
      traits_(std::move(traits)),
      kernel_(std::move(kernel)) {}

arrow::Datum Call::evaluate(const arrow::RecordBatch& batch, const Selection& selection, const EvaluationContext& context) const {
  std::vector<arrow::Datum> arguments;
  arguments.reserve(children().size());
  bool allScalar = true;
  for (const ExpressionPtr& child : children()) {
    arguments.push_back(child->evaluate(batch, selection, context));
    allScalar = allScalar && arguments.back().is_scalar();
  }
  // Constant arguments of a deterministic function: one row is computed and handed out as a scalar.
  if (allScalar && traits_->deterministic && !children().empty()) {
    if (selection.isEmpty()) return arrow::MakeNullScalar(toArrowType(*type()));
    const Selection one = Selection::all(1);
    const arrow::Datum result = kernel_(KernelContext{one, 1, context, *type()}, arguments);
    return result.is_scalar() ? result : arrow::Datum(valueOrThrow(result.make_array()->GetScalar(0)));
  }
  return kernel_(KernelContext{selection, batch.num_rows(), context, *type()}, arguments);
}

ExpressionPtr Call::withChildren(std::vector<ExpressionPtr> children) const {
  return std::make_shared<Call>(traits_, std::move(children), type(), nullable(), kernel_);
}

Foldability Call::foldability() const {
  if (!deterministic()) return Foldability::Never;
  const Foldability arguments = Expression::foldability();
  return traits_->oncePerBatch ? std::min(arguments, Foldability::OncePerBatch) : arguments;
}

bool Call::deterministic() const { return traits_->deterministic && Expression::deterministic(); }

std::string Call::toString() const {
  std::vector<std::string> arguments;
  for (const ExpressionPtr& child : children()) arguments.push_back(child->toString());
  if (traits_->format) return traits_->format(arguments);
  std::string text = traits_->name + "(";
  for (size_t i = 0; i < arguments.size(); ++i) text += (i ? ", " : "") + arguments[i];
  return text + ")";
}

}  // namespace thalweg
