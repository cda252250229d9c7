// Dates and timestamps moved, cut and subtracted.
#include <cmath>

#include <arrow/api.h>

#include "common/error.h"
#include "functions/coercion.h"
#include "functions/datetime/tables.h"
#include "functions/row_kernels.h"
#include "functions/signature.h"
#include "types/text/calendar.h"

namespace thalweg {
namespace {

using View = std::string_view;

[[noreturn]] void throwTimeOverflow() {
  throw Error("DATETIME_OVERFLOW", "The date or time lies outside of what its type holds.", {{"operation", "add"}});
}

int32_t checkedDays(int64_t days) {
  if (days < INT32_MIN || days > INT32_MAX) throwTimeOverflow();
  return static_cast<int32_t>(days);
}

int64_t checkedSum(int64_t left, int64_t right) {
  int64_t sum = 0;
  if (__builtin_add_overflow(left, right, &sum)) throwTimeOverflow();
  return sum;
}

// The same day of another month, or that month's last.
int64_t plusMonths(int64_t days, int64_t months) {
  const CivilDate date = civilFromDays(days);
  const int64_t count = date.year * 12 + date.month - 1 + months;
  const int64_t year = floorDivide(count, 12);
  const int month = static_cast<int>(count - year * 12) + 1;
  return daysFromCivil(year, month, std::min(date.day, daysInMonth(year, month)));
}

int64_t lastDay(int64_t days) {
  const CivilDate date = civilFromDays(days);
  return daysFromCivil(date.year, date.month, daysInMonth(date.year, date.month));
}

int64_t dayStart(int64_t localMicros) { return floorDivide(localMicros, kMicrosPerDay); }

// Local time moved by months.
int64_t localPlusMonths(int64_t localMicros, int64_t months) {
  const int64_t days = dayStart(localMicros);
  return checkedSum(plusMonths(days, months) * kMicrosPerDay, localMicros - days * kMicrosPerDay);
}

// The start of a unit that a day lies in; empty for an unknown unit. Units smaller than a day are date_trunc's own.
std::optional<int64_t> truncatedDay(int64_t days, View unit) {
  const CivilDate date = civilFromDays(days);
  if (unit == "year" || unit == "yyyy" || unit == "yy") return daysFromCivil(date.year, 1, 1);
  if (unit == "quarter") return daysFromCivil(date.year, (date.month - 1) / 3 * 3 + 1, 1);
  if (unit == "month" || unit == "mm" || unit == "mon") return daysFromCivil(date.year, date.month, 1);
  if (unit == "week") return days - isoDayOfWeek(days) + 1;
  return std::nullopt;
}

Kernel truncateDateKernel() {
  return rowKernel<int32_t, int32_t, View>([](int32_t days, View unit) -> std::optional<int32_t> {
    const auto start = truncatedDay(days, toLowerAscii(unit));
    return start ? std::optional(static_cast<int32_t>(*start)) : std::nullopt;
  });
}

std::optional<int64_t> truncatedLocal(int64_t micros, const std::string& unit) {
  int64_t size = 0;
  if (unit == "microsecond") size = 1;
  else if (unit == "millisecond") size = 1000;
  else if (unit == "second") size = kMicrosPerSecond;
  else if (unit == "minute") size = 60 * kMicrosPerSecond;
  else if (unit == "hour") size = 3600 * kMicrosPerSecond;
  else if (unit == "day" || unit == "dd") size = kMicrosPerDay;
  if (size) return floorDivide(micros, size) * size;
  const auto days = truncatedDay(dayStart(micros), unit);
  return days ? std::optional(*days * kMicrosPerDay) : std::nullopt;
}

Kernel truncateTimeKernel() {
  return rowKernelOf<int64_t, View, int64_t>([](const KernelContext& c) {
    return [zone = c.evaluation.batch->timeZone](View unit, int64_t micros) -> std::optional<int64_t> {
      const auto start = truncatedLocal(zone.toLocalMicros(micros), toLowerAscii(unit));
      return start ? std::optional(zone.toUtcMicros(*start)) : std::nullopt;
    };
  });
}

// Whole months where both are the same day or last days, else by 31-day months and the time of day.
double monthsBetween(int64_t end, int64_t start, bool rounded) {
  const int64_t endDays = dayStart(end), startDays = dayStart(start);
  const CivilDate a = civilFromDays(endDays), b = civilFromDays(startDays);
  const auto months = static_cast<double>((a.year - b.year) * 12 + a.month - b.month);
  if (a.day == b.day || (endDays == lastDay(endDays) && startDays == lastDay(startDays))) return months;
  const int64_t seconds = (end - endDays * kMicrosPerDay) / kMicrosPerSecond - (start - startDays * kMicrosPerDay) / kMicrosPerSecond;
  const double value = months + (static_cast<double>(a.day - b.day) * 86400.0 + static_cast<double>(seconds)) / (31.0 * 86400.0);
  return rounded ? std::round(value * 1e8) / 1e8 : value;
}

Kernel monthsBetweenKernel() {
  return rowKernelOf<double, int64_t, int64_t, bool>([](const KernelContext& c) {
    return [zone = c.evaluation.batch->timeZone](int64_t end, int64_t start, bool rounded) {
      return monthsBetween(zone.toLocalMicros(end), zone.toLocalMicros(start), rounded);
    };
  });
}

Kernel nextDayKernel(bool ansi) {
  return rowKernel<int32_t, int32_t, View>([ansi](int32_t days, View name) -> std::optional<int32_t> {
    static const std::vector<std::vector<std::string_view>> kNames = {{"mo", "mon", "monday"}, {"tu", "tue", "tuesday"}, {"we", "wed", "wednesday"},
        {"th", "thu", "thursday"}, {"fr", "fri", "friday"}, {"sa", "sat", "saturday"}, {"su", "sun", "sunday"}};
    const std::string lower = toLowerAscii(name);
    for (int day = 1; day <= 7; ++day) {
      const auto& names = kNames[static_cast<size_t>(day - 1)];
      if (std::find(names.begin(), names.end(), lower) == names.end()) continue;
      const int ahead = (day - isoDayOfWeek(days) + 6) % 7 + 1;
      return checkedDays(static_cast<int64_t>(days) + ahead);
    }
    if (!ansi) return std::nullopt;
    throw Error("ILLEGAL_DAY_OF_WEEK", "'" + std::string(name) + "' is no day of the week.", {{"string", std::string(name)}});
  });
}

// A unit's length in months, or in microseconds.
struct Unit {
  int64_t months = 0;
  int64_t micros = 0;
};

Unit unitOf(const ExpressionPtr& argument, std::string_view function) {
  const auto constant = constantArgument(argument, function, "unit");
  const std::string name = constant->is_valid && constant->type->id() == arrow::Type::STRING
                               ? toLowerAscii(static_cast<const arrow::StringScalar&>(*constant).view()) : "";
  if (name == "year") return {12, 0};
  if (name == "quarter") return {3, 0};
  if (name == "month") return {1, 0};
  if (name == "week") return {0, 7 * kMicrosPerDay};
  if (name == "day" || name == "dayofyear") return {0, kMicrosPerDay};
  if (name == "hour") return {0, 3600 * kMicrosPerSecond};
  if (name == "minute") return {0, 60 * kMicrosPerSecond};
  if (name == "second") return {0, kMicrosPerSecond};
  if (name == "millisecond") return {0, 1000};
  if (name == "microsecond") return {0, 1};
  throw Error("INVALID_PARAMETER_VALUE.DATETIME_UNIT", std::string(function) + " has no unit '" + name + "'.",
              {{"functionName", "`" + std::string(function) + "`"}, {"parameter", "`unit`"}, {"invalidValue", "'" + name + "'"}});
}

// timestampadd(unit, amount, time): days and longer are added to the wall clock.
ExpressionPtr timestampAdd(const FunctionCall& call, const FunctionContext& context) {
  const Unit unit = unitOf(call.arguments[0], call.name);
  const bool isNtz = call.arguments[2]->type()->id() == TypeId::TimestampNtz;
  const DataTypePtr type = isNtz ? timestampNtzType() : timestampType();
  const ExpressionPtr amount = implicitCast(call.arguments[1], longType(), call.name, 2, context);
  const ExpressionPtr time = implicitCast(call.arguments[2], type, call.name, 3, context);
  auto kernel = rowKernelOf<int64_t, int64_t, int64_t>([=](const KernelContext& c) {
    return [=, zone = isNtz ? TimeZone() : c.evaluation.batch->timeZone](int64_t amount, int64_t micros) {
      int64_t shift = 0;
      if (unit.micros && __builtin_mul_overflow(amount, unit.micros, &shift)) throwTimeOverflow();
      if (unit.micros && unit.micros % kMicrosPerDay != 0) return checkedSum(micros, shift);
      const int64_t local = zone.toLocalMicros(micros);
      return zone.toUtcMicros(unit.months ? localPlusMonths(local, amount * unit.months) : checkedSum(local, shift));
    };
  });
  return makeCall("timestampadd", {amount, time}, type, kernel);
}

// timestampdiff(unit, start, end): whole units.
ExpressionPtr timestampDiff(const FunctionCall& call, const FunctionContext& context) {
  const Unit unit = unitOf(call.arguments[0], call.name);
  const ExpressionPtr start = implicitCast(call.arguments[1], timestampType(), call.name, 2, context);
  const ExpressionPtr end = implicitCast(call.arguments[2], timestampType(), call.name, 3, context);
  auto kernel = rowKernelOf<int64_t, int64_t, int64_t>([=](const KernelContext& c) {
    return [=, zone = c.evaluation.batch->timeZone](int64_t startMicros, int64_t endMicros) {
      const int64_t from = zone.toLocalMicros(startMicros), to = zone.toLocalMicros(endMicros);
      if (unit.micros) return (to - from) / unit.micros;
      const CivilDate a = civilFromDays(dayStart(from)), b = civilFromDays(dayStart(to));
      int64_t months = (b.year - a.year) * 12 + b.month - a.month;
      if (months > 0 && localPlusMonths(from, months) > to) --months;
      if (months < 0 && localPlusMonths(from, months) < to) ++months;
      return months / unit.months;
    };
  });
  return makeCall("timestampdiff", {start, end}, longType(), kernel);
}

// date_add(date, days), and dateadd(unit, amount, time).
ExpressionPtr resolveDateAdd(const FunctionCall& call, const FunctionContext& context) {
  if (call.arguments.size() == 3) return timestampAdd(call, context);
  const bool subtract = equalsIgnoreCase(call.name, "date_sub");
  return makeCall(subtract ? "date_sub" : "date_add", coercedArguments(call, {dateType(), intType()}, context), dateType(),
                  rowKernel<int32_t, int32_t, int32_t>([subtract](int32_t days, int32_t count) {
                    return checkedDays(subtract ? static_cast<int64_t>(days) - count : static_cast<int64_t>(days) + count);
                  }));
}

ExpressionPtr resolveDateDiff(const FunctionCall& call, const FunctionContext& context) {
  if (call.arguments.size() == 3) return timestampDiff(call, context);
  return makeCall(toLowerAscii(call.name), coercedArguments(call, {dateType(), dateType()}, context), intType(),
                  rowKernel<int32_t, int32_t, int32_t>([](int32_t end, int32_t start) { return end - start; }));
}

ExpressionPtr resolveNextDay(const FunctionCall& call, const FunctionContext& context) {
  return makeCall("next_day", coercedArguments(call, {dateType(), stringType()}, context), dateType(), nextDayKernel(context.ansi), !context.ansi);
}

bool isTime(TypeId id) { return id == TypeId::Date || id == TypeId::Timestamp || id == TypeId::TimestampNtz; }

ExpressionPtr operation(const FunctionCall& call, const ExpressionPtr& left, const ExpressionPtr& right, DataTypePtr type, Kernel kernel) {
  const bool tries = call.name.size() > 1;
  const std::string symbol = call.name == "+" || equalsIgnoreCase(call.name, "try_add") ? "+" : "-";
  if (!tries) return makeOperator(symbol, left, right, std::move(type), std::move(kernel));
  return makeCall(toLowerAscii(call.name), {left, right}, std::move(type), std::move(kernel), true);
}

}  // namespace

ExpressionPtr resolveTimeArithmetic(const FunctionCall& call, const FunctionContext& context) {
  const bool plus = call.name == "+" || equalsIgnoreCase(call.name, "try_add");
  if (!plus && call.name != "-" && !equalsIgnoreCase(call.name, "try_subtract")) return nullptr;
  ExpressionPtr left = call.arguments[0], right = call.arguments[1];
  // An interval or a number of days may stand on either side of a plus.
  if (plus && !isTime(left->type()->id()) && isTime(right->type()->id())) std::swap(left, right);
  const TypeId from = left->type()->id(), by = right->type()->id();
  const int64_t sign = plus ? 1 : -1;
  if ((from == TypeId::DayTimeInterval && by == from) || (from == TypeId::YearMonthInterval && by == from)) {
    const DataTypePtr type = commonType(left->type(), right->type(), context);
    if (from == TypeId::DayTimeInterval) {
      return operation(call, left, right, type, rowKernel<int64_t, int64_t, int64_t>([plus](int64_t a, int64_t b) {
                         int64_t result = 0;
                         const bool overflow = plus ? __builtin_add_overflow(a, b, &result) : __builtin_sub_overflow(a, b, &result);
                         if (overflow) throw Error("INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION", "The interval is too long.", {{"functionName", "`try_add`"}});
                         return result;
                       }));
    }
    return operation(call, left, right, type, rowKernel<int32_t, int32_t, int32_t>([plus](int32_t a, int32_t b) {
                       int32_t result = 0;
                       const bool overflow = plus ? __builtin_add_overflow(a, b, &result) : __builtin_sub_overflow(a, b, &result);
                       if (overflow) throw Error("INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION", "The interval is too long.", {{"functionName", "`try_add`"}});
                       return result;
                     }));
  }
  if (!isTime(from)) return nullptr;
  if (!plus && isTime(by)) {
    if (from == TypeId::Date && by == TypeId::Date) {
      return operation(call, left, right, DataType::dayTimeInterval(0, 0), rowKernel<int64_t, int32_t, int32_t>([](int32_t a, int32_t b) {
                         return (static_cast<int64_t>(a) - b) * kMicrosPerDay;
                       }));
    }
    const DataTypePtr common = commonType(left->type(), right->type(), context);
    return operation(call, castTo(left, common, context.castMode()), castTo(right, common, context.castMode()), DataType::dayTimeInterval(0, 3),
                     rowKernel<int64_t, int64_t, int64_t>([](int64_t a, int64_t b) { return checkedSum(a, -b); }));
  }
  if (by == TypeId::YearMonthInterval) {
    if (from == TypeId::Date) {
      return operation(call, left, right, dateType(), rowKernel<int32_t, int32_t, int32_t>([sign](int32_t days, int32_t months) {
                         return checkedDays(plusMonths(days, sign * months));
                       }));
    }
    const bool zoned = from == TypeId::Timestamp;
    return operation(call, left, right, left->type(), rowKernelOf<int64_t, int64_t, int32_t>([=](const KernelContext& c) {
                       return [=, zone = zoned ? c.evaluation.batch->timeZone : TimeZone()](int64_t micros, int32_t months) {
                         return zone.toUtcMicros(localPlusMonths(zone.toLocalMicros(micros), sign * months));
                       };
                     }));
  }
  if (by == TypeId::DayTimeInterval) {
    if (from == TypeId::Date && right->type()->endField() == 0) {
      return operation(call, left, right, dateType(), rowKernel<int32_t, int32_t, int64_t>([sign](int32_t days, int64_t micros) {
                         return checkedDays(days + sign * (micros / kMicrosPerDay));
                       }));
    }
    const ExpressionPtr time = from == TypeId::Date ? castTo(left, timestampType(), context.castMode()) : left;
    const bool zoned = time->type()->id() == TypeId::Timestamp;
    return operation(call, time, right, time->type(), rowKernelOf<int64_t, int64_t, int64_t>([=](const KernelContext& c) {
                       return [=, zone = zoned ? c.evaluation.batch->timeZone : TimeZone()](int64_t micros, int64_t interval) {
                         // Whole days are days of the wall clock.
                         const int64_t days = interval / kMicrosPerDay, rest = interval % kMicrosPerDay;
                         int64_t moved = micros;
                         if (days) moved = zone.toUtcMicros(checkedSum(zone.toLocalMicros(micros), sign * days * kMicrosPerDay));
                         return checkedSum(moved, sign * rest);
                       };
                     }));
  }
  if (from == TypeId::Date && right->type()->isIntegral() && by != TypeId::Long) {
    return operation(call, left, castTo(right, intType(), context.castMode()), dateType(), rowKernel<int32_t, int32_t, int32_t>([sign](int32_t days, int32_t count) {
                       return checkedDays(days + sign * count);
                     }));
  }
  return nullptr;
}

std::vector<FunctionRow> dateShiftRows() {
  return {
      {"date_add", 2, 3, resolveDateAdd},
      {"dateadd", 2, 3, resolveDateAdd},
      {"timestampadd", 3, 3, resolveDateAdd},
      {"date_sub", 2, 2, resolveDateAdd},
      {"datediff", 2, 3, resolveDateDiff},
      {"date_diff", 2, 3, resolveDateDiff},
      {"timestampdiff", 3, 3, resolveDateDiff},
      functionRow({"add_months", {dateType(), intType()}, dateType(),
                   rowKernel<int32_t, int32_t, int32_t>([](int32_t days, int32_t months) { return checkedDays(plusMonths(days, months)); })}),
      functionRow({"last_day", {dateType()}, dateType(), rowKernel<int32_t, int32_t>([](int32_t days) { return static_cast<int32_t>(lastDay(days)); })}),
      functionRow({"months_between", {timestampType(), timestampType(), booleanType()}, doubleType(), monthsBetweenKernel(), {Literal::of(true)}}),
      {"next_day", 2, 2, resolveNextDay},
      functionRow({"trunc", {dateType(), stringType()}, dateType(), truncateDateKernel(), {}, true}),
      functionRow({"date_trunc", {stringType(), timestampType()}, timestampType(), truncateTimeKernel(), {}, true}),
  };
}

}  // namespace thalweg
