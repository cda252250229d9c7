#include "functions/kernel_support.h"

#include <arrow/api.h>

#include "types/arrow_result.h"

namespace thalweg {

std::shared_ptr<arrow::Array> argumentArray(const KernelContext& context, const arrow::Datum& argument) {
  if (argument.is_array()) return argument.make_array();
  return valueOrThrow(arrow::MakeArrayFromScalar(*argument.scalar(), context.numRows, context.evaluation.memoryPool()));
}

ExpressionPtr makeCall(std::string name, std::vector<ExpressionPtr> arguments, DataTypePtr type, Kernel kernel, bool addsNulls,
                       std::function<std::string(const std::vector<std::string>&)> format) {
  auto traits = std::make_shared<FunctionTraits>();
  traits->name = std::move(name);
  traits->format = std::move(format);
  bool nullable = addsNulls;
  for (const ExpressionPtr& argument : arguments) nullable = nullable || argument->nullable();
  return std::make_shared<Call>(std::move(traits), std::move(arguments), std::move(type), nullable, std::move(kernel));
}

ExpressionPtr makeOperator(const std::string& symbol, ExpressionPtr left, ExpressionPtr right, DataTypePtr type, Kernel kernel,
                           bool addsNulls) {
  return makeCall(symbol, {std::move(left), std::move(right)}, std::move(type), std::move(kernel), addsNulls,
                  [symbol](const std::vector<std::string>& a) { return "(" + a[0] + " " + symbol + " " + a[1] + ")"; });
}

}  // namespace thalweg
