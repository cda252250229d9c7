#include "functions/signature.h"

#include <arrow/scalar.h>

#include "common/error.h"
#include "functions/coercion.h"

namespace thalweg {

std::vector<ExpressionPtr> coercedArguments(const FunctionCall& call, const std::vector<DataTypePtr>& parameters,
                                            const FunctionContext& context) {
  std::vector<ExpressionPtr> arguments = call.arguments;
  for (size_t i = 0; i < arguments.size() && i < parameters.size(); ++i) {
    if (parameters[i]) arguments[i] = implicitCast(arguments[i], parameters[i], call.name, static_cast<int>(i) + 1, context);
  }
  return arguments;
}

FunctionRow functionRow(Signature signature) {
  const int most = static_cast<int>(signature.parameters.size());
  const int least = most - static_cast<int>(signature.defaults.size());
  const std::string_view name = signature.name;
  auto resolve = [signature = std::move(signature), least](const FunctionCall& call, const FunctionContext& context) {
    std::vector<ExpressionPtr> arguments = coercedArguments(call, signature.parameters, context);
    const size_t given = arguments.size();
    for (size_t i = given; i < signature.parameters.size(); ++i) arguments.push_back(signature.defaults[i - static_cast<size_t>(least)]);
    std::function<std::string(const std::vector<std::string>&)> format;
    if (given < arguments.size()) {
      format = [name = std::string(signature.name), given](const std::vector<std::string>& texts) {
        std::string text = name + "(";
        for (size_t i = 0; i < given; ++i) text += (i ? ", " : "") + texts[i];
        return text + ")";
      };
    }
    return makeCall(std::string(signature.name), std::move(arguments), signature.result, signature.kernel, signature.addsNulls, format);
  };
  return {name, least, most, std::move(resolve)};
}

std::shared_ptr<arrow::Scalar> constantArgument(const ExpressionPtr& argument, std::string_view function, std::string_view parameter) {
  if (argument->foldability() != Foldability::Always) {
    throw Error("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT",
                std::string(function) + " takes its " + std::string(parameter) + " as a constant, not '" + argument->toString() + "'.",
                {{"inputName", "`" + std::string(parameter) + "`"}, {"inputType", "\"" + argument->type()->sqlString() + "\""},
                 {"inputExpr", "\"" + argument->toString() + "\""}, {"sqlExpr", "\"" + std::string(function) + "\""}});
  }
  const BatchContext batch;
  return evaluateConstant(*argument, EvaluationContext{&batch});
}

}  // namespace thalweg
