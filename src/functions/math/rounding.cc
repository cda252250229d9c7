// Numbers to whole numbers and digits; signs and remainders.
#include <cmath>

#include <arrow/api.h>

#include "common/error.h"
#include "functions/coercion.h"
#include "functions/math/tables.h"
#include "functions/row_kernels.h"
#include "functions/signature.h"
#include "types/text/number_text.h"

namespace thalweg {
namespace {

using Decimal = arrow::Decimal128;

[[noreturn]] void throwOverflow(const DataType& type) {
  throw Error("ARITHMETIC_OVERFLOW", "The result does not fit into " + type.sqlString() + "; use a wider type.",
              {{"message", "Overflow"}, {"alternative", ""}, {"config", "\"spark.sql.ansi.enabled\""}});
}

enum class Direction { HalfUp, HalfEven, Down, Up };  // Down: floor, Up: ceiling

// Drops the last `digits` digits.
Decimal dropDigits(const Decimal& value, int digits, Direction direction) {
  if (digits <= 0) return value;
  if (digits > 38) return Decimal(direction == Direction::Down && value < Decimal(0) ? -1 : direction == Direction::Up && value > Decimal(0) ? 1 : 0);
  const Decimal unit = Decimal::GetScaleMultiplier(digits);
  const auto [quotient, remainder] = valueOrThrow(value.Divide(unit));
  if (remainder == Decimal(0)) return quotient;
  const bool negative = value < Decimal(0);
  const Decimal twice = Decimal::Abs(remainder) * Decimal(2);
  bool away = false;
  switch (direction) {
    case Direction::HalfUp: away = digits == 38 ? Decimal::Abs(remainder) > unit - Decimal::Abs(remainder) : twice >= unit; break;
    case Direction::HalfEven: away = twice > unit || (twice == unit && (quotient.low_bits() & 1)); break;
    case Direction::Down: away = negative; break;
    case Direction::Up: away = !negative; break;
  }
  return away ? Decimal(quotient + Decimal(negative ? -1 : 1)) : Decimal(quotient);
}

// A double is rounded by the digits that it prints with.
double roundDouble(double value, int digits, Direction direction) {
  constexpr int kScale = 20;
  if (!std::isfinite(value) || digits > 18 || (std::abs(value) >= 1e15 && digits >= 0)) return value;
  if (std::abs(value) >= 1e17) return std::abs(value) >= 1e18 ? value : std::round(value / std::pow(10, -digits)) * std::pow(10, -digits);
  std::string text;
  appendDouble(value, &text);
  Decimal exact;
  if (parseDecimal(text, 38, kScale, &exact) != DecimalParse::Ok) return value;
  const int dropped = kScale - digits;
  const Decimal rounded = dropDigits(exact, dropped, direction);
  return parseDouble(rounded.ToString(digits)).value_or(value);
}

template <typename T>
T roundIntegral(T value, int digits, Direction direction, bool ansi, const DataType& type) {
  if (digits >= 0) return value;
  const Decimal kept = dropDigits(Decimal(static_cast<int64_t>(value)), -digits, direction);
  const Decimal result = -digits > 38 ? Decimal(0) : kept * Decimal::GetScaleMultiplier(-digits);
  int64_t wide = 0;
  const bool fits = result.ToInteger(&wide).ok() && wide >= std::numeric_limits<T>::min() && wide <= std::numeric_limits<T>::max();
  if (!fits && ansi) throwOverflow(type);
  return static_cast<T>(fits ? wide : static_cast<int64_t>(result.low_bits()));
}

DataTypePtr roundedDecimal(const DataType& type, int digits) {
  const int integral = type.precision() - type.scale() + 1;
  if (digits < 0) return DataType::decimal(std::min(38, std::max(integral, -digits + 1)), 0);
  const int scale = std::min(type.scale(), digits);
  return DataType::decimal(std::min(38, integral + scale), scale);
}

Kernel decimalKernel(int from, int digits, Direction direction) {
  return [=](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    const ValueReader<Decimal> values(a[0]);
    arrow::Decimal128Builder builder(toArrowType(c.resultType), c.evaluation.memoryPool());
    throwIfFailed(builder.Reserve(c.numRows));
    forEachRow(
        c,
        [&](int64_t row) {
          if (values.isNull(row)) return builder.UnsafeAppendNull();
          const int kept = std::min(digits, from);
          Decimal result = dropDigits(values.value(row), from - kept, direction);
          if (kept < 0) result = -kept > 38 ? Decimal(0) : result * Decimal::GetScaleMultiplier(-kept);
          if (!result.FitsInPrecision(c.resultType.precision())) builder.UnsafeAppendNull();
          else builder.UnsafeAppend(result);
        },
        [&] { builder.UnsafeAppendNull(); });
    return valueOrThrow(builder.Finish());
  };
}

// No number has more digits than kMostDigits before or behind its point: beyond them all counts give one answer.
int digitsArgument(const FunctionCall& call, const FunctionContext& context) {
  if (call.arguments.size() < 2) return 0;
  const auto value = constantArgument(implicitCast(call.arguments[1], intType(), call.name, 2, context), call.name, "scale");
  constexpr int kMostDigits = 400;
  return value->is_valid ? std::clamp(static_cast<const arrow::Int32Scalar&>(*value).value, -kMostDigits, kMostDigits) : 0;
}

std::function<std::string(const std::vector<std::string>&)> withDigits(std::string name, std::string digits) {
  return [=](const std::vector<std::string>& a) { return name + "(" + a[0] + ", " + digits + ")"; };
}

ExpressionPtr resolveRound(const FunctionCall& call, const FunctionContext& context) {
  const std::string name = toLowerAscii(call.name);
  const Direction direction = name == "round" ? Direction::HalfUp : Direction::HalfEven;
  const int digits = digitsArgument(call, context);
  ExpressionPtr value = call.arguments[0];
  if (!value->type()->isNumeric()) value = implicitCast(value, doubleType(), name, 1, context);
  const DataTypePtr type = value->type();
  const bool ansi = context.ansi;
  std::vector<ExpressionPtr> arguments = {value};
  if (call.arguments.size() > 1) arguments.push_back(call.arguments[1]);
  const auto format = withDigits(name, call.arguments.size() > 1 ? call.arguments[1]->toString() : "0");
  auto integral = [&](auto zero) {
    using T = decltype(zero);
    Kernel kernel = [=](const KernelContext& c, const std::vector<arrow::Datum>& a) {
      return rowKernel<T, T>([=, &c](T v) { return roundIntegral<T>(v, digits, direction, ansi, c.resultType); })(c, a);
    };
    return makeCall(name, arguments, type, kernel, false, format);
  };
  switch (type->id()) {
    case TypeId::Byte: return integral(int8_t());
    case TypeId::Short: return integral(int16_t());
    case TypeId::Int: return integral(int32_t());
    case TypeId::Long: return integral(int64_t());
    case TypeId::Float:
      return makeCall(name, arguments, type, rowKernel<float, float>([=](float v) {
                        if (!std::isfinite(v)) return v;
                        std::string text;
                        appendFloat(v, &text);
                        return static_cast<float>(roundDouble(parseDouble(text).value_or(v), digits, direction));
                      }),
                      false, format);
    case TypeId::Decimal:
      return makeCall(name, arguments, roundedDecimal(*type, digits), decimalKernel(type->scale(), digits, direction), !ansi, format);
    default:
      return makeCall(name, arguments, type, rowKernel<double, double>([=](double v) { return roundDouble(v, digits, direction); }), false, format);
  }
}

// Java's d2l.
int64_t toLong(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 9223372036854775808.0) return INT64_MAX;
  if (value < -9223372036854775808.0) return INT64_MIN;
  return static_cast<int64_t>(value);
}

ExpressionPtr resolveWhole(const FunctionCall& call, const FunctionContext& context) {
  const bool down = equalsIgnoreCase(call.name, "floor");
  const Direction direction = down ? Direction::Down : Direction::Up;
  const std::string name = down ? "FLOOR" : "CEIL";
  ExpressionPtr value = call.arguments[0];
  if (call.arguments.size() == 2) {
    // With digits the result is a decimal.
    const int digits = digitsArgument(call, context);
    const DataTypePtr as = value->type()->id() == TypeId::Decimal ? value->type()
                           : value->type()->isIntegral()          ? decimalFor(*value->type())
                                                                  : DataType::decimal(30, 15);
    value = castTo(value, as, context.castMode());
    return makeCall(toLowerAscii(call.name), {value, call.arguments[1]}, roundedDecimal(*as, digits), decimalKernel(as->scale(), digits, direction), true);
  }
  if (value->type()->isIntegral()) {
    return makeCall(name, {castTo(value, longType(), context.castMode())}, longType(),
                    [](const KernelContext&, const std::vector<arrow::Datum>& a) { return a[0]; });
  }
  if (value->type()->id() == TypeId::Decimal) {
    const DataType& type = *value->type();
    const DataTypePtr result = type.scale() == 0 ? value->type() : DataType::decimal(std::min(38, type.precision() - type.scale() + 1), 0);
    return makeCall(name, {value}, result, decimalKernel(type.scale(), 0, direction));
  }
  return makeCall(name, {implicitCast(value, doubleType(), call.name, 1, context)}, longType(),
                  rowKernel<int64_t, double>([down](double v) { return toLong(down ? std::floor(v) : std::ceil(v)); }));
}

template <typename T>
ExpressionPtr absolute(const ExpressionPtr& value, bool ansi) {
  Kernel kernel = [ansi](const KernelContext& c, const std::vector<arrow::Datum>& a) {
    return rowKernel<T, T>([&c, ansi](T v) {
      if constexpr (std::is_integral_v<T>) {
        if (v == std::numeric_limits<T>::min()) {
          if (ansi) throwOverflow(c.resultType);
          return v;
        }
      }
      return static_cast<T>(std::abs(v));
    })(c, a);
  };
  return makeCall("abs", {value}, value->type(), kernel);
}

ExpressionPtr resolveAbs(const FunctionCall& call, const FunctionContext& context) {
  const ExpressionPtr& value = call.arguments[0];
  switch (value->type()->id()) {
    case TypeId::Byte: return absolute<int8_t>(value, context.ansi);
    case TypeId::Short: return absolute<int16_t>(value, context.ansi);
    case TypeId::Int: return absolute<int32_t>(value, context.ansi);
    case TypeId::Long:
    case TypeId::DayTimeInterval: return absolute<int64_t>(value, true);
    case TypeId::YearMonthInterval: return absolute<int32_t>(value, true);
    case TypeId::Float: return absolute<float>(value, context.ansi);
    case TypeId::Decimal:
      return makeCall("abs", {value}, value->type(), rowKernel<Decimal, Decimal>([](Decimal v) { return Decimal(Decimal::Abs(v)); }));
    default: return absolute<double>(implicitCast(value, doubleType(), "abs", 1, context), context.ansi);
  }
}

ExpressionPtr resolveSign(const FunctionCall& call, const FunctionContext& context) {
  return makeCall(toLowerAscii(call.name), coercedArguments(call, {doubleType()}, context), doubleType(),
                  rowKernel<double, double>([](double v) { return std::isnan(v) ? v : v > 0 ? 1.0 : v < 0 ? -1.0 : v; }));
}

// The remainder with the divisor's sign taken off: ((a % n) + n) % n where a % n is negative.
ExpressionPtr resolvePmod(const FunctionCall& call, const FunctionContext& context) {
  const ExpressionPtr remainder = resolveFunction({"%", {call.arguments[0], call.arguments[1]}}, context);
  const DataTypePtr type = remainder->type();
  const ExpressionPtr divisor = castTo(call.arguments[1], type, context.castMode());
  const ExpressionPtr zero = castTo(Literal::of(static_cast<int32_t>(0)), type, context.castMode());
  const ExpressionPtr negative = resolveFunction({"<", {remainder, zero}}, context);
  // In doubles' and decimals' own types; a sum of whole numbers of opposite signs cannot overflow.
  const ExpressionPtr shifted = castTo(resolveFunction({"%", {resolveFunction({"+", {remainder, divisor}}, context), divisor}}, context), type, context.castMode());
  const ExpressionPtr chosen = std::make_shared<CaseWhen>(std::vector<ExpressionPtr>{negative, shifted, remainder});
  const std::string text = "pmod(" + call.arguments[0]->toString() + ", " + call.arguments[1]->toString() + ")";
  return makeCall("pmod", {chosen}, type, [](const KernelContext&, const std::vector<arrow::Datum>& a) { return a[0]; }, false,
                  [text](const std::vector<std::string>&) { return text; });
}

}  // namespace

std::vector<FunctionRow> roundingRows() {
  return {
      {"round", 1, 2, resolveRound}, {"bround", 1, 2, resolveRound},  {"floor", 1, 2, resolveWhole}, {"ceil", 1, 2, resolveWhole},
      {"ceiling", 1, 2, resolveWhole}, {"abs", 1, 1, resolveAbs},     {"sign", 1, 1, resolveSign},   {"signum", 1, 1, resolveSign},
      {"pmod", 2, 2, resolvePmod},
  };
}

}  // namespace thalweg
