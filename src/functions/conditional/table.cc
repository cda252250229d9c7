// CASE, IF, and what deals with nulls.
#include <cmath>

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include "common/error.h"
#include "functions/coercion.h"
#include "functions/kernel_support.h"
#include "functions/registry.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

// Values in their common type, or DATATYPE_MISMATCH.DATA_DIFF_TYPES.
std::vector<ExpressionPtr> inCommonType(std::string_view function, std::vector<ExpressionPtr> values, const FunctionContext& context) {
  const DataTypePtr type = commonType(values, context);
  if (!type) {
    std::string types;
    for (const ExpressionPtr& value : values) types += (types.empty() ? "\"" : ", \"") + value->type()->sqlString() + "\"";
    throw Error("DATATYPE_MISMATCH.DATA_DIFF_TYPES",
                "The values of '" + std::string(function) + "' have types that do not go together: " + types + ".",
                {{"sqlExpr", std::string(function)}, {"functionName", "`" + std::string(function) + "`"}, {"dataType", "[" + types + "]"}});
  }
  for (ExpressionPtr& value : values) value = castTo(value, type, context.castMode());
  return values;
}

ExpressionPtr resolveWhen(const FunctionCall& call, const FunctionContext& context) {
  std::vector<ExpressionPtr> values;
  for (size_t i = 1; i < call.arguments.size(); i += 2) values.push_back(call.arguments[i]);
  const bool hasElse = call.arguments.size() % 2 == 1;
  if (hasElse) values.push_back(call.arguments.back());
  values = inCommonType("casewhen", std::move(values), context);
  std::vector<ExpressionPtr> children;
  for (size_t i = 0; i + 1 < call.arguments.size(); i += 2) {
    children.push_back(implicitCast(call.arguments[i], booleanType(), "CASE WHEN", 1, context));
    children.push_back(values[i / 2]);
  }
  if (hasElse) children.push_back(values.back());
  return std::make_shared<CaseWhen>(std::move(children));
}

ExpressionPtr isNull(const ExpressionPtr& value, bool wanted) {
  auto traits = std::make_shared<FunctionTraits>();
  traits->name = wanted ? "isnull" : "isnotnull";
  traits->format = [wanted](const std::vector<std::string>& a) { return "(" + a[0] + (wanted ? " IS NULL)" : " IS NOT NULL)"); };
  auto kernel = [wanted](const KernelContext& c, const std::vector<arrow::Datum>& a) {
    arrow::compute::ExecContext exec(c.evaluation.memoryPool());
    return valueOrThrow(arrow::compute::CallFunction(wanted ? "is_null" : "is_valid", {a[0]}, &exec));
  };
  return std::make_shared<Call>(std::move(traits), std::vector<ExpressionPtr>{value}, booleanType(), false, kernel);
}

ExpressionPtr resolveIsNull(const FunctionCall& call, const FunctionContext&) { return isNull(call.arguments[0], true); }
ExpressionPtr resolveIsNotNull(const FunctionCall& call, const FunctionContext&) { return isNull(call.arguments[0], false); }

ExpressionPtr resolveIf(const FunctionCall& call, const FunctionContext& context) {
  const auto values = inCommonType("if", {call.arguments[1], call.arguments[2]}, context);
  return std::make_shared<CaseWhen>(
      std::vector<ExpressionPtr>{implicitCast(call.arguments[0], booleanType(), "if", 1, context), values[0], values[1]});
}

// The first value that is not null; later ones are evaluated only for rows that need them.
ExpressionPtr resolveCoalesce(const FunctionCall& call, const FunctionContext& context) {
  const auto values = inCommonType("coalesce", call.arguments, context);
  std::vector<ExpressionPtr> children;
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    children.push_back(isNull(values[i], false));
    children.push_back(values[i]);
  }
  if (children.empty()) return values[0];
  children.push_back(values.back());
  auto cases = std::make_shared<CaseWhen>(std::move(children));
  auto identity = [](const KernelContext&, const std::vector<arrow::Datum>& a) { return a[0]; };
  std::string text = "coalesce(";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + values[i]->toString();
  bool nullable = true;
  for (const ExpressionPtr& value : values) nullable = nullable && value->nullable();
  auto traits = std::make_shared<FunctionTraits>();
  traits->name = "coalesce";
  traits->format = [text](const std::vector<std::string>&) { return text + ")"; };
  return std::make_shared<Call>(std::move(traits), std::vector<ExpressionPtr>{cases}, values[0]->type(), nullable, identity);
}

ExpressionPtr resolveNullIf(const FunctionCall& call, const FunctionContext& context) {
  const ExpressionPtr same = resolveFunction({"==", {call.arguments[0], call.arguments[1]}}, context);
  return std::make_shared<CaseWhen>(
      std::vector<ExpressionPtr>{same, Literal::null(call.arguments[0]->type()), call.arguments[0]});
}

ExpressionPtr resolveIsNan(const FunctionCall& call, const FunctionContext& context) {
  const ExpressionPtr value = implicitCast(call.arguments[0], call.arguments[0]->type()->id() == TypeId::Float ? floatType() : doubleType(),
                                           "isnan", 1, context);
  auto traits = std::make_shared<FunctionTraits>();
  traits->name = "isnan";
  auto kernel = [](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    const auto array = argumentArray(c, a[0]);
    arrow::BooleanBuilder builder(c.evaluation.memoryPool());
    for (int64_t row = 0; row < c.numRows; ++row) {
      const bool isNan = array->IsValid(row) && (array->type_id() == arrow::Type::FLOAT
                                                     ? std::isnan(static_cast<const arrow::FloatArray&>(*array).Value(row))
                                                     : std::isnan(static_cast<const arrow::DoubleArray&>(*array).Value(row)));
      throwIfFailed(builder.Append(isNan));
    }
    return valueOrThrow(builder.Finish());
  };
  return std::make_shared<Call>(std::move(traits), std::vector<ExpressionPtr>{value}, booleanType(), false, kernel);
}

ExpressionPtr resolveNvl2(const FunctionCall& call, const FunctionContext& context) {
  const auto values = inCommonType("nvl2", {call.arguments[1], call.arguments[2]}, context);
  return std::make_shared<CaseWhen>(std::vector<ExpressionPtr>{isNull(call.arguments[0], false), values[0], values[1]});
}

ExpressionPtr resolveNanvl(const FunctionCall& call, const FunctionContext& context) {
  const auto values = inCommonType("nanvl", {implicitCast(call.arguments[0], doubleType(), "nanvl", 1, context),
                                             implicitCast(call.arguments[1], doubleType(), "nanvl", 2, context)}, context);
  return std::make_shared<CaseWhen>(std::vector<ExpressionPtr>{resolveIsNan({"isnan", {values[0]}}, context), values[1], values[0]});
}

ExpressionPtr resolveZeroIfNull(const FunctionCall& call, const FunctionContext& context) {
  return resolveCoalesce({"coalesce", {call.arguments[0], Literal::of(static_cast<int32_t>(0))}}, context);
}

ExpressionPtr resolveEqualNull(const FunctionCall& call, const FunctionContext& context) {
  return resolveFunction({"<=>", call.arguments}, context);
}

ExpressionPtr resolveTypeOf(const FunctionCall& call, const FunctionContext&) {
  return Literal::of(call.arguments[0]->type()->simpleString());
}

}  // namespace

std::span<const FunctionRow> conditionalFunctions() {
  static const FunctionRow rows[] = {
      {"when", 2, -1, resolveWhen},       {"if", 3, 3, resolveIf},           {"coalesce", 1, -1, resolveCoalesce},
      {"nvl", 2, 2, resolveCoalesce},     {"ifnull", 2, 2, resolveCoalesce}, {"nullif", 2, 2, resolveNullIf},
      {"isnull", 1, 1, resolveIsNull},    {"isnotnull", 1, 1, resolveIsNotNull}, {"isnan", 1, 1, resolveIsNan},
      {"nvl2", 3, 3, resolveNvl2},        {"nanvl", 2, 2, resolveNanvl},     {"zeroifnull", 1, 1, resolveZeroIfNull},
      {"typeof", 1, 1, resolveTypeOf},    {"equal_null", 2, 2, resolveEqualNull},
  };
  return rows;
}

}  // namespace thalweg
