// Casts to numbers and booleans.
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include "common/error.h"
#include "expr/cast/kernels.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/text/number_text.h"

namespace thalweg {
namespace {

constexpr double kMicrosPerSecond = 1e6;

std::string doubleText(double value) {
  std::string text;
  appendDouble(value, &text);
  return text;
}

// A double or float that an integral type holds once its fraction is cut.
template <typename To, typename From>
bool fitsAfterTruncation(From value) {
  if (std::isnan(value)) return false;
  const double truncated = std::trunc(static_cast<double>(value));
  if constexpr (sizeof(To) == 8) return truncated >= -9223372036854775808.0 && truncated < 9223372036854775808.0;
  return truncated >= static_cast<double>(std::numeric_limits<To>::min()) &&
         truncated <= static_cast<double>(std::numeric_limits<To>::max());
}

// Java's d2i and d2l: NaN is 0, values beyond the range stop at its ends.
template <typename Wide, typename From>
Wide saturate(From value) {
  if (std::isnan(value)) return 0;
  if (fitsAfterTruncation<Wide>(value)) return static_cast<Wide>(value);
  return value < 0 ? std::numeric_limits<Wide>::min() : std::numeric_limits<Wide>::max();
}

// What legacy mode makes of a value that does not fit: integers wrap, fractions saturate as Java casts them.
template <typename To, typename From>
To legacyConversion(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (sizeof(To) == 8) return saturate<int64_t>(value);
    return static_cast<To>(saturate<int32_t>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <typename To, typename From>
bool fits(From value) {
  if constexpr (std::is_floating_point_v<To>) return true;
  else if constexpr (std::is_floating_point_v<From>) return fitsAfterTruncation<To>(value);
  else return value >= std::numeric_limits<To>::min() && value <= std::numeric_limits<To>::max();
}

template <typename ToArrow, typename FromArrow>
ArrayPtr convertNumbers(const ArrayPtr& input, const DataType& from, const DataType& to, const CastKernelContext& context) {
  using To = typename ToArrow::c_type;
  using From = typename FromArrow::c_type;
  const auto& values = static_cast<const arrow::NumericArray<FromArrow>&>(*input);
  arrow::NumericBuilder<ToArrow> builder(context.evaluation.memoryPool());
  throwIfFailed(builder.Reserve(values.length()));
  std::vector<int64_t> misfits;
  for (int64_t row = 0; row < values.length(); ++row) {
    if (values.IsNull(row)) {
      builder.UnsafeAppendNull();
      continue;
    }
    const From value = values.Value(row);
    if (fits<To>(value)) {
      builder.UnsafeAppend(static_cast<To>(value));
    } else if (context.mode == CastMode::Legacy) {
      builder.UnsafeAppend(legacyConversion<To>(value));
    } else {
      builder.UnsafeAppendNull();
      misfits.push_back(row);
    }
  }
  if (context.mode == CastMode::Ansi && !misfits.empty()) {
    context.selection.forEach([&](int64_t row) {
      if (!std::binary_search(misfits.begin(), misfits.end(), row)) return;
      throwCastOverflow(std::is_floating_point_v<From> ? doubleText(static_cast<double>(values.Value(row))) + "D"
                                                       : std::to_string(values.Value(row)) + (sizeof(From) == 8 ? "L" : ""),
                        from, to);
    });
  }
  return valueOrThrow(builder.Finish());
}

template <typename ToArrow>
ArrayPtr convertText(const ArrayPtr& input, const DataType& from, const DataType& to, const CastKernelContext& context) {
  using To = typename ToArrow::c_type;
  const auto& values = static_cast<const arrow::BinaryArray&>(*input);
  arrow::NumericBuilder<ToArrow> builder(context.evaluation.memoryPool());
  throwIfFailed(builder.Reserve(values.length()));
  std::vector<int64_t> misfits;
  for (int64_t row = 0; row < values.length(); ++row) {
    std::optional<To> value;
    if (values.IsValid(row)) {
      if constexpr (std::is_same_v<To, double>) value = parseDouble(values.GetView(row));
      else if constexpr (std::is_same_v<To, float>) value = parseFloat(values.GetView(row));
      else {
        const auto wide = parseIntegral(values.GetView(row), std::numeric_limits<To>::min(), std::numeric_limits<To>::max(),
                                        /*allowDecimal=*/context.mode == CastMode::Legacy);
        if (wide) value = static_cast<To>(*wide);
      }
      if (!value) misfits.push_back(row);
    }
    if (value) builder.UnsafeAppend(*value);
    else builder.UnsafeAppendNull();
  }
  if (context.mode == CastMode::Ansi && !misfits.empty()) {
    context.selection.forEach([&](int64_t row) {
      if (std::binary_search(misfits.begin(), misfits.end(), row)) throwCastInvalidInput(values.GetString(row), from, to);
    });
  }
  return valueOrThrow(builder.Finish());
}

template <typename ToArrow>
ArrayPtr convertBooleans(const ArrayPtr& input, const CastKernelContext& context) {
  const auto& values = static_cast<const arrow::BooleanArray&>(*input);
  arrow::NumericBuilder<ToArrow> builder(context.evaluation.memoryPool());
  throwIfFailed(builder.Reserve(values.length()));
  for (int64_t row = 0; row < values.length(); ++row) {
    if (values.IsNull(row)) builder.UnsafeAppendNull();
    else builder.UnsafeAppend(static_cast<typename ToArrow::c_type>(values.Value(row)));
  }
  return valueOrThrow(builder.Finish());
}

// A timestamp as a number is its seconds: whole ones floored, fractions kept by float and double.
ArrayPtr timestampSeconds(const ArrayPtr& input, bool fractional, const CastKernelContext& context) {
  const auto& values = static_cast<const arrow::TimestampArray&>(*input);
  if (fractional) {
    arrow::DoubleBuilder builder(context.evaluation.memoryPool());
    for (int64_t row = 0; row < values.length(); ++row) {
      throwIfFailed(values.IsNull(row) ? builder.AppendNull()
                                       : builder.Append(static_cast<double>(values.Value(row)) / kMicrosPerSecond));
    }
    return valueOrThrow(builder.Finish());
  }
  arrow::Int64Builder builder(context.evaluation.memoryPool());
  for (int64_t row = 0; row < values.length(); ++row) {
    const int64_t micros = values.IsNull(row) ? 0 : values.Value(row);
    const int64_t seconds = micros / 1000000 - (micros % 1000000 < 0 ? 1 : 0);
    throwIfFailed(values.IsNull(row) ? builder.AppendNull() : builder.Append(seconds));
  }
  return valueOrThrow(builder.Finish());
}

bool fitsIntegral(int64_t value, TypeId id) {
  switch (id) {
    case TypeId::Byte: return fits<int8_t>(value);
    case TypeId::Short: return fits<int16_t>(value);
    case TypeId::Int: return fits<int32_t>(value);
    default: return true;
  }
}

// A decimal's integral part, exact; null where it does not fit.
ArrayPtr decimalToNumbers(const ArrayPtr& input, const DataType& from, const DataType& to, const CastKernelContext& context) {
  const auto& values = static_cast<const arrow::Decimal128Array&>(*input);
  if (to.id() == TypeId::Double || to.id() == TypeId::Float) {
    arrow::DoubleBuilder builder(context.evaluation.memoryPool());
    for (int64_t row = 0; row < values.length(); ++row) {
      // Through text: the nearest double of the decimal's exact value, as BigDecimal.doubleValue gives it.
      throwIfFailed(values.IsNull(row) ? builder.AppendNull() : builder.Append(*parseDouble(values.FormatValue(row))));
    }
    const ArrayPtr doubles = valueOrThrow(builder.Finish());
    return to.id() == TypeId::Double ? doubles : castToNumber(doubles, *doubleType(), to, context);
  }
  arrow::Int64Builder builder(context.evaluation.memoryPool());
  std::vector<int64_t> misfits;
  for (int64_t row = 0; row < values.length(); ++row) {
    if (values.IsNull(row)) {
      throwIfFailed(builder.AppendNull());
      continue;
    }
    const arrow::Decimal128 value(values.GetValue(row));
    const arrow::Decimal128 whole = value.ReduceScaleBy(from.scale(), /*round=*/false);
    int64_t result = 0;
    if (context.mode == CastMode::Legacy) {
      throwIfFailed(builder.Append(static_cast<int64_t>(whole.low_bits())));
    } else if (whole.ToInteger(&result).ok() && fitsIntegral(result, to.id())) {
      throwIfFailed(builder.Append(result));
    } else {
      throwIfFailed(builder.AppendNull());
      misfits.push_back(row);
    }
  }
  if (context.mode == CastMode::Ansi && !misfits.empty()) {
    context.selection.forEach([&](int64_t row) {
      if (std::binary_search(misfits.begin(), misfits.end(), row)) throwCastOverflow(values.FormatValue(row), from, to);
    });
  }
  const ArrayPtr longs = valueOrThrow(builder.Finish());
  return to.id() == TypeId::Long ? longs : castToNumber(longs, *longType(), to, context);
}

template <typename ToArrow>
ArrayPtr toNumber(const ArrayPtr& input, const DataType& from, const DataType& to, const CastKernelContext& context) {
  switch (from.id()) {
    case TypeId::Boolean: return convertBooleans<ToArrow>(input, context);
    case TypeId::Byte: return convertNumbers<ToArrow, arrow::Int8Type>(input, from, to, context);
    case TypeId::Short: return convertNumbers<ToArrow, arrow::Int16Type>(input, from, to, context);
    case TypeId::Int: return convertNumbers<ToArrow, arrow::Int32Type>(input, from, to, context);
    case TypeId::Long: return convertNumbers<ToArrow, arrow::Int64Type>(input, from, to, context);
    case TypeId::Float: return convertNumbers<ToArrow, arrow::FloatType>(input, from, to, context);
    case TypeId::Double: return convertNumbers<ToArrow, arrow::DoubleType>(input, from, to, context);
    case TypeId::Decimal: return decimalToNumbers(input, from, to, context);
    case TypeId::String: return convertText<ToArrow>(input, from, to, context);
    case TypeId::Timestamp: {
      const bool fractional = to.id() == TypeId::Float || to.id() == TypeId::Double;
      const ArrayPtr seconds = timestampSeconds(input, fractional, context);
      return castKernel(seconds, fractional ? *doubleType() : *longType(), to, context);
    }
    case TypeId::Date:
      return valueOrThrow(arrow::MakeArrayOfNull(toArrowType(to), input->length(), context.evaluation.memoryPool()));
    default: throw unsupported("A cast from " + from.sqlString() + " to " + to.sqlString());
  }
}

// Scales an integer into a decimal; null where the digits do not fit.
std::optional<arrow::Decimal128> fitDecimal(const arrow::Decimal128& value, int fromScale, const DataType& to) {
  arrow::Decimal128 scaled = value;
  if (to.scale() < fromScale) {
    scaled = value.ReduceScaleBy(fromScale - to.scale(), /*round=*/true);  // half away from zero: HALF_UP
  } else if (to.scale() > fromScale) {
    auto result = value.Rescale(fromScale, to.scale());
    if (!result.ok()) return std::nullopt;
    scaled = *result;
  }
  if (!scaled.FitsInPrecision(to.precision())) return std::nullopt;
  return scaled;
}

std::optional<arrow::Decimal128> decimalOf(std::string_view text, const DataType& to) {
  arrow::Decimal128 value;
  if (parseDecimal(text, to.precision(), to.scale(), &value) != DecimalParse::Ok) return std::nullopt;
  return value;
}

[[noreturn]] void throwDecimalOverflow(const std::string& value, const DataType& to) {
  throw Error("NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
              "The value " + value + " does not fit into " + to.sqlString() + "; use try_cast or a wider decimal.",
              {{"value", value}, {"precision", std::to_string(to.precision())}, {"scale", std::to_string(to.scale())},
               {"config", "\"spark.sql.ansi.enabled\""}});
}

}  // namespace

ArrayPtr castToNumber(const ArrayPtr& input, const DataType& from, const DataType& to, const CastKernelContext& context) {
  switch (to.id()) {
    case TypeId::Byte: return toNumber<arrow::Int8Type>(input, from, to, context);
    case TypeId::Short: return toNumber<arrow::Int16Type>(input, from, to, context);
    case TypeId::Int: return toNumber<arrow::Int32Type>(input, from, to, context);
    case TypeId::Long: return toNumber<arrow::Int64Type>(input, from, to, context);
    case TypeId::Float: return toNumber<arrow::FloatType>(input, from, to, context);
    default: return toNumber<arrow::DoubleType>(input, from, to, context);
  }
}

ArrayPtr castToBoolean(const ArrayPtr& input, const DataType& from, const CastKernelContext& context) {
  arrow::BooleanBuilder builder(context.evaluation.memoryPool());
  throwIfFailed(builder.Reserve(input->length()));
  if (from.id() == TypeId::String) {
    const auto& values = static_cast<const arrow::BinaryArray&>(*input);
    std::vector<int64_t> misfits;
    for (int64_t row = 0; row < values.length(); ++row) {
      const auto value = values.IsValid(row) ? parseBoolean(values.GetView(row)) : std::nullopt;
      if (value) builder.UnsafeAppend(*value);
      else builder.UnsafeAppendNull();
      if (!value && values.IsValid(row)) misfits.push_back(row);
    }
    if (context.mode == CastMode::Ansi && !misfits.empty()) {
      context.selection.forEach([&](int64_t row) {
        if (std::binary_search(misfits.begin(), misfits.end(), row)) {
          throwCastInvalidInput(values.GetString(row), from, *booleanType());
        }
      });
    }
    return valueOrThrow(builder.Finish());
  }
  const ArrayPtr numbers = from.id() == TypeId::Double || from.id() == TypeId::Float || from.id() == TypeId::Decimal
                               ? castKernel(input, from, *doubleType(), context)
                               : castKernel(input, from, *longType(), context);
  for (int64_t row = 0; row < numbers->length(); ++row) {
    if (numbers->IsNull(row)) builder.UnsafeAppendNull();
    else if (numbers->type_id() == arrow::Type::DOUBLE) {
      builder.UnsafeAppend(static_cast<const arrow::DoubleArray&>(*numbers).Value(row) != 0);
    } else {
      builder.UnsafeAppend(static_cast<const arrow::Int64Array&>(*numbers).Value(row) != 0);
    }
  }
  return valueOrThrow(builder.Finish());
}

ArrayPtr castToDecimal(const ArrayPtr& input, const DataType& from, const DataType& to, const CastKernelContext& context) {
  arrow::Decimal128Builder builder(toArrowType(to), context.evaluation.memoryPool());
  throwIfFailed(builder.Reserve(input->length()));
  std::vector<int64_t> misfits;
  ArrayPtr source = input;
  if (from.isIntegral() || from.id() == TypeId::Boolean) source = castKernel(input, from, *longType(), context);
  if (from.id() == TypeId::Float || from.id() == TypeId::Timestamp) source = castKernel(input, from, *doubleType(), context);
  for (int64_t row = 0; row < source->length(); ++row) {
    if (source->IsNull(row)) {
      builder.UnsafeAppendNull();
      continue;
    }
    std::optional<arrow::Decimal128> value;
    switch (source->type_id()) {
      case arrow::Type::INT64:
        value = fitDecimal(arrow::Decimal128(static_cast<const arrow::Int64Array&>(*source).Value(row)), 0, to);
        break;
      case arrow::Type::DECIMAL128:
        value = fitDecimal(arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(*source).GetValue(row)), from.scale(), to);
        break;
      case arrow::Type::DOUBLE: {
        const double number = static_cast<const arrow::DoubleArray&>(*source).Value(row);
        // BigDecimal of the shortest text that reads back as the double.
        if (std::isfinite(number)) value = decimalOf(doubleText(number), to);
        break;
      }
      default: value = decimalOf(trimBlanks(static_cast<const arrow::BinaryArray&>(*source).GetView(row)), to);
    }
    if (value) builder.UnsafeAppend(*value);
    else {
      builder.UnsafeAppendNull();
      misfits.push_back(row);
    }
  }
  if (context.mode == CastMode::Ansi && !misfits.empty()) {
    context.selection.forEach([&](int64_t row) {
      if (!std::binary_search(misfits.begin(), misfits.end(), row)) return;
      const std::string value = valueOrThrow(source->GetScalar(row))->ToString();
      if (from.id() == TypeId::String && !parseDouble(value)) throwCastInvalidInput(value, from, to);
      throwDecimalOverflow(value, to);
    });
  }
  return valueOrThrow(builder.Finish());
}

}  // namespace thalweg
