// Fields of dates and timestamps.
#include <arrow/api.h>

#include "common/error.h"
#include "functions/coercion.h"
#include "functions/datetime/tables.h"
#include "functions/row_kernels.h"
#include "functions/signature.h"
#include "types/text/calendar.h"

namespace thalweg {
namespace {

int weekOfYear(int64_t days) {
  // The week's Thursday decides its year.
  const int64_t thursday = days + 4 - isoDayOfWeek(days);
  return (dayOfYear(civilFromDays(thursday)) - 1) / 7 + 1;
}

using DateField = int32_t (*)(int64_t days);

int32_t yearOf(int64_t days) { return static_cast<int32_t>(civilFromDays(days).year); }
int32_t monthOf(int64_t days) { return civilFromDays(days).month; }
int32_t dayOf(int64_t days) { return civilFromDays(days).day; }
int32_t quarterOf(int64_t days) { return (civilFromDays(days).month - 1) / 3 + 1; }
int32_t dayOfYearOf(int64_t days) { return dayOfYear(civilFromDays(days)); }
int32_t weekOf(int64_t days) { return weekOfYear(days); }
int32_t yearOfWeekOf(int64_t days) { return yearOf(days + 4 - isoDayOfWeek(days)); }
int32_t dayOfWeekOf(int64_t days) { return isoDayOfWeek(days) % 7 + 1; }
int32_t weekdayOf(int64_t days) { return isoDayOfWeek(days) - 1; }
int32_t isoDayOf(int64_t days) { return isoDayOfWeek(days); }

FunctionRow dateFieldRow(std::string_view name, DateField field) {
  return functionRow({name, {dateType()}, intType(), rowKernel<int32_t, int32_t>([field](int32_t days) { return field(days); })});
}

// Local wall-clock microseconds of a timestamp of either kind.
ExpressionPtr timeArgument(const ExpressionPtr& argument, std::string_view function, const FunctionContext& context) {
  if (argument->type()->id() == TypeId::TimestampNtz) return argument;
  return implicitCast(argument, timestampType(), function, 1, context);
}

int64_t unitOf(std::string_view name) {
  if (name == "hour") return 3600 * kMicrosPerSecond;
  if (name == "minute") return 60 * kMicrosPerSecond;
  return kMicrosPerSecond;
}

ExpressionPtr resolveTimeField(const FunctionCall& call, const FunctionContext& context) {
  const std::string name = toLowerAscii(call.name);
  const ExpressionPtr time = timeArgument(call.arguments[0], name, context);
  const bool zoned = time->type()->id() == TypeId::Timestamp;
  const int64_t unit = unitOf(name);
  const int64_t modulus = name == "hour" ? 24 : 60;
  auto kernel = rowKernelOf<int32_t, int64_t>([=](const KernelContext& c) {
    return [=, zone = c.evaluation.batch->timeZone](int64_t micros) {
      const int64_t units = floorDivide(zoned ? zone.toLocalMicros(micros) : micros, unit);
      return static_cast<int32_t>(units - floorDivide(units, modulus) * modulus);
    };
  });
  return makeCall(name, {time}, intType(), kernel);
}

FunctionRow nameRow(std::string_view name, bool month) {
  return functionRow({name, {dateType()}, stringType(), rowKernel<TextResult, int32_t>([month](std::string* out, int32_t days) {
                        static constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec", kDays = "MonTueWedThuFriSatSun";
                        *out += month ? kMonths.substr(static_cast<size_t>(civilFromDays(days).month - 1) * 3, 3)
                                      : kDays.substr(static_cast<size_t>(isoDayOfWeek(days) - 1) * 3, 3);
                      })});
}

// Seconds with their fraction, as extract(SECOND …) gives them.
ExpressionPtr secondsWithFraction(const ExpressionPtr& argument, const FunctionContext& context) {
  const ExpressionPtr time = timeArgument(argument, "extract", context);
  Kernel kernel = [](const KernelContext& c, const std::vector<arrow::Datum>& a) -> arrow::Datum {
    const ValueReader<int64_t> values(a[0]);
    arrow::Decimal128Builder builder(toArrowType(c.resultType), c.evaluation.memoryPool());
    for (int64_t row = 0; row < c.numRows; ++row) {
      if (values.isNull(row)) throwIfFailed(builder.AppendNull());
      else {
        const int64_t minute = 60 * kMicrosPerSecond;
        throwIfFailed(builder.Append(arrow::Decimal128(values.value(row) - floorDivide(values.value(row), minute) * minute)));
      }
    }
    return valueOrThrow(builder.Finish());
  };
  return makeCall("secondwithfraction", {time}, DataType::decimal(8, 6), kernel);
}

ExpressionPtr intervalField(const std::string& field, const ExpressionPtr& value) {
  const bool months = value->type()->id() == TypeId::YearMonthInterval;
  if (months && (field.starts_with("year") || field == "y" || field == "yr" || field == "yrs")) {
    return makeCall("extract", {value}, intType(), rowKernel<int32_t, int32_t>([](int32_t m) { return m / 12; }));
  }
  if (months && field.starts_with("mon")) {
    return makeCall("extract", {value}, byteType(), rowKernel<int8_t, int32_t>([](int32_t m) { return static_cast<int8_t>(m % 12); }));
  }
  if (!months && (field == "day" || field == "days" || field == "d")) {
    return makeCall("extract", {value}, intType(), rowKernel<int32_t, int64_t>([](int64_t v) { return static_cast<int32_t>(v / kMicrosPerDay); }));
  }
  const bool hours = field.starts_with("h");
  if (!months && (hours || field == "minute" || field == "minutes" || field == "min" || field == "mins" || field == "m")) {
    const int64_t unit = (hours ? 3600 : 60) * kMicrosPerSecond;
    return makeCall("extract", {value}, byteType(), rowKernel<int8_t, int64_t>([=](int64_t v) { return static_cast<int8_t>(v / unit % (hours ? 24 : 60)); }));
  }
  return nullptr;
}

ExpressionPtr resolveExtract(const FunctionCall& call, const FunctionContext& context) {
  const auto constant = constantArgument(call.arguments[0], call.name, "field");
  const std::string field = constant->is_valid && constant->type->id() == arrow::Type::STRING
                                ? toLowerAscii(static_cast<const arrow::StringScalar&>(*constant).view()) : "";
  const ExpressionPtr& source = call.arguments[1];
  const TypeId id = source->type()->id();
  ExpressionPtr result;
  if (id == TypeId::YearMonthInterval || id == TypeId::DayTimeInterval) {
    result = intervalField(field, source);
  } else {
    struct Names { const char* function; std::vector<std::string_view> names; };
    static const std::vector<Names> kFields = {
        {"year", {"year", "y", "years", "yr", "yrs"}}, {"__yearofweek", {"yearofweek"}}, {"quarter", {"quarter", "qtr"}},
        {"month", {"month", "mon", "mons", "months"}}, {"weekofyear", {"week", "w", "weeks"}}, {"day", {"day", "d", "days"}},
        {"dayofweek", {"dayofweek", "dow"}}, {"__isodayofweek", {"dayofweek_iso", "dow_iso"}}, {"dayofyear", {"doy"}},
        {"hour", {"hour", "h", "hours", "hr", "hrs"}}, {"minute", {"minute", "m", "min", "mins", "minutes"}}};
    for (const Names& names : kFields) {
      if (std::find(names.names.begin(), names.names.end(), field) != names.names.end()) result = resolveFunction({names.function, {source}}, context);
    }
    if (field == "second" || field == "s" || field == "sec" || field == "seconds" || field == "secs") result = secondsWithFraction(source, context);
  }
  if (!result) {
    throw Error("INVALID_EXTRACT_FIELD", "There is no field '" + field + "' to extract from '" + source->toString() + "'.",
                {{"field", "'" + field + "'"}, {"expr", "\"" + source->toString() + "\""}});
  }
  const std::string text = equalsIgnoreCase(call.name, "extract") ? "extract(" + field + " FROM " + source->toString() + ")"
                                                                   : toLowerAscii(call.name) + "(" + field + ", " + source->toString() + ")";
  return makeCall(toLowerAscii(call.name), {result}, result->type(), [](const KernelContext&, const std::vector<arrow::Datum>& a) { return a[0]; },
                  false, [text](const std::vector<std::string>&) { return text; });
}

}  // namespace

std::vector<FunctionRow> fieldRows() {
  return {
      dateFieldRow("year", yearOf),           dateFieldRow("month", monthOf),         dateFieldRow("day", dayOf),
      dateFieldRow("dayofmonth", dayOf),      dateFieldRow("quarter", quarterOf),     dateFieldRow("dayofyear", dayOfYearOf),
      dateFieldRow("weekofyear", weekOf),     dateFieldRow("dayofweek", dayOfWeekOf), dateFieldRow("weekday", weekdayOf),
      dateFieldRow("__yearofweek", yearOfWeekOf), dateFieldRow("__isodayofweek", isoDayOf),
      {"hour", 1, 1, resolveTimeField},       {"minute", 1, 1, resolveTimeField},     {"second", 1, 1, resolveTimeField},
      nameRow("monthname", true),             nameRow("dayname", false),
      {"extract", 2, 2, resolveExtract},      {"date_part", 2, 2, resolveExtract},    {"datepart", 2, 2, resolveExtract},
  };
}

}  // namespace thalweg
