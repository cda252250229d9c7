#include "formats/json/json_writer.h"

#include <cmath>

#include <arrow/array.h>
#include <arrow/builder.h>

#include "common/error.h"
#include "formats/json/json_reader.h"
#include "types/text/calendar.h"
#include "types/text/number_text.h"
#include "types/text/time_text.h"

namespace thalweg {
namespace {

void checkWritable(const DataType& type) {
  switch (type.id()) {
    case TypeId::Variant:
    case TypeId::CalendarInterval:
      throw unsupported("writing " + type.sqlString() + " as JSON");
    case TypeId::Array:
      checkWritable(*type.element());
      break;
    case TypeId::Map:
      checkWritable(*type.value());
      break;
    case TypeId::Struct:
      for (const StructField& field : type.fields()) checkWritable(*field.type);
      break;
    default:
      break;
  }
}

void appendBase64(std::string_view bytes, std::string* out) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    out->push_back(kDigits[bits >> 18]);
    out->push_back(kDigits[bits >> 12 & 63]);
    out->push_back(n > 1 ? kDigits[bits >> 6 & 63] : '=');
    out->push_back(n > 2 ? kDigits[bits & 63] : '=');
  }
}

template <typename Append>
void appendReal(bool finite, Append append, std::string* out) {
  if (!finite) out->push_back('"');
  append();
  if (!finite) out->push_back('"');
}

void appendTwoDigits(int64_t value, std::string* out) {
  if (value < 10) out->push_back('0');
  appendLong(value, out);
}

// "INTERVAL '1 02:03:04.5' DAY TO SECOND": the fields from `start` to `end`, 0 day … 3 second.
void appendDayTimeInterval(int64_t micros, int start, int end, std::string* out) {
  static constexpr const char* kNames[] = {"DAY", "HOUR", "MINUTE", "SECOND"};
  static constexpr uint64_t kUnits[] = {86'400'000'000, 3'600'000'000, 60'000'000, 1'000'000};
  out->append("INTERVAL '");
  uint64_t rest = micros < 0 ? 0 - static_cast<uint64_t>(micros) : static_cast<uint64_t>(micros);
  if (micros < 0) out->push_back('-');
  for (int field = start; field <= end; ++field) {
    const uint64_t value = rest / kUnits[field];
    rest %= kUnits[field];
    if (field > start) out->push_back(field == 1 ? ' ' : ':');
    if (field == 0) {
      appendLong(static_cast<int64_t>(value), out);
    } else {
      appendTwoDigits(static_cast<int64_t>(value), out);
    }
    if (field == 3 && rest > 0) {
      std::string fraction = std::to_string(1'000'000 + rest).substr(1);
      while (fraction.back() == '0') fraction.pop_back();
      out->append(".").append(fraction);
    }
  }
  out->append("' ").append(kNames[start]);
  if (end > start) out->append(" TO ").append(kNames[end]);
}

void appendYearMonthInterval(int32_t months, int start, int end, std::string* out) {
  out->append("INTERVAL '");
  const int64_t magnitude = std::abs(static_cast<int64_t>(months));
  if (months < 0) out->push_back('-');
  if (start == end) {
    appendLong(start == 0 ? magnitude / 12 : magnitude, out);
    out->append(start == 0 ? "' YEAR" : "' MONTH");
    return;
  }
  appendLong(magnitude / 12, out);
  out->push_back('-');
  appendLong(magnitude % 12, out);
  out->append("' YEAR TO MONTH");
}

template <typename ArrayType>
auto valueOf(const arrow::Array& values, int64_t row) {
  return static_cast<const ArrayType&>(values).Value(row);
}

// A map's key or a struct inside a key as Spark prints its internal values: text as it is, structs and arrays
// in brackets.
void appendKey(const DataType& type, const arrow::Array& values, int64_t row, std::string* out) {
  if (values.IsNull(row)) {
    out->append("null");
    return;
  }
  switch (type.id()) {
    case TypeId::Boolean:
      out->append(valueOf<arrow::BooleanArray>(values, row) ? "true" : "false");
      return;
    case TypeId::Byte:
      return appendLong(valueOf<arrow::Int8Array>(values, row), out);
    case TypeId::Short:
      return appendLong(valueOf<arrow::Int16Array>(values, row), out);
    case TypeId::Int:
      return appendLong(valueOf<arrow::Int32Array>(values, row), out);
    case TypeId::Long:
      return appendLong(valueOf<arrow::Int64Array>(values, row), out);
    // Dates and timestamps as keys are printed as their internal numbers.
    case TypeId::Date:
      return appendLong(valueOf<arrow::Date32Array>(values, row), out);
    case TypeId::Timestamp:
    case TypeId::TimestampNtz:
      return appendLong(valueOf<arrow::TimestampArray>(values, row), out);
    case TypeId::Float:
      return appendFloat(valueOf<arrow::FloatArray>(values, row), out);
    case TypeId::Double:
      return appendDouble(valueOf<arrow::DoubleArray>(values, row), out);
    case TypeId::Decimal: {
      const auto& decimals = static_cast<const arrow::Decimal128Array&>(values);
      return appendDecimal(arrow::Decimal128(decimals.GetValue(row)), type.scale(), out);
    }
    case TypeId::String:
      out->append(static_cast<const arrow::BinaryArray&>(values).GetView(row));
      return;
    case TypeId::Struct: {
      const auto& rows = static_cast<const arrow::StructArray&>(values);
      out->push_back('[');
      for (int i = 0; i < rows.num_fields(); ++i) {
        if (i > 0) out->push_back(',');
        appendKey(*type.fields()[static_cast<size_t>(i)].type, *rows.field(i), row, out);
      }
      out->push_back(']');
      return;
    }
    default:
      throw unsupported("a map key of type " + type.sqlString() + " in to_json");
  }
}

}  // namespace

JsonWriter::JsonWriter(DataTypePtr type, JsonOptions options)
    : type_(std::move(type)), options_(std::move(options)) {
  if (!type_->isNested()) {
    throw Error("DATATYPE_MISMATCH.INVALID_JSON_SCHEMA",
                "to_json takes a struct, an array or a map, not " + type_->sqlString() + ".",
                {{"schema", "\"" + type_->sqlString() + "\""}});
  }
  checkWritable(*type_);
  const auto compile = [](const std::optional<std::string>& text) -> std::shared_ptr<const DateTimePattern> {
    return text ? std::make_shared<const DateTimePattern>(DateTimePattern::compile(*text)) : nullptr;
  };
  timestampFormat_ = compile(options_.timestampFormat);
  timestampNtzFormat_ = compile(options_.timestampNtzFormat);
  dateFormat_ = compile(options_.dateFormat);
}

std::shared_ptr<arrow::Array> JsonWriter::write(const arrow::Array& values) const {
  arrow::StringBuilder builder;
  std::string text;
  arrow::Status status;
  for (int64_t row = 0; row < values.length() && status.ok(); ++row) {
    if (values.IsNull(row)) {
      status = builder.AppendNull();
      continue;
    }
    text.clear();
    writeRow(values, row, &text);
    status = builder.Append(text);
  }
  auto result = builder.Finish();
  if (!status.ok() || !result.ok()) {
    throw Error("OUT_OF_MEMORY",
                "No memory for JSON texts: " + (status.ok() ? result.status() : status).message());
  }
  return result.ValueUnsafe();
}

void JsonWriter::writeRow(const arrow::Array& values, int64_t row, std::string* out) const {
  writeValue(*type_, values, row, 0, out);
}

void JsonWriter::newLine(int depth, std::string* out) const {
  if (!options_.pretty) return;
  out->push_back('\n');
  out->append(static_cast<size_t>(depth) * 2, ' ');
}

void JsonWriter::writeTimestamp(int64_t micros, bool hasZone, std::string* out) const {
  const TimeZone utc;
  const TimeZone& zone = hasZone ? options_.zone : utc;
  const int64_t local = zone.toLocalMicros(micros);
  const auto& pattern = hasZone ? timestampFormat_ : timestampNtzFormat_;
  std::string text;
  if (pattern) {
    pattern->format(local, micros, zone, &text);
  } else {
    appendIsoTimestamp(local, &text);
    if (hasZone) appendZoneOffset(zone.offsetSeconds(micros), &text);
  }
  appendJsonString(text, false, out);
}

void JsonWriter::writeValue(const DataType& type, const arrow::Array& values, int64_t row, int depth,
                            std::string* out) const {
  if (values.IsNull(row)) {
    out->append("null");
    return;
  }
  switch (type.id()) {
    case TypeId::Float: {
      const float value = valueOf<arrow::FloatArray>(values, row);
      return appendReal(
          std::isfinite(value), [&] { appendFloat(value, out); }, out);
    }
    case TypeId::Double: {
      const double value = valueOf<arrow::DoubleArray>(values, row);
      return appendReal(
          std::isfinite(value), [&] { appendDouble(value, out); }, out);
    }
    case TypeId::String:
      return appendJsonString(static_cast<const arrow::BinaryArray&>(values).GetView(row), false, out);
    case TypeId::Binary:
      out->push_back('"');
      appendBase64(static_cast<const arrow::BinaryArray&>(values).GetView(row), out);
      out->push_back('"');
      return;
    case TypeId::Date: {
      const int32_t days = valueOf<arrow::Date32Array>(values, row);
      std::string text;
      if (dateFormat_) {
        dateFormat_->format(days * kMicrosPerDay, days * kMicrosPerDay, TimeZone(), &text);
      } else {
        appendDate(days, &text);
      }
      return appendJsonString(text, false, out);
    }
    case TypeId::Timestamp:
    case TypeId::TimestampNtz:
      return writeTimestamp(valueOf<arrow::TimestampArray>(values, row), type.id() == TypeId::Timestamp, out);
    case TypeId::DayTimeInterval:
      out->push_back('"');
      appendDayTimeInterval(valueOf<arrow::DurationArray>(values, row), type.startField(), type.endField(),
                            out);
      out->push_back('"');
      return;
    case TypeId::YearMonthInterval:
      out->push_back('"');
      appendYearMonthInterval(valueOf<arrow::MonthIntervalArray>(values, row), type.startField(),
                              type.endField(), out);
      out->push_back('"');
      return;
    case TypeId::Array:
      return writeArray(type, values, row, depth, out);
    case TypeId::Map:
      return writeMap(type, values, row, depth, out);
    case TypeId::Struct:
      return writeStruct(type, values, row, depth, out);
    default:
      // Booleans, integers and decimals print as keys do.
      return appendKey(type, values, row, out);
  }
}

void JsonWriter::writeStruct(const DataType& type, const arrow::Array& values, int64_t row, int depth,
                             std::string* out) const {
  const auto& rows = static_cast<const arrow::StructArray&>(values);
  out->push_back('{');
  bool first = true;
  for (int i = 0; i < rows.num_fields(); ++i) {
    const StructField& field = type.fields()[static_cast<size_t>(i)];
    const auto child = rows.field(i);
    if (child->IsNull(row) && options_.ignoreNullFields) continue;
    if (!first) out->push_back(',');
    first = false;
    newLine(depth + 1, out);
    appendJsonString(field.name, false, out);
    out->append(options_.pretty ? " : " : ":");
    writeValue(*field.type, *child, row, depth + 1, out);
  }
  if (first && options_.pretty) out->push_back(' ');
  if (!first) newLine(depth, out);
  out->push_back('}');
}

void JsonWriter::writeArray(const DataType& type, const arrow::Array& values, int64_t row, int depth,
                            std::string* out) const {
  const auto& list = static_cast<const arrow::ListArray&>(values);
  const int64_t begin = list.value_offset(row);
  const int64_t end = list.value_offset(row + 1);
  out->push_back('[');
  for (int64_t i = begin; i < end; ++i) {
    if (i > begin) out->push_back(',');
    if (options_.pretty) out->push_back(' ');
    writeValue(*type.element(), *list.values(), i, depth, out);
  }
  if (options_.pretty) out->push_back(' ');
  out->push_back(']');
}

void JsonWriter::writeMap(const DataType& type, const arrow::Array& values, int64_t row, int depth,
                          std::string* out) const {
  const auto& map = static_cast<const arrow::MapArray&>(values);
  const int64_t begin = map.value_offset(row);
  const int64_t end = map.value_offset(row + 1);
  out->push_back('{');
  for (int64_t i = begin; i < end; ++i) {
    if (i > begin) out->push_back(',');
    newLine(depth + 1, out);
    std::string key;
    appendKey(*type.key(), *map.keys(), i, &key);
    appendJsonString(key, false, out);
    out->append(options_.pretty ? " : " : ":");
    // A map's null values stay, whatever ignoreNullFields says.
    writeValue(*type.value(), *map.items(), i, depth + 1, out);
  }
  if (begin == end && options_.pretty) out->push_back(' ');
  if (begin < end) newLine(depth, out);
  out->push_back('}');
}

}  // namespace thalweg
