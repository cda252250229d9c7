// Timestamps and dates from numbers, and to numbers; other zones' wall clocks.
#include <cmath>

#include <arrow/api.h>

#include "common/error.h"
#include "functions/coercion.h"
#include "functions/datetime/tables.h"
#include "functions/row_kernels.h"
#include "functions/signature.h"
#include "types/text/calendar.h"
#include "types/text/time_text.h"

namespace thalweg {
namespace {

using View = std::string_view;

FunctionRow fromUnitsRow(std::string_view name, int64_t unit) {
  return {name, 1, 1, [name, unit](const FunctionCall& call, const FunctionContext& context) {
            const ExpressionPtr& value = call.arguments[0];
            if (value->type()->isFractional()) {
              return makeCall(std::string(name), {castTo(value, timestampType(), context.castMode())}, timestampType(),
                              [](const KernelContext&, const std::vector<arrow::Datum>& a) { return a[0]; });
            }
            return makeCall(std::string(name), coercedArguments(call, {longType()}, context), timestampType(), rowKernel<int64_t, int64_t>([unit](int64_t count) {
                              int64_t micros = 0;
                              if (__builtin_mul_overflow(count, unit, &micros)) {
                                throw Error("ARITHMETIC_OVERFLOW", "The number does not fit a timestamp.",
                                            {{"message", "long overflow"}, {"alternative", ""}, {"config", "\"spark.sql.ansi.enabled\""}});
                              }
                              return micros;
                            }));
          }};
}

FunctionRow toUnitsRow(std::string_view name, int64_t unit) {
  return functionRow({name, {timestampType()}, longType(), rowKernel<int64_t, int64_t>([unit](int64_t micros) { return floorDivide(micros, unit); })});
}

// from_utc_timestamp reads the wall clock as UTC and shows the zone's; to_utc_timestamp the other way.
FunctionRow zoneRow(std::string_view name, bool fromUtc) {
  return functionRow({name, {timestampType(), stringType()}, timestampType(), rowKernelOf<int64_t, int64_t, View>([fromUtc](const KernelContext&) {
                        return [fromUtc, zoneName = std::string(), zone = TimeZone()](int64_t micros, View name) mutable {
                          if (name != zoneName) {
                            zone = TimeZone::parse(name);
                            zoneName = name;
                          }
                          return fromUtc ? zone.toLocalMicros(micros) : zone.toUtcMicros(micros);
                        };
                      })});
}

ExpressionPtr resolveMakeDate(const FunctionCall& call, const FunctionContext& context) {
  const bool ansi = context.ansi;
  auto kernel = rowKernel<int32_t, int32_t, int32_t, int32_t>([ansi](int32_t year, int32_t month, int32_t day) -> std::optional<int32_t> {
    if (isCivilDate(year, month, day)) return static_cast<int32_t>(daysFromCivil(year, month, day));
    if (!ansi) return std::nullopt;
    throw Error(ErrorKind::DateTime, "DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION", "There is no day " + std::to_string(year) + "-" + std::to_string(month) + "-" + std::to_string(day) + ".",
                {{"rangeMessage", "Invalid date"}, {"ansiConfig", "\"spark.sql.ansi.enabled\""}});
  });
  return makeCall("make_date", coercedArguments(call, {intType(), intType(), intType()}, context), dateType(), kernel, !ansi);
}

ExpressionPtr resolveTimeZone(const FunctionCall&, const FunctionContext& context) {
  return makeCall("current_timezone", {Literal::of(context.timeZone)}, stringType(),
                  [](const KernelContext&, const std::vector<arrow::Datum>& a) { return a[0]; }, false,
                  [](const std::vector<std::string>&) { return std::string("current_timezone()"); });
}

}  // namespace

std::vector<FunctionRow> epochRows() {
  return {
      fromUnitsRow("timestamp_seconds", kMicrosPerSecond),
      fromUnitsRow("timestamp_millis", 1000),
      fromUnitsRow("timestamp_micros", 1),
      toUnitsRow("unix_seconds", kMicrosPerSecond),
      toUnitsRow("unix_millis", 1000),
      toUnitsRow("unix_micros", 1),
      functionRow({"unix_date", {dateType()}, intType(), rowKernel<int32_t, int32_t>([](int32_t days) { return days; })}),
      functionRow({"date_from_unix_date", {intType()}, dateType(), rowKernel<int32_t, int32_t>([](int32_t days) { return days; })}),
      zoneRow("from_utc_timestamp", true),
      zoneRow("to_utc_timestamp", false),
      {"make_date", 3, 3, resolveMakeDate},
      {"current_timezone", 0, 0, resolveTimeZone},
  };
}

}  // namespace thalweg
