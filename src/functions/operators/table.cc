// Operators as functions, under the names that clients send.
#include <arrow/api.h>
#include <arrow/compute/api.h>

#include "functions/coercion.h"
#include "functions/kernel_support.h"
#include "functions/operators/arithmetic.h"
#include "functions/operators/comparison.h"
#include "functions/registry.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

ExpressionPtr resolveAndOr(const FunctionCall& call, const FunctionContext& context) {
  const bool isAnd = equalsIgnoreCase(call.name, "and");
  return std::make_shared<Conjunction>(isAnd ? ExpressionKind::And : ExpressionKind::Or,
                                       implicitCast(call.arguments[0], booleanType(), isAnd ? "AND" : "OR", 1, context),
                                       implicitCast(call.arguments[1], booleanType(), isAnd ? "AND" : "OR", 2, context));
}

ExpressionPtr resolveNot(const FunctionCall& call, const FunctionContext& context) {
  auto kernel = [](const KernelContext& c, const std::vector<arrow::Datum>& a) {
    arrow::compute::ExecContext exec(c.evaluation.memoryPool());
    return valueOrThrow(arrow::compute::Invert(a[0], &exec));
  };
  return makeCall("not", {implicitCast(call.arguments[0], booleanType(), "NOT", 1, context)}, booleanType(), kernel, false,
                  [](const std::vector<std::string>& a) { return "(NOT " + a[0] + ")"; });
}

ExpressionPtr resolveBetween(const FunctionCall& call, const FunctionContext& context) {
  return std::make_shared<Conjunction>(ExpressionKind::And,
                                       resolveComparison({">=", {call.arguments[0], call.arguments[1]}}, context),
                                       resolveComparison({"<=", {call.arguments[0], call.arguments[2]}}, context));
}

ExpressionPtr resolvePositive(const FunctionCall& call, const FunctionContext& context) {
  return call.arguments[0]->type()->isNumeric() ? call.arguments[0]
                                                : implicitCast(call.arguments[0], doubleType(), "+", 1, context);
}

}  // namespace

std::span<const FunctionRow> operatorFunctions() {
  static const FunctionRow rows[] = {
      {"==", 2, 2, resolveComparison},    {"=", 2, 2, resolveComparison},     {"<", 2, 2, resolveComparison},
      {"<=", 2, 2, resolveComparison},    {">", 2, 2, resolveComparison},     {">=", 2, 2, resolveComparison},
      {"<=>", 2, 2, resolveNullSafeEqual}, {"in", 1, -1, resolveIn},          {"between", 3, 3, resolveBetween},
      {"and", 2, 2, resolveAndOr},        {"or", 2, 2, resolveAndOr},         {"not", 1, 1, resolveNot},
      {"+", 2, 2, resolveArithmetic},     {"-", 2, 2, resolveArithmetic},     {"*", 2, 2, resolveArithmetic},
      {"/", 2, 2, resolveArithmetic},     {"%", 2, 2, resolveArithmetic},     {"mod", 2, 2, resolveArithmetic},
      {"try_add", 2, 2, resolveArithmetic},   {"try_subtract", 2, 2, resolveArithmetic}, {"try_multiply", 2, 2, resolveArithmetic},
      {"try_divide", 2, 2, resolveArithmetic}, {"try_mod", 2, 2, resolveArithmetic},
      {"div", 2, 2, resolveArithmetic},   {"negative", 1, 1, resolveNegative}, {"positive", 1, 1, resolvePositive},
  };
  return rows;
}

}  // namespace thalweg
