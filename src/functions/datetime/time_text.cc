// Dates and timestamps as texts of a pattern, and back.
#include <arrow/api.h>

#include "common/error.h"
#include "functions/coercion.h"
#include "functions/datetime/tables.h"
#include "functions/row_kernels.h"
#include "functions/signature.h"
#include "types/text/calendar.h"
#include "types/text/datetime_pattern.h"

namespace thalweg {
namespace {

using View = std::string_view;
constexpr const char* kDefaultPattern = "yyyy-MM-dd HH:mm:ss";

// Keeps the last pattern compiled.
class PatternCache {
 public:
  const DateTimePattern& get(View text, bool parsing) {
    if (!pattern_ || text != pattern_->text()) {
      auto made = std::make_shared<const DateTimePattern>(DateTimePattern::compile(text));
      if (parsing) made->requireParsable();
      pattern_ = std::move(made);
    }
    return *pattern_;
  }

 private:
  std::shared_ptr<const DateTimePattern> pattern_;
};

[[noreturn]] void throwUnparsable(View text, const char* function) {
  throw Error(ErrorKind::DateTime, "CANNOT_PARSE_TIMESTAMP",
              "'" + std::string(text) + "' does not have the pattern that was given; use " + function + " to get NULL instead.",
              {{"message", "Text '" + std::string(text) + "' could not be parsed"}, {"func", "`" + std::string(function) + "`"},
               {"ansiConfig", "\"spark.sql.ansi.enabled\""}});
}

// A pattern that is constant and wrong fails when the call is resolved, as Spark's does.
void checkPattern(const ExpressionPtr& pattern, bool parsing) {
  if (pattern->foldability() != Foldability::Always || pattern->type()->id() != TypeId::String) return;
  const auto value = constantArgument(pattern, "datetime", "format");
  if (value->is_valid) PatternCache().get(static_cast<const arrow::StringScalar&>(*value).view(), parsing);
}

enum class Wanted { Date, Timestamp, TimestampNtz, Seconds };

ExpressionPtr parseCall(const std::string& name, const std::vector<ExpressionPtr>& arguments, Wanted wanted, bool raise) {
  checkPattern(arguments[1], true);
  const char* hint = wanted == Wanted::Date ? "try_to_date" : "try_to_timestamp";
  auto parsed = [=](auto read) {
    return [=](const KernelContext& c) {
      return [=, zone = c.evaluation.batch->timeZone, patterns = PatternCache()](View text, View pattern) mutable {
        const auto value = read(patterns.get(pattern, true), text, zone);
        if (!value && raise) throwUnparsable(text, hint);
        return value;
      };
    };
  };
  if (wanted == Wanted::Date) {
    // As a timestamp first: a zone in the text moves the date to the session's.
    auto kernel = rowKernelOf<int32_t, View, View>(parsed([](const DateTimePattern& p, View text, const TimeZone& zone) -> std::optional<int32_t> {
      const auto micros = p.parseTimestamp(text, zone);
      return micros ? std::optional(static_cast<int32_t>(floorDivide(zone.toLocalMicros(*micros), kMicrosPerDay))) : std::nullopt;
    }));
    return makeCall(name, arguments, dateType(), kernel, !raise);
  }
  if (wanted == Wanted::TimestampNtz) {
    auto kernel = rowKernelOf<int64_t, View, View>(parsed([](const DateTimePattern& p, View text, const TimeZone&) { return p.parseTimestampNtz(text); }));
    return makeCall(name, arguments, timestampNtzType(), kernel, !raise);
  }
  const bool seconds = wanted == Wanted::Seconds;
  auto kernel = rowKernelOf<int64_t, View, View>(parsed([seconds](const DateTimePattern& p, View text, const TimeZone& zone) -> std::optional<int64_t> {
    const auto micros = p.parseTimestamp(text, zone);
    return micros && seconds ? std::optional(floorDivide(*micros, kMicrosPerSecond)) : micros;
  }));
  return makeCall(name, arguments, seconds ? longType() : timestampType(), kernel, !raise);
}

ExpressionPtr named(const std::string& name, const ExpressionPtr& value, const std::string& argument) {
  const std::string text = name + "(" + argument + ")";
  return makeCall(name, {value}, value->type(), [](const KernelContext&, const std::vector<arrow::Datum>& a) { return a[0]; }, false,
                  [text](const std::vector<std::string>&) { return text; });
}

// to_date, to_timestamp and their try_ and ntz forms: a cast, or a parse by a pattern.
FunctionRow conversionRow(std::string_view name, Wanted wanted) {
  return {name, 1, 2, [wanted](const FunctionCall& call, const FunctionContext& context) -> ExpressionPtr {
            const std::string name = toLowerAscii(call.name);
            const bool tries = name.starts_with("try_");
            const DataTypePtr type = wanted == Wanted::Date ? dateType() : wanted == Wanted::TimestampNtz ? timestampNtzType() : timestampType();
            const CastMode mode = tries ? CastMode::Try : context.castMode();
            const ExpressionPtr& value = call.arguments[0];
            const bool isText = value->type()->id() == TypeId::String || value->type()->id() == TypeId::Void;
            if (call.arguments.size() == 1 || !isText) {
              if (wanted == Wanted::Date) implicitCast(value, type, name, 1, context);
              return named(name, castTo(value, type, mode), value->toString());
            }
            return parseCall(name, coercedArguments(call, {stringType(), stringType()}, context), wanted, context.ansi && !tries);
          }};
}

ExpressionPtr resolveUnixTimestamp(const FunctionCall& call, const FunctionContext& context) {
  const std::string name = toLowerAscii(call.name);
  auto toSeconds = [&](const ExpressionPtr& time) {
    return makeCall(name, {time}, longType(), rowKernel<int64_t, int64_t>([](int64_t micros) { return floorDivide(micros, kMicrosPerSecond); }));
  };
  if (call.arguments.empty()) return toSeconds(resolveFunction({"current_timestamp", {}}, context));
  const ExpressionPtr& value = call.arguments[0];
  if (value->type()->id() != TypeId::String) return toSeconds(implicitCast(value, timestampType(), name, 1, context));
  const ExpressionPtr pattern = call.arguments.size() > 1 ? implicitCast(call.arguments[1], stringType(), name, 2, context)
                                                          : Literal::of(std::string(kDefaultPattern));
  return parseCall(name, {value, pattern}, Wanted::Seconds, context.ansi);
}

Kernel formatKernel() {
  return rowKernelOf<TextResult, int64_t, View>([](const KernelContext& c) {
    return [zone = c.evaluation.batch->timeZone, patterns = PatternCache()](std::string* out, int64_t micros, View pattern) mutable {
      patterns.get(pattern, false).format(zone.toLocalMicros(micros), micros, zone, out);
    };
  });
}

ExpressionPtr resolveDateFormat(const FunctionCall& call, const FunctionContext& context) {
  const auto arguments = coercedArguments(call, {timestampType(), stringType()}, context);
  checkPattern(arguments[1], false);
  return makeCall("date_format", arguments, stringType(), formatKernel());
}

ExpressionPtr resolveFromUnixTime(const FunctionCall& call, const FunctionContext& context) {
  FunctionCall full = call;
  if (call.arguments.size() == 1) full.arguments.push_back(Literal::of(std::string(kDefaultPattern)));
  auto arguments = coercedArguments(full, {longType(), stringType()}, context);
  checkPattern(arguments[1], false);
  auto kernel = rowKernelOf<TextResult, int64_t, View>([](const KernelContext& c) {
    return [zone = c.evaluation.batch->timeZone, patterns = PatternCache()](std::string* out, int64_t seconds, View pattern) mutable {
      int64_t micros = 0;
      if (__builtin_mul_overflow(seconds, kMicrosPerSecond, &micros)) throw Error("ARITHMETIC_OVERFLOW", "from_unixtime takes seconds that fit a timestamp.", {{"message", "long overflow"}, {"alternative", ""}, {"config", "\"spark.sql.ansi.enabled\""}});
      patterns.get(pattern, false).format(zone.toLocalMicros(micros), micros, zone, out);
    };
  });
  return makeCall("from_unixtime", arguments, stringType(), kernel);
}

}  // namespace

std::vector<FunctionRow> timeTextRows() {
  return {
      conversionRow("to_date", Wanted::Date),
      conversionRow("try_to_date", Wanted::Date),
      conversionRow("to_timestamp", Wanted::Timestamp),
      conversionRow("to_timestamp_ltz", Wanted::Timestamp),
      conversionRow("try_to_timestamp", Wanted::Timestamp),
      conversionRow("to_timestamp_ntz", Wanted::TimestampNtz),
      {"unix_timestamp", 0, 2, resolveUnixTimestamp},
      {"to_unix_timestamp", 1, 2, resolveUnixTimestamp},
      {"date_format", 2, 2, resolveDateFormat},
      {"from_unixtime", 1, 2, resolveFromUnixTime},
  };
}

}  // namespace thalweg
