#include "delta/files/partition_values.h"

#include <charconv>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/scalar.h>
#include <arrow/util/decimal.h>

#include "common/error.h"
#include "delta/files/value_text.h"
#include "formats/json/json_reader.h"
#include "storage/partition_folders.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg::delta {
namespace {

template <typename ArrayType>
auto valueAt(const arrow::Array& array, int64_t row) {
  return static_cast<const ArrayType&>(array).Value(row);
}

std::string orRefuse(std::optional<std::string> text, const DataType& type) {
  if (!text)
    throw unsupported("a partition value of type " + type.simpleString() + " outside the years 1 to 9999");
  return *std::move(text);
}

template <typename Number>
std::optional<Number> parseNumber(std::string_view text) {
  Number value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename Float>
std::optional<Float> parseFloat(std::string_view text) {
  if (text == "NaN") return std::numeric_limits<Float>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<Float>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<Float>::infinity();
  return parseNumber<Float>(text);
}

template <typename ScalarType, typename Value>
std::shared_ptr<arrow::Scalar> scalarOf(const std::optional<Value>& value) {
  return value ? std::make_shared<ScalarType>(*value) : nullptr;
}

std::shared_ptr<arrow::Scalar> parseDecimal(const std::string& text, const DataType& type) {
  arrow::Decimal128 value;
  int32_t precision = 0;
  int32_t scale = 0;
  if (!arrow::Decimal128::FromString(text, &value, &precision, &scale).ok()) return nullptr;
  const auto rescaled = value.Rescale(scale, type.scale());
  if (!rescaled.ok() || !rescaled->FitsInPrecision(type.precision())) return nullptr;
  return std::make_shared<arrow::Decimal128Scalar>(*rescaled, toArrowType(type));
}

std::shared_ptr<arrow::Scalar> parseTyped(const std::string& text, const DataType& type,
                                          const TimeZone& zone) {
  switch (type.id()) {
    case TypeId::Boolean:
      if (text == "true" || text == "false") return std::make_shared<arrow::BooleanScalar>(text == "true");
      return nullptr;
    case TypeId::Byte:
      return scalarOf<arrow::Int8Scalar>(parseNumber<int8_t>(text));
    case TypeId::Short:
      return scalarOf<arrow::Int16Scalar>(parseNumber<int16_t>(text));
    case TypeId::Int:
      return scalarOf<arrow::Int32Scalar>(parseNumber<int32_t>(text));
    case TypeId::Long:
      return scalarOf<arrow::Int64Scalar>(parseNumber<int64_t>(text));
    case TypeId::Float:
      return scalarOf<arrow::FloatScalar>(parseFloat<float>(text));
    case TypeId::Double:
      return scalarOf<arrow::DoubleScalar>(parseFloat<double>(text));
    case TypeId::Decimal:
      return parseDecimal(text, type);
    case TypeId::String:
      return std::make_shared<arrow::StringScalar>(text);
    case TypeId::Binary:
      return std::make_shared<arrow::BinaryScalar>(arrow::Buffer::FromString(text));
    case TypeId::Date:
      return scalarOf<arrow::Date32Scalar>(parseDateText(text));
    case TypeId::Timestamp:
    case TypeId::TimestampNtz: {
      const auto micros = parseTimestampText(text, type.id() == TypeId::Timestamp ? zone : TimeZone());
      return micros ? std::make_shared<arrow::TimestampScalar>(*micros, toArrowType(type)) : nullptr;
    }
    default:
      throw unsupported("partition columns of type " + type.simpleString());
  }
}

bool needsEscape(unsigned char c) {
  return c < 0x20 || c == 0x7F ||
         std::string_view("\"#%'*/:=?\\{[]^").find(static_cast<char>(c)) != std::string_view::npos;
}

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The folder of a UTC instant keeps the local form, while the log has the ISO one.
std::string folderValue(const StructField& column, const std::string& text) {
  if (column.type->id() != TypeId::Timestamp) return text;
  const auto micros = parseTimestampText(text);
  return micros ? timestampText(*micros, ' ', -1).value_or(text) : text;
}

}  // namespace

std::optional<std::string> partitionValueText(const arrow::Array& array, int64_t row, const DataType& type) {
  if (array.IsNull(row)) return std::nullopt;
  switch (type.id()) {
    case TypeId::Boolean:
      return valueAt<arrow::BooleanArray>(array, row) ? "true" : "false";
    case TypeId::Byte:
      return std::to_string(valueAt<arrow::Int8Array>(array, row));
    case TypeId::Short:
      return std::to_string(valueAt<arrow::Int16Array>(array, row));
    case TypeId::Int:
      return std::to_string(valueAt<arrow::Int32Array>(array, row));
    case TypeId::Long:
      return std::to_string(valueAt<arrow::Int64Array>(array, row));
    case TypeId::Float:
      return javaText(valueAt<arrow::FloatArray>(array, row));
    case TypeId::Double:
      return javaText(valueAt<arrow::DoubleArray>(array, row));
    case TypeId::Decimal:
      return static_cast<const arrow::Decimal128Array&>(array).FormatValue(row);
    case TypeId::String:
    case TypeId::Binary: {
      const std::string_view value = static_cast<const arrow::BinaryArray&>(array).GetView(row);
      if (value.empty()) return std::nullopt;
      // Java's text of the bytes, as Spark's writers have it: neither a log nor a folder holds any others.
      std::string text;
      decodeLikeJava(value, &text);
      return text;
    }
    case TypeId::Date:
      return orRefuse(dateText(valueAt<arrow::Date32Array>(array, row)), type);
    case TypeId::Timestamp:
      return orRefuse(timestampText(valueAt<arrow::TimestampArray>(array, row), 'T', 6), type) + "Z";
    case TypeId::TimestampNtz:
      return orRefuse(timestampText(valueAt<arrow::TimestampArray>(array, row), ' ', -1), type);
    default:
      throw unsupported("partition columns of type " + type.simpleString());
  }
}

std::shared_ptr<arrow::Scalar> parsePartitionValue(const std::optional<std::string>& text,
                                                   const DataType& type, std::string_view column,
                                                   const TimeZone& zone) {
  // Other writers put an empty string into the log, and Spark reads it as one; for any other type it is null.
  const bool mayBeEmpty = type.id() == TypeId::String || type.id() == TypeId::Binary;
  if (!text || (text->empty() && !mayBeEmpty)) return arrow::MakeNullScalar(toArrowType(type));
  const auto value = parseTyped(*text, type, zone);
  if (value) return value;
  throw Error(
      "DELTA_STATE_RECOVER_ERROR",
      fmt::format(
          "The Delta log holds the partition value '{}' for column {}, which is no {}. The log is damaged or "
          "written by a faulty writer.",
          *text, column, type.simpleString()),
      {{"operation", "partition values"}, {"value", *text}, {"column", std::string(column)}});
}

PartitionValues canonicalPartitionValues(const PartitionValues& values,
                                         const std::vector<StructField>& columns, const TimeZone& zone) {
  PartitionValues canonical;
  for (const StructField& column : columns) {
    const auto text = values.find(column.name);
    const auto value = parsePartitionValue(text == values.end() ? std::nullopt : text->second, *column.type,
                                           column.name, zone);
    canonical[column.name] =
        partitionValueText(*valueOrThrow(arrow::MakeArrayFromScalar(*value, 1)), 0, *column.type);
  }
  return canonical;
}

std::string escapeForFolder(std::string_view text) {
  std::string escaped;
  for (const char raw : text) {
    const auto c = static_cast<unsigned char>(raw);
    if (needsEscape(c)) {
      escaped += fmt::format("%{:02X}", static_cast<unsigned>(c));
    } else {
      escaped += raw;
    }
  }
  return escaped;
}

std::string unescapeFolder(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? hexDigit(text[i + 2]) : -1;
    plain += low >= 0 ? static_cast<char>(high * 16 + low) : text[i];
    if (low >= 0) i += 2;
  }
  return plain;
}

std::string partitionFolder(const std::vector<StructField>& columns, const PartitionValues& values) {
  std::string folder;
  for (const StructField& column : columns) {
    const auto it = values.find(column.name);
    const std::optional<std::string> text = it == values.end() ? std::nullopt : it->second;
    folder += escapeForFolder(column.name) + "=";
    folder += text ? escapeForFolder(folderValue(column, *text)) : std::string(kNullPartition);
    folder += "/";
  }
  return folder;
}

}  // namespace thalweg::delta
