// Casts to dates and timestamps.
#include <cmath>

#include <arrow/api.h>

#include "common/error.h"
#include "expr/cast/kernels.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/text/calendar.h"
#include "types/text/time_text.h"

namespace thalweg {
namespace {

// The last zone transition's answer, kept while rows stay within one hour: a batch's times lie close together.
class ZoneCache {
 public:
  explicit ZoneCache(const TimeZone& zone) : zone_(zone), isUtc_(zone.isUtc()) {}
  int64_t toLocal(int64_t utcMicros) {
    if (isUtc_) return utcMicros;
    const int64_t slot = floorDivide(utcMicros, kSlotMicros);
    if (slot != slot_) {
      slot_ = slot;
      // Offsets change on slot borders only: all known transitions fall on whole quarters of an hour.
      offsetMicros_ = zone_.toLocalMicros(slot * kSlotMicros) - slot * kSlotMicros;
    }
    return utcMicros + offsetMicros_;
  }
  int64_t toUtc(int64_t localMicros) const { return isUtc_ ? localMicros : zone_.toUtcMicros(localMicros); }

 private:
  static constexpr int64_t kSlotMicros = 900 * kMicrosPerSecond;
  const TimeZone& zone_;
  bool isUtc_;
  int64_t slot_ = INT64_MIN;
  int64_t offsetMicros_ = 0;
};

// Applies a function from 64-bit (or day) values to values of another type; nulls stay.
template <typename Builder, typename Array, typename F>
ArrayPtr mapValues(const ArrayPtr& input, Builder& builder, F&& f) {
  const auto& values = static_cast<const Array&>(*input);
  throwIfFailed(builder.Reserve(values.length()));
  for (int64_t row = 0; row < values.length(); ++row) {
    if (values.IsNull(row)) builder.UnsafeAppendNull();
    else builder.UnsafeAppend(f(values.Value(row)));
  }
  return valueOrThrow(builder.Finish());
}

ArrayPtr timestampToDate(const ArrayPtr& input, const TimeZone& zone, arrow::MemoryPool* pool) {
  ZoneCache cache(zone);
  arrow::Date32Builder builder(pool);
  return mapValues<arrow::Date32Builder, arrow::TimestampArray>(input, builder, [&](int64_t micros) {
    return static_cast<int32_t>(floorDivide(cache.toLocal(micros), kMicrosPerDay));
  });
}

template <typename Builder, typename Parse>
ArrayPtr parseTexts(const ArrayPtr& input, const DataType& from, const DataType& to, const CastKernelContext& context,
                    Builder& builder, Parse&& parse) {
  const auto& values = static_cast<const arrow::BinaryArray&>(*input);
  throwIfFailed(builder.Reserve(values.length()));
  std::vector<int64_t> misfits;
  for (int64_t row = 0; row < values.length(); ++row) {
    if (values.IsNull(row)) {
      builder.UnsafeAppendNull();
      continue;
    }
    if (const auto value = parse(values.GetView(row))) builder.UnsafeAppend(*value);
    else {
      builder.UnsafeAppendNull();
      misfits.push_back(row);
    }
  }
  if (context.mode == CastMode::Ansi && !misfits.empty()) {
    context.selection.forEach([&](int64_t row) {
      if (std::binary_search(misfits.begin(), misfits.end(), row)) throwCastInvalidInput(values.GetString(row), from, to);
    });
  }
  return valueOrThrow(builder.Finish());
}

// Beyond the range both stop at its ends, as Java's conversions do.
int64_t microsOfSeconds(int64_t seconds) {
  int64_t micros = 0;
  if (!__builtin_mul_overflow(seconds, kMicrosPerSecond, &micros)) return micros;
  return seconds < 0 ? INT64_MIN : INT64_MAX;
}

int64_t microsOfSeconds(double seconds) {
  const double micros = seconds * 1e6;
  if (micros >= -9223372036854775808.0 && micros < 9223372036854775808.0) return static_cast<int64_t>(micros);
  return micros < 0 ? INT64_MIN : INT64_MAX;
}

// Numbers are seconds since the epoch.
ArrayPtr numbersToTimestamp(const ArrayPtr& input, const DataType& from, const CastKernelContext& context) {
  arrow::TimestampBuilder builder(toArrowType(*timestampType()), context.evaluation.memoryPool());
  if (from.id() == TypeId::Float || from.id() == TypeId::Double || from.id() == TypeId::Decimal) {
    const ArrayPtr doubles = castKernel(input, from, *doubleType(), context);
    const auto& values = static_cast<const arrow::DoubleArray&>(*doubles);
    throwIfFailed(builder.Reserve(values.length()));
    for (int64_t row = 0; row < values.length(); ++row) {
      if (values.IsNull(row) || !std::isfinite(values.Value(row))) builder.UnsafeAppendNull();
      else builder.UnsafeAppend(microsOfSeconds(values.Value(row)));
    }
    return valueOrThrow(builder.Finish());
  }
  const ArrayPtr longs = castKernel(input, from, *longType(), context);
  return mapValues<arrow::TimestampBuilder, arrow::Int64Array>(longs, builder,
                                                               [](int64_t seconds) { return microsOfSeconds(seconds); });
}

}  // namespace

ArrayPtr castToTime(const ArrayPtr& input, const DataType& from, const DataType& to, const CastKernelContext& context) {
  const TimeZone& zone = context.evaluation.batch->timeZone;
  arrow::MemoryPool* pool = context.evaluation.memoryPool();
  if (to.id() == TypeId::Date) {
    if (from.id() == TypeId::String) {
      arrow::Date32Builder builder(pool);
      return parseTexts(input, from, to, context, builder, [](std::string_view text) { return parseDate(text); });
    }
    return timestampToDate(input, from.id() == TypeId::Timestamp ? zone : TimeZone(), pool);
  }
  arrow::TimestampBuilder builder(toArrowType(to), pool);
  const bool toNtz = to.id() == TypeId::TimestampNtz;
  if (from.id() == TypeId::String) {
    return parseTexts(input, from, to, context, builder, [&](std::string_view text) {
      return toNtz ? parseTimestampNtz(text) : parseTimestamp(text, zone);
    });
  }
  ZoneCache cache(zone);
  if (from.id() == TypeId::Date) {
    return mapValues<arrow::TimestampBuilder, arrow::Date32Array>(input, builder, [&](int32_t days) {
      const int64_t local = days * kMicrosPerDay;
      return toNtz ? local : cache.toUtc(local);
    });
  }
  if (from.id() == TypeId::Timestamp) {
    return mapValues<arrow::TimestampBuilder, arrow::TimestampArray>(input, builder,
                                                                     [&](int64_t micros) { return cache.toLocal(micros); });
  }
  if (from.id() == TypeId::TimestampNtz) {
    return mapValues<arrow::TimestampBuilder, arrow::TimestampArray>(input, builder,
                                                                     [&](int64_t micros) { return cache.toUtc(micros); });
  }
  return numbersToTimestamp(input, from, context);
}

}  // namespace thalweg
