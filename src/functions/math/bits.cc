// Bits of whole numbers.
#include <bit>

#include <arrow/api.h>

#include "common/error.h"
#include "functions/coercion.h"
#include "functions/math/tables.h"
#include "functions/row_kernels.h"
#include "functions/signature.h"

namespace thalweg {
namespace {

// Calls f with a zero of the C type of an integral type.
template <typename F>
ExpressionPtr withIntegral(const DataType& type, F&& f) {
  switch (type.id()) {
    case TypeId::Byte: return f(int8_t());
    case TypeId::Short: return f(int16_t());
    case TypeId::Int: return f(int32_t());
    default: return f(int64_t());
  }
}

ExpressionPtr resolveBinary(const FunctionCall& call, const FunctionContext& context) {
  const char symbol = call.name[0];
  DataTypePtr type = commonType(call.arguments[0]->type(), call.arguments[1]->type(), context);
  if (!type || !type->isIntegral()) throwDifferentTypes(call.name, *call.arguments[0], *call.arguments[1]);
  const auto left = castTo(call.arguments[0], type, context.castMode()), right = castTo(call.arguments[1], type, context.castMode());
  return withIntegral(*type, [&](auto zero) {
    using T = decltype(zero);
    auto kernel = symbol == '&'   ? rowKernel<T, T, T>([](T a, T b) { return static_cast<T>(a & b); })
                  : symbol == '|' ? rowKernel<T, T, T>([](T a, T b) { return static_cast<T>(a | b); })
                                  : rowKernel<T, T, T>([](T a, T b) { return static_cast<T>(a ^ b); });
    return makeOperator(std::string(1, symbol), left, right, type, kernel);
  });
}

ExpressionPtr resolveNot(const FunctionCall& call, const FunctionContext& context) {
  const ExpressionPtr value = call.arguments[0]->type()->isIntegral() ? call.arguments[0] : implicitCast(call.arguments[0], longType(), "~", 1, context);
  return withIntegral(*value->type(), [&](auto zero) {
    using T = decltype(zero);
    return makeCall("~", {value}, value->type(), rowKernel<T, T>([](T a) { return static_cast<T>(~a); }), false,
                    [](const std::vector<std::string>& a) { return "~" + a[0]; });
  });
}

enum class Shift { Left, Right, RightUnsigned };

// The count is taken modulo the width, as Java shifts.
template <typename T>
Kernel shiftKernel(Shift shift) {
  using Unsigned = std::make_unsigned_t<T>;
  constexpr int kMask = sizeof(T) * 8 - 1;
  switch (shift) {
    case Shift::Left: return rowKernel<T, T, int32_t>([](T a, int32_t n) { return static_cast<T>(static_cast<Unsigned>(a) << (n & kMask)); });
    case Shift::Right: return rowKernel<T, T, int32_t>([](T a, int32_t n) { return static_cast<T>(a >> (n & kMask)); });
    default: return rowKernel<T, T, int32_t>([](T a, int32_t n) { return static_cast<T>(static_cast<Unsigned>(a) >> (n & kMask)); });
  }
}

FunctionRow shiftRow(std::string_view name, Shift shift) {
  return {name, 2, 2, [shift](const FunctionCall& call, const FunctionContext& context) {
            const bool isLong = call.arguments[0]->type()->id() == TypeId::Long;
            const DataTypePtr type = isLong ? longType() : intType();
            const char* symbol = shift == Shift::Left ? " << " : shift == Shift::Right ? " >> " : " >>> ";
            return makeCall(toLowerAscii(call.name), coercedArguments(call, {type, intType()}, context), type,
                            isLong ? shiftKernel<int64_t>(shift) : shiftKernel<int32_t>(shift), false,
                            [symbol](const std::vector<std::string>& a) { return "(" + a[0] + symbol + a[1] + ")"; });
          }};
}

ExpressionPtr resolveBitCount(const FunctionCall& call, const FunctionContext& context) {
  const ExpressionPtr value = call.arguments[0]->type()->id() == TypeId::Boolean ? castTo(call.arguments[0], longType(), context.castMode())
                                                                                 : implicitCast(call.arguments[0], longType(), "bit_count", 1, context);
  return makeCall("bit_count", {value}, intType(),
                  rowKernel<int32_t, int64_t>([](int64_t v) { return static_cast<int32_t>(std::popcount(static_cast<uint64_t>(v))); }));
}

ExpressionPtr resolveBitGet(const FunctionCall& call, const FunctionContext& context) {
  const DataTypePtr& type = call.arguments[0]->type();
  const int32_t width = type->id() == TypeId::Byte ? 8 : type->id() == TypeId::Short ? 16 : type->id() == TypeId::Int ? 32 : 64;
  auto kernel = rowKernel<int8_t, int64_t, int32_t>([width](int64_t value, int32_t at) {
    if (at < 0 || at >= width) {
      throw Error("INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE", "bit_get has bits 0 to " + std::to_string(width - 1) + ", none at " + std::to_string(at) + ".",
                  {{"parameter", "`pos`"}, {"functionName", "`bit_get`"}, {"upper", std::to_string(width)}, {"invalidValue", std::to_string(at)}});
    }
    return static_cast<int8_t>(value >> at & 1);
  });
  return makeCall(toLowerAscii(call.name), coercedArguments(call, {longType(), intType()}, context), byteType(), kernel);
}

}  // namespace

std::vector<FunctionRow> bitRows() {
  return {
      {"&", 2, 2, resolveBinary},
      {"|", 2, 2, resolveBinary},
      {"^", 2, 2, resolveBinary},
      {"~", 1, 1, resolveNot},
      shiftRow("shiftleft", Shift::Left),
      shiftRow("<<", Shift::Left),
      shiftRow("shiftright", Shift::Right),
      shiftRow(">>", Shift::Right),
      shiftRow("shiftrightunsigned", Shift::RightUnsigned),
      shiftRow(">>>", Shift::RightUnsigned),
      {"bit_count", 1, 1, resolveBitCount},
      {"bit_get", 2, 2, resolveBitGet},
      {"getbit", 2, 2, resolveBitGet},
      functionRow({"bin", {longType()}, stringType(), rowKernel<TextResult, int64_t>([](std::string* out, int64_t value) {
                     const auto bits = static_cast<uint64_t>(value);
                     for (int bit = std::max(static_cast<int>(std::bit_width(bits)), 1); bit-- > 0;) *out += bits >> bit & 1 ? '1' : '0';
                   })}),
  };
}

}  // namespace thalweg
