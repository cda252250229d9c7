#include "functions/operators/comparison.h"

#include <cmath>

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include "columnar/key_encoder.h"
#include "common/error.h"
#include "functions/coercion.h"
#include "functions/kernel_support.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

enum class Comparison { Equal, Less, LessOrEqual, Greater, GreaterOrEqual };

std::optional<Comparison> comparisonOf(std::string_view name) {
  if (name == "==" || name == "=") return Comparison::Equal;
  if (name == "<") return Comparison::Less;
  if (name == "<=") return Comparison::LessOrEqual;
  if (name == ">") return Comparison::Greater;
  if (name == ">=") return Comparison::GreaterOrEqual;
  return std::nullopt;
}

const char* symbolOf(Comparison comparison) {
  static constexpr const char* kSymbols[] = {"=", "<", "<=", ">", ">="};
  return kSymbols[static_cast<int>(comparison)];
}

const char* arrowNameOf(Comparison comparison) {
  static constexpr const char* kNames[] = {"equal", "less", "less_equal", "greater", "greater_equal"};
  return kNames[static_cast<int>(comparison)];
}

bool holds(Comparison comparison, int order) {
  switch (comparison) {
    case Comparison::Equal: return order == 0;
    case Comparison::Less: return order < 0;
    case Comparison::LessOrEqual: return order <= 0;
    case Comparison::Greater: return order > 0;
    case Comparison::GreaterOrEqual: return order >= 0;
  }
  return false;
}

// NaN equals NaN and is above everything; zeros are equal.
template <typename T>
int orderOf(T left, T right) {
  if (left < right) return -1;
  if (left > right) return 1;
  if (left == right) return 0;
  return static_cast<int>(std::isnan(left)) - static_cast<int>(std::isnan(right));
}

template <typename ArrowArray>
arrow::Datum compareFloating(Comparison comparison, const KernelContext& context, const std::vector<arrow::Datum>& arguments) {
  const auto left = argumentAs<ArrowArray>(context, arguments[0]);
  const auto right = argumentAs<ArrowArray>(context, arguments[1]);
  arrow::BooleanBuilder builder(context.evaluation.memoryPool());
  throwIfFailed(builder.Reserve(context.numRows));
  for (int64_t row = 0; row < context.numRows; ++row) {
    if (left->IsNull(row) || right->IsNull(row)) builder.UnsafeAppendNull();
    else builder.UnsafeAppend(holds(comparison, orderOf(left->Value(row), right->Value(row))));
  }
  return valueOrThrow(builder.Finish());
}

// Nested values, by their encoded keys.
arrow::Datum compareEncoded(Comparison comparison, const DataTypePtr& type, const KernelContext& context,
                            const std::vector<arrow::Datum>& arguments) {
  const KeyEncoder encoder({{type}});
  const std::vector<std::shared_ptr<arrow::Array>> left = {argumentArray(context, arguments[0])};
  const std::vector<std::shared_ptr<arrow::Array>> right = {argumentArray(context, arguments[1])};
  arrow::BooleanBuilder builder(context.evaluation.memoryPool());
  std::string leftKey, rightKey;
  for (int64_t row = 0; row < context.numRows; ++row) {
    if (left[0]->IsNull(row) || right[0]->IsNull(row)) {
      throwIfFailed(builder.AppendNull());
      continue;
    }
    leftKey.clear();
    rightKey.clear();
    encoder.append(left, row, &leftKey);
    encoder.append(right, row, &rightKey);
    throwIfFailed(builder.Append(holds(comparison, leftKey.compare(rightKey))));
  }
  return valueOrThrow(builder.Finish());
}

Kernel comparisonKernel(Comparison comparison, const DataTypePtr& type) {
  switch (type->id()) {
    case TypeId::Float:
      return [=](const KernelContext& c, const std::vector<arrow::Datum>& a) { return compareFloating<arrow::FloatArray>(comparison, c, a); };
    case TypeId::Double:
      return [=](const KernelContext& c, const std::vector<arrow::Datum>& a) { return compareFloating<arrow::DoubleArray>(comparison, c, a); };
    case TypeId::Array:
    case TypeId::Struct:
    case TypeId::YearMonthInterval:
      return [=](const KernelContext& c, const std::vector<arrow::Datum>& a) { return compareEncoded(comparison, type, c, a); };
    default: {
      const std::string function = arrowNameOf(comparison);
      return [function](const KernelContext& c, const std::vector<arrow::Datum>& a) {
        arrow::compute::ExecContext exec(c.evaluation.memoryPool());
        return valueOrThrow(arrow::compute::CallFunction(function, a, &exec));
      };
    }
  }
}

// Both sides in their common type.
std::pair<ExpressionPtr, ExpressionPtr> coerced(std::string_view symbol, const ExpressionPtr& left, const ExpressionPtr& right,
                                                const FunctionContext& context) {
  const DataTypePtr type = commonType(left->type(), right->type(), context);
  if (!type) throwDifferentTypes(symbol, *left, *right);
  if (type->id() == TypeId::Map || type->id() == TypeId::Variant) {
    throw Error("DATATYPE_MISMATCH.INVALID_ORDERING_TYPE", "Values of type " + type->sqlString() + " cannot be compared.",
                {{"sqlExpr", ""}, {"functionName", std::string(symbol)}, {"dataType", "\"" + type->sqlString() + "\""}});
  }
  return {castTo(left, type, context.castMode()), castTo(right, type, context.castMode())};
}

}  // namespace

ExpressionPtr resolveComparison(const FunctionCall& call, const FunctionContext& context) {
  const Comparison comparison = *comparisonOf(call.name);
  const auto [left, right] = coerced(symbolOf(comparison), call.arguments[0], call.arguments[1], context);
  if (left->type()->id() == TypeId::Void) return Literal::null(booleanType());
  return makeOperator(symbolOf(comparison), left, right, booleanType(), comparisonKernel(comparison, left->type()));
}

ExpressionPtr resolveNullSafeEqual(const FunctionCall& call, const FunctionContext& context) {
  const auto [left, right] = coerced("<=>", call.arguments[0], call.arguments[1], context);
  const Kernel equal = left->type()->id() == TypeId::Void ? Kernel() : comparisonKernel(Comparison::Equal, left->type());
  auto traits = std::make_shared<FunctionTraits>();
  traits->name = "<=>";
  traits->format = [](const std::vector<std::string>& a) { return "(" + a[0] + " <=> " + a[1] + ")"; };
  auto kernel = [equal](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    const auto left = argumentArray(c, a[0]);
    const auto right = argumentArray(c, a[1]);
    std::shared_ptr<arrow::BooleanArray> same;
    if (equal) same = std::static_pointer_cast<arrow::BooleanArray>(argumentArray(c, equal(c, {left, right})));
    arrow::BooleanBuilder builder(c.evaluation.memoryPool());
    for (int64_t row = 0; row < c.numRows; ++row) {
      const bool bothNull = left->IsNull(row) && right->IsNull(row);
      throwIfFailed(builder.Append(bothNull || (same && same->IsValid(row) && same->Value(row))));
    }
    return valueOrThrow(builder.Finish());
  };
  return std::make_shared<Call>(std::move(traits), std::vector<ExpressionPtr>{left, right}, booleanType(), false, kernel);
}

ExpressionPtr resolveIn(const FunctionCall& call, const FunctionContext& context) {
  // a IN (x, y) is a = x OR a = y, nulls included.
  const DataTypePtr type = commonType(call.arguments, context);
  if (!type) throwDifferentTypes("IN", *call.arguments[0], *call.arguments.back());
  const ExpressionPtr value = castTo(call.arguments[0], type, context.castMode());
  ExpressionPtr any;
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    const ExpressionPtr same = resolveComparison({"==", {value, castTo(call.arguments[i], type, context.castMode())}}, context);
    any = any ? std::make_shared<Conjunction>(ExpressionKind::Or, any, same) : same;
  }
  return any ? any : Literal::of(false);
}

}  // namespace thalweg
