// Elementary functions of doubles.
#include <cmath>
#include <numbers>

#include <arrow/api.h>

#include "common/error.h"
#include "functions/math/tables.h"
#include "functions/row_kernels.h"
#include "functions/signature.h"

namespace thalweg {
namespace {

FunctionRow unaryRow(std::string_view name, double (*f)(double)) {
  return functionRow({name, {doubleType()}, doubleType(), rowKernel<double, double>(f)});
}

// Null where the argument is not above `bound`.
FunctionRow logarithmRow(std::string_view name, double bound, double (*f)(double)) {
  return functionRow({name, {doubleType()}, doubleType(), rowKernel<double, double>([=](double x) -> std::optional<double> {
                        if (x <= bound) return std::nullopt;
                        return f(x);
                      }),
                      {}, true});
}

FunctionRow binaryRow(std::string_view name, double (*f)(double, double)) {
  return functionRow({name, {doubleType(), doubleType()}, doubleType(), rowKernel<double, double, double>(f)});
}

FunctionRow constantRow(std::string_view name, double value) {
  return {name, 0, 0, [name, value](const FunctionCall&, const FunctionContext&) {
            return makeCall(std::string(name), {}, doubleType(),
                            [value](const KernelContext&, const std::vector<arrow::Datum>&) -> arrow::Datum { return arrow::MakeScalar(value); });
          }};
}

ExpressionPtr resolveLog(const FunctionCall& call, const FunctionContext& context) {
  if (call.arguments.size() == 1) {
    auto kernel = rowKernel<double, double>([](double x) { return x <= 0 ? std::nullopt : std::optional(std::log(x)); });
    return makeCall("ln", coercedArguments(call, {doubleType()}, context), doubleType(), kernel, true);
  }
  auto kernel = rowKernel<double, double, double>([](double base, double x) -> std::optional<double> {
    if (base <= 0 || x <= 0) return std::nullopt;
    return std::log(x) / std::log(base);
  });
  return makeCall("LOG", coercedArguments(call, {doubleType(), doubleType()}, context), doubleType(), kernel, true);
}

int64_t factorial(int32_t n) {
  int64_t product = 1;
  for (int32_t i = 2; i <= n; ++i) product *= i;
  return product;
}

}  // namespace

std::vector<FunctionRow> elementaryRows() {
  return {
      unaryRow("sqrt", std::sqrt),
      unaryRow("cbrt", std::cbrt),
      unaryRow("exp", std::exp),
      unaryRow("expm1", std::expm1),
      unaryRow("sin", std::sin),
      unaryRow("cos", std::cos),
      unaryRow("tan", std::tan),
      unaryRow("asin", std::asin),
      unaryRow("acos", std::acos),
      unaryRow("atan", std::atan),
      unaryRow("sinh", std::sinh),
      unaryRow("cosh", std::cosh),
      unaryRow("tanh", std::tanh),
      unaryRow("asinh", std::asinh),
      unaryRow("acosh", std::acosh),
      unaryRow("atanh", std::atanh),
      unaryRow("rint", std::nearbyint),
      unaryRow("degrees", [](double x) { return x * 180.0 / std::numbers::pi; }),
      unaryRow("radians", [](double x) { return x / 180.0 * std::numbers::pi; }),
      unaryRow("cot", [](double x) { return 1.0 / std::tan(x); }),
      unaryRow("sec", [](double x) { return 1.0 / std::cos(x); }),
      unaryRow("csc", [](double x) { return 1.0 / std::sin(x); }),
      logarithmRow("log10", 0, std::log10),
      logarithmRow("log2", 0, std::log2),
      logarithmRow("log1p", -1, std::log1p),
      {"ln", 1, 1, resolveLog},
      {"log", 1, 2, resolveLog},
      binaryRow("pow", std::pow),
      binaryRow("power", std::pow),
      binaryRow("atan2", std::atan2),
      binaryRow("hypot", std::hypot),
      constantRow("pi", std::numbers::pi),
      constantRow("e", std::numbers::e),
      functionRow({"factorial", {intType()}, longType(), rowKernel<int64_t, int32_t>([](int32_t n) {
                     return n < 0 || n > 20 ? std::nullopt : std::optional(factorial(n));
                   }),
                   {}, true}),
  };
}

}  // namespace thalweg
