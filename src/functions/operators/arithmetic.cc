#include "functions/operators/arithmetic.h"

#include <cmath>
#include <limits>

#include <arrow/api.h>
#include <arrow/util/decimal.h>

#include "common/error.h"
#include "functions/coercion.h"
#include "functions/datetime/tables.h"
#include "functions/kernel_support.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

// What becomes of an overflow or a division by zero: an error, a wrapped number (null for a division and for decimals), or null.
enum class OnError { Raise, Wrap, Null };

OnError onErrorOf(const FunctionCall& call, const FunctionContext& context) {
  if (toLowerAscii(call.name).starts_with("try_")) return OnError::Null;
  return context.ansi ? OnError::Raise : OnError::Wrap;
}

enum class Operator { Add, Subtract, Multiply, Divide, Remainder, IntegralDivide };

Operator operatorOf(std::string_view called) {
  const std::string name = toLowerAscii(called);
  if (name == "+" || name == "try_add") return Operator::Add;
  if (name == "-" || name == "try_subtract") return Operator::Subtract;
  if (name == "*" || name == "try_multiply") return Operator::Multiply;
  if (name == "/" || name == "try_divide") return Operator::Divide;
  if (name == "%" || name == "mod" || name == "try_mod") return Operator::Remainder;
  return Operator::IntegralDivide;
}

const char* symbolOf(Operator op) {
  static constexpr const char* kSymbols[] = {"+", "-", "*", "/", "%", "div"};
  return kSymbols[static_cast<int>(op)];
}

[[noreturn]] void throwOverflow(const DataType& type) {
  if (type.id() == TypeId::Decimal) {
    throw Error("NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION", "A result does not fit into " + type.sqlString() + ".",
                {{"value", ""}, {"precision", std::to_string(type.precision())}, {"scale", std::to_string(type.scale())},
                 {"config", "\"spark.sql.ansi.enabled\""}});
  }
  const char* what = type.id() == TypeId::Int ? "integer" : type.id() == TypeId::Long ? "long" : type.typeName().c_str();
  if (type.id() == TypeId::Byte || type.id() == TypeId::Short) {
    throw Error("BINARY_ARITHMETIC_OVERFLOW", "The result does not fit into " + type.sqlString() + "; use a wider type or a try_ function.",
                {{"value1", ""}, {"symbol", ""}, {"value2", ""}, {"functionName", ""}, {"suggestion", ""}});
  }
  throw Error("ARITHMETIC_OVERFLOW",
              std::string("The result does not fit into ") + type.sqlString() + " (" + what +
                  " overflow); use a wider type or a try_ function.",
              {{"message", std::string(what) + " overflow"}, {"alternative", ""}, {"config", "\"spark.sql.ansi.enabled\""}});
}

[[noreturn]] void throwDivideByZero(Operator op) {
  if (op == Operator::Remainder) {
    throw Error("REMAINDER_BY_ZERO", "The remainder of a division by zero; use try_mod to get NULL instead.", {{"config", "\"spark.sql.ansi.enabled\""}});
  }
  throw Error("DIVIDE_BY_ZERO", "A division by zero; use try_divide to get NULL instead.", {{"config", "\"spark.sql.ansi.enabled\""}});
}

// One row of an integer operation. False: overflow.
template <typename T>
bool computeIntegral(Operator op, T left, T right, T* result) {
  switch (op) {
    case Operator::Add: return !__builtin_add_overflow(left, right, result);
    case Operator::Subtract: return !__builtin_sub_overflow(left, right, result);
    case Operator::Multiply: return !__builtin_mul_overflow(left, right, result);
    case Operator::Remainder:
      *result = right == T(-1) ? T(0) : static_cast<T>(left % right);
      return true;
    default:  // IntegralDivide; the one quotient that does not fit wraps to itself
      if (left == std::numeric_limits<T>::min() && right == T(-1)) {
        *result = left;
        return false;
      }
      *result = static_cast<T>(left / right);
      return true;
  }
}

template <typename T>
T computeFloating(Operator op, T left, T right) {
  switch (op) {
    case Operator::Add: return left + right;
    case Operator::Subtract: return left - right;
    case Operator::Multiply: return left * right;
    case Operator::Divide: return left / right;
    default: return std::fmod(left, right);
  }
}

bool dividesBy(Operator op) { return op == Operator::Divide || op == Operator::Remainder || op == Operator::IntegralDivide; }

void raiseFirst(Operator op, const std::vector<int64_t>& zeroRows, const std::vector<int64_t>& overflowRows, OnError onError, const KernelContext& context) {
  if (onError != OnError::Raise) return;
  const auto zero = firstSelected(zeroRows, context.selection);
  const auto overflow = firstSelected(overflowRows, context.selection);
  if (zero && (!overflow || *zero < *overflow)) throwDivideByZero(op);
  if (overflow) throwOverflow(context.resultType);
}

template <typename ArrowType>
arrow::Datum numericKernel(Operator op, OnError onError, const KernelContext& context, const std::vector<arrow::Datum>& arguments) {
  using T = typename ArrowType::c_type;
  using Array = arrow::NumericArray<ArrowType>;
  const auto left = argumentAs<Array>(context, arguments[0]);
  const auto right = argumentAs<Array>(context, arguments[1]);
  arrow::NumericBuilder<ArrowType> builder(context.evaluation.memoryPool());
  throwIfFailed(builder.Reserve(context.numRows));
  std::vector<int64_t> zeroRows, overflowRows;
  for (int64_t row = 0; row < context.numRows; ++row) {
    if (left->IsNull(row) || right->IsNull(row)) {
      builder.UnsafeAppendNull();
      continue;
    }
    const T a = left->Value(row), b = right->Value(row);
    if (dividesBy(op) && b == 0) {
      builder.UnsafeAppendNull();
      zeroRows.push_back(row);
      continue;
    }
    if constexpr (std::is_floating_point_v<T>) {
      builder.UnsafeAppend(computeFloating(op, a, b));
    } else {
      T result = 0;
      const bool fits = computeIntegral(op, a, b, &result);
      if (!fits) overflowRows.push_back(row);
      if (!fits && onError == OnError::Null) builder.UnsafeAppendNull();
      else builder.UnsafeAppend(result);
    }
  }
  raiseFirst(op, zeroRows, overflowRows, onError, context);
  return valueOrThrow(builder.Finish());
}

// Decimals compute in 256 bits and are rounded HALF_UP to the result's scale.
arrow::Datum decimalKernel(Operator op, int leftScale, int rightScale, OnError onError, const KernelContext& context,
                           const std::vector<arrow::Datum>& arguments) {
  const auto left = argumentAs<arrow::Decimal128Array>(context, arguments[0]);
  const auto right = argumentAs<arrow::Decimal128Array>(context, arguments[1]);
  const DataType& type = context.resultType;
  arrow::Decimal128Builder builder(toArrowType(type), context.evaluation.memoryPool());
  throwIfFailed(builder.Reserve(context.numRows));
  std::vector<int64_t> zeroRows, overflowRows;
  auto scaled = [](const arrow::Decimal256& value, int from, int to) {
    if (to > from) return arrow::Decimal256(value.IncreaseScaleBy(to - from));
    if (to < from) return arrow::Decimal256(value.ReduceScaleBy(from - to, /*round=*/true));
    return value;
  };
  for (int64_t row = 0; row < context.numRows; ++row) {
    if (left->IsNull(row) || right->IsNull(row)) {
      builder.UnsafeAppendNull();
      continue;
    }
    const arrow::Decimal256 a{arrow::Decimal128(left->GetValue(row))};
    const arrow::Decimal256 b{arrow::Decimal128(right->GetValue(row))};
    if (dividesBy(op) && b == arrow::Decimal256(0)) {
      builder.UnsafeAppendNull();
      zeroRows.push_back(row);
      continue;
    }
    const int common = std::max(leftScale, rightScale);
    arrow::Decimal256 result;
    int scale = common;
    switch (op) {
      case Operator::Add: result = scaled(a, leftScale, common) + scaled(b, rightScale, common); break;
      case Operator::Subtract: result = scaled(a, leftScale, common) + -scaled(b, rightScale, common); break;
      case Operator::Multiply:
        result = a * b;
        scale = leftScale + rightScale;
        break;
      case Operator::Divide: {
        // One digit more than the result's scale, so that the last one rounds.
        const int shift = type.scale() + 1 + rightScale - leftScale;
        // A dividend beyond 256 bits has a quotient beyond 38 digits.
        const auto dividend = shift >= 0 ? a.Rescale(0, shift) : arrow::Decimal256(a.ReduceScaleBy(-shift, false));
        if (!dividend.ok()) {
          builder.UnsafeAppendNull();
          overflowRows.push_back(row);
          continue;
        }
        result = *dividend / b;
        scale = type.scale() + 1;
        break;
      }
      default: result = scaled(a, leftScale, common) % scaled(b, rightScale, common);
    }
    result = scaled(result, scale, type.scale());
    if (!result.FitsInPrecision(type.precision())) {
      builder.UnsafeAppendNull();
      overflowRows.push_back(row);
      continue;
    }
    const auto words = result.little_endian_array();
    builder.UnsafeAppend(arrow::Decimal128(static_cast<int64_t>(words[1]), words[0]));
  }
  raiseFirst(op, zeroRows, overflowRows, onError, context);
  return valueOrThrow(builder.Finish());
}

// Spark's result types of decimal arithmetic, the scale giving way beyond 38 digits (never below 6).
DataTypePtr decimalResult(Operator op, const DataType& a, const DataType& b) {
  int precision = 0, scale = 0;
  const int integral = std::max(a.precision() - a.scale(), b.precision() - b.scale());
  switch (op) {
    case Operator::Add:
    case Operator::Subtract:
      scale = std::max(a.scale(), b.scale());
      precision = integral + scale + 1;
      break;
    case Operator::Multiply:
      scale = a.scale() + b.scale();
      precision = a.precision() + b.precision() + 1;
      break;
    case Operator::Divide:
      scale = std::max(6, a.scale() + b.precision() + 1);
      precision = a.precision() - a.scale() + b.scale() + scale;
      break;
    default:
      scale = std::max(a.scale(), b.scale());
      precision = std::min(a.precision() - a.scale(), b.precision() - b.scale()) + scale;
  }
  if (precision <= 38) return DataType::decimal(precision, scale);
  const int digitsBefore = precision - scale;
  return DataType::decimal(38, std::max(38 - digitsBefore, std::min(scale, 6)));
}

Kernel numericKernelFor(TypeId id, Operator op, OnError onError) {
  auto make = [&](auto tag) -> Kernel {
    using ArrowType = decltype(tag);
    return [op, onError](const KernelContext& c, const std::vector<arrow::Datum>& a) { return numericKernel<ArrowType>(op, onError, c, a); };
  };
  switch (id) {
    case TypeId::Byte: return make(arrow::Int8Type());
    case TypeId::Short: return make(arrow::Int16Type());
    case TypeId::Int: return make(arrow::Int32Type());
    case TypeId::Long: return make(arrow::Int64Type());
    case TypeId::Float: return make(arrow::FloatType());
    default: return make(arrow::DoubleType());
  }
}

// A whole constant has as many digits as it is written with, not as many as its type.
DataTypePtr decimalOfOperand(const Expression& operand) {
  if (operand.kind() != ExpressionKind::Literal || !operand.type()->isIntegral() || static_cast<const Literal&>(operand).isNull()) {
    return decimalFor(*operand.type());
  }
  const BatchContext batch;
  const auto value = evaluateConstant(operand, EvaluationContext{&batch});
  std::string digits = value->ToString();
  if (digits.starts_with('-')) digits.erase(0, 1);
  return DataType::decimal(static_cast<int>(digits.size()), 0);
}

ExpressionPtr decimalArithmetic(Operator op, OnError onError, const ExpressionPtr& left, const ExpressionPtr& right, const FunctionContext& context) {
  const DataTypePtr leftType = decimalOfOperand(*left);
  const DataTypePtr rightType = decimalOfOperand(*right);
  const int leftScale = leftType->scale(), rightScale = rightType->scale();
  auto kernel = [=](const KernelContext& c, const std::vector<arrow::Datum>& a) { return decimalKernel(op, leftScale, rightScale, onError, c, a); };
  return makeOperator(symbolOf(op), castTo(left, leftType, context.castMode()), castTo(right, rightType, context.castMode()),
                      decimalResult(op, *leftType, *rightType), kernel, onError != OnError::Raise || dividesBy(op));
}

}  // namespace

ExpressionPtr resolveArithmetic(const FunctionCall& call, const FunctionContext& context) {
  if (ExpressionPtr moved = resolveTimeArithmetic(call, context)) return moved;
  const Operator op = operatorOf(call.name);
  ExpressionPtr left = call.arguments[0], right = call.arguments[1];
  // Text meets a number as a number; two texts compute as doubles.
  if (left->type()->id() == TypeId::String || right->type()->id() == TypeId::String) {
    DataTypePtr type = commonType(left->type(), right->type(), context);
    if (type && (type->id() == TypeId::String || (!context.ansi && type->isNumeric()))) type = doubleType();
    if (type && type->isNumeric()) {
      left = castTo(left, type, context.castMode());
      right = castTo(right, type, context.castMode());
    }
  }
  if (left->type()->id() == TypeId::Void && right->type()->id() == TypeId::Void) {
    left = castTo(left, doubleType(), context.castMode());
    right = castTo(right, doubleType(), context.castMode());
  }
  if (left->type()->id() == TypeId::Void) left = castTo(left, right->type(), context.castMode());
  if (right->type()->id() == TypeId::Void) right = castTo(right, left->type(), context.castMode());
  if (!left->type()->isNumeric() || !right->type()->isNumeric()) throwDifferentTypes(symbolOf(op), *left, *right);

  const bool anyFloating = left->type()->id() == TypeId::Double || left->type()->id() == TypeId::Float ||
                           right->type()->id() == TypeId::Double || right->type()->id() == TypeId::Float;
  const bool anyDecimal = left->type()->id() == TypeId::Decimal || right->type()->id() == TypeId::Decimal;
  if (anyDecimal && !anyFloating) return decimalArithmetic(op, onErrorOf(call, context), left, right, context);

  DataTypePtr type = commonType(left->type(), right->type(), context);
  const OnError onError = onErrorOf(call, context);
  // Division of whole numbers is in doubles, div in longs.
  if (op == Operator::Divide) type = doubleType();
  if (op == Operator::IntegralDivide) type = longType();
  return makeOperator(symbolOf(op), castTo(left, type, context.castMode()), castTo(right, type, context.castMode()), type,
                      numericKernelFor(type->id(), op, onError), onError == OnError::Null || dividesBy(op));
}

ExpressionPtr resolveNegative(const FunctionCall& call, const FunctionContext& context) {
  const ExpressionPtr& value = call.arguments[0];
  if (value->kind() == ExpressionKind::Literal && value->type()->isNumeric() && !static_cast<const Literal&>(*value).isNull() &&
      value->type()->id() != TypeId::Decimal) {
    // A negative constant is a constant, so that it prints as −1.
    const ExpressionPtr zero = castTo(Literal::of(static_cast<int32_t>(0)), value->type(), CastMode::Ansi);
    const BatchContext batch;
    const ExpressionPtr difference = resolveArithmetic({"-", {zero, value}}, context);
    if (value->type()->isIntegral()) {
      return std::make_shared<Literal>(evaluateConstant(*difference, EvaluationContext{&batch}), value->type());
    }
  }
  const ExpressionPtr number = value->type()->id() == TypeId::String ? castTo(value, doubleType(), context.castMode()) : value;
  if (!number->type()->isNumeric()) implicitCast(number, doubleType(), "-", 1, context);
  // −x as (−1) · x keeps the sign of zero for fractions, and overflows where Java's negation does.
  const ExpressionPtr minusOne = number->type()->id() == TypeId::Decimal
                                     ? castTo(Literal::of(static_cast<int32_t>(-1)), DataType::decimal(1, 0), CastMode::Ansi)
                                     : castTo(Literal::of(static_cast<int32_t>(-1)), number->type(), CastMode::Ansi);
  const ExpressionPtr product = resolveArithmetic({"*", {number, minusOne}}, context);
  const ExpressionPtr typed = castTo(product, number->type(), context.castMode());
  auto identity = [](const KernelContext&, const std::vector<arrow::Datum>& a) { return a[0]; };
  const std::string inner = number->toString();
  return makeCall("negative", {typed}, number->type(), identity, false,
                  [inner](const std::vector<std::string>&) { return "(- " + inner + ")"; });
}

}  // namespace thalweg
