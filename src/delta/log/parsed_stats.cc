#include "delta/log/parsed_stats.h"

#include <cmath>

#include <arrow/array.h>
#include <date/date.h>
#include <fmt/format.h>

#include "delta/actions/action_writer.h"

namespace thalweg::delta {
namespace {

int64_t floorDivide(int64_t value, int64_t divisor) {
  const int64_t quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}

std::string dateText(int64_t days) {
  const date::year_month_day ymd{date::sys_days{date::days{static_cast<int>(days)}}};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(ymd.year()), static_cast<unsigned>(ymd.month()),
                     static_cast<unsigned>(ymd.day()));
}

// Statistics have milliseconds, floored.
std::string timestampText(int64_t micros, bool utc) {
  const int64_t millis = floorDivide(micros, 1000);
  const int64_t days = floorDivide(millis, 86400000);
  const int64_t rest = millis - days * 86400000;
  return dateText(days) + fmt::format("T{:02}:{:02}:{:02}.{:03}{}", rest / 3600000, rest / 60000 % 60, rest / 1000 % 60,
                                      rest % 1000, utc ? "Z" : "");
}

std::string doubleText(double value, bool isFloat) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return isFloat ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
}

// False where the value is null or of a type without statistics; `out` is then unchanged.
bool appendValue(std::string& out, const arrow::Array& array, int64_t row);

bool appendStruct(std::string& out, const arrow::StructArray& array, int64_t row) {
  out += '{';
  bool first = true;
  for (int i = 0; i < array.num_fields(); ++i) {
    const size_t mark = out.size();
    if (!first) out += ',';
    appendJsonString(out, array.struct_type()->field(i)->name());
    out += ':';
    if (appendValue(out, *array.field(i), row)) {
      first = false;
    } else {
      out.resize(mark);
    }
  }
  out += '}';
  return true;
}

bool appendValue(std::string& out, const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return false;
  using arrow::Type;
  switch (array.type_id()) {
    case Type::STRUCT:
      return appendStruct(out, static_cast<const arrow::StructArray&>(array), row);
    case Type::BOOL:
      out += static_cast<const arrow::BooleanArray&>(array).Value(row) ? "true" : "false";
      return true;
    case Type::INT8:
      out += std::to_string(static_cast<const arrow::Int8Array&>(array).Value(row));
      return true;
    case Type::INT16:
      out += std::to_string(static_cast<const arrow::Int16Array&>(array).Value(row));
      return true;
    case Type::INT32:
      out += std::to_string(static_cast<const arrow::Int32Array&>(array).Value(row));
      return true;
    case Type::INT64:
      out += std::to_string(static_cast<const arrow::Int64Array&>(array).Value(row));
      return true;
    case Type::FLOAT:
      out += doubleText(static_cast<const arrow::FloatArray&>(array).Value(row), true);
      return true;
    case Type::DOUBLE:
      out += doubleText(static_cast<const arrow::DoubleArray&>(array).Value(row), false);
      return true;
    case Type::DECIMAL128:
      out += static_cast<const arrow::Decimal128Array&>(array).FormatValue(row);
      return true;
    case Type::STRING:
      appendJsonString(out, static_cast<const arrow::StringArray&>(array).GetView(row));
      return true;
    case Type::DATE32:
      appendJsonString(out, dateText(static_cast<const arrow::Date32Array&>(array).Value(row)));
      return true;
    case Type::TIMESTAMP: {
      const auto& type = static_cast<const arrow::TimestampType&>(*array.type());
      if (type.unit() != arrow::TimeUnit::MICRO) return false;
      const int64_t micros = static_cast<const arrow::TimestampArray&>(array).Value(row);
      appendJsonString(out, timestampText(micros, !type.timezone().empty()));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

std::optional<std::string> parsedStatsToJson(const arrow::Array& statsParsed, int64_t row) {
  if (statsParsed.type_id() != arrow::Type::STRUCT || statsParsed.IsNull(row)) return std::nullopt;
  std::string out;
  appendStruct(out, static_cast<const arrow::StructArray&>(statsParsed), row);
  return out;
}

}  // namespace thalweg::delta
