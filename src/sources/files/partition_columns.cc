#include "sources/files/partition_columns.h"

#include <algorithm>
#include <limits>

#include <arrow/scalar.h>

#include "common/error.h"
#include "delta/files/partition_values.h"
#include "storage/partition_folders.h"
#include "types/arrow_types.h"
#include "types/text/number_text.h"
#include "types/text/time_text.h"

namespace thalweg {
namespace {

bool hasShape(std::string_view text, std::string_view shape) {
  if (text.size() < shape.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (shape[i] == '0' ? !digit : text[i] != shape[i]) return false;
  }
  return true;
}

bool onlyDigits(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

DataTypePtr inferType(const std::string& text, const TimeZone& zone) {
  if (onlyDigits(text)) {
    if (parseIntegral(text, INT32_MIN, INT32_MAX, false)) return intType();
    if (parseIntegral(text, INT64_MIN, INT64_MAX, false)) return longType();
    const int digits = static_cast<int>(text.size()) - (text[0] == '-' || text[0] == '+' ? 1 : 0);
    return digits <= 38 ? DataType::decimal(digits, 0) : doubleType();
  }
  const bool looksNumeric = text.find_first_not_of("+-0123456789.eE") == std::string::npos &&
                            text.find_first_of("0123456789") != std::string::npos;
  if ((looksNumeric || text == "NaN" || text == "Infinity" || text == "-Infinity") && parseDouble(text))
    return doubleType();
  if (hasShape(text, "0000-00-00 00:00:00") && parseTimestamp(text, zone)) return timestampType();
  if (text.size() == 10 && hasShape(text, "0000-00-00") && parseDate(text)) return dateType();
  return stringType();
}

DataTypePtr wider(const DataTypePtr& a, const DataTypePtr& b) {
  if (!a) return b;
  if (!b || equals(*a, *b)) return a;
  const auto both = [&](TypeId x, TypeId y) {
    return (a->id() == x && b->id() == y) || (a->id() == y && b->id() == x);
  };
  if (both(TypeId::Int, TypeId::Long)) return longType();
  if (both(TypeId::Int, TypeId::Double)) return doubleType();
  if (both(TypeId::Date, TypeId::Timestamp)) return timestampType();
  const auto digits = [](const DataTypePtr& type) {
    return type->id() == TypeId::Int
               ? 10
               : (type->id() == TypeId::Long ? 20 : (type->id() == TypeId::Decimal ? type->precision() : 0));
  };
  if (digits(a) > 0 && digits(b) > 0) return DataType::decimal(std::max(digits(a), digits(b)), 0);
  return stringType();
}

template <typename Scalar, typename Value>
std::shared_ptr<arrow::Scalar> scalarOf(const DataType& type, const std::optional<Value>& value) {
  using Stored = typename Scalar::ValueType;
  if (!value) return nullptr;
  return std::make_shared<Scalar>(static_cast<Stored>(*value), toArrowType(type));
}

std::shared_ptr<arrow::Scalar> decimalScalar(const std::string& text, const DataType& type) {
  arrow::Decimal128 value;
  const std::string trimmed(trimBlanks(text));
  if (parseDecimal(trimmed, type.precision(), type.scale(), &value) != DecimalParse::Ok) return nullptr;
  return std::make_shared<arrow::Decimal128Scalar>(value, toArrowType(type));
}

std::shared_ptr<arrow::Scalar> parseScalar(const std::string& text, const DataType& type,
                                           const TimeZone& zone) {
  const auto integral = [&](int64_t low, int64_t high) { return parseIntegral(text, low, high, false); };
  switch (type.id()) {
    case TypeId::String:
      return std::make_shared<arrow::StringScalar>(text);
    case TypeId::Boolean: {
      const auto value = parseBoolean(text);
      // Spark's cast takes 1 and 0 for booleans, but not in a folder's name.
      if (!value || onlyDigits(text)) return nullptr;
      return std::make_shared<arrow::BooleanScalar>(*value);
    }
    case TypeId::Byte:
      return scalarOf<arrow::Int8Scalar>(type, integral(INT8_MIN, INT8_MAX));
    case TypeId::Short:
      return scalarOf<arrow::Int16Scalar>(type, integral(INT16_MIN, INT16_MAX));
    case TypeId::Int:
      return scalarOf<arrow::Int32Scalar>(type, integral(INT32_MIN, INT32_MAX));
    case TypeId::Long:
      return scalarOf<arrow::Int64Scalar>(type, integral(INT64_MIN, INT64_MAX));
    case TypeId::Float:
      return scalarOf<arrow::FloatScalar>(type, parseFloat(text));
    case TypeId::Double:
      return scalarOf<arrow::DoubleScalar>(type, parseDouble(text));
    case TypeId::Decimal:
      return decimalScalar(text, type);
    case TypeId::Date:
      return scalarOf<arrow::Date32Scalar>(type, parseDate(text));
    case TypeId::Timestamp:
      return scalarOf<arrow::TimestampScalar>(type, parseTimestamp(text, zone));
    case TypeId::TimestampNtz:
      return scalarOf<arrow::TimestampScalar>(type, parseTimestampNtz(text));
    default:
      throw unsupported("Partition columns of type " + type.sqlString());
  }
}

}  // namespace

PartitionValue parsePartitionFolder(std::string_view folder) {
  const size_t equal = folder.find('=');
  PartitionValue value{delta::unescapeFolder(folder.substr(0, equal)), std::nullopt};
  const std::string_view raw = folder.substr(equal + 1);
  if (raw.empty()) {
    throw Error("INVALID_PARTITION_VALUE",
                fmt::format("The folder '{}' has no value for its partition column.", folder),
                {{"value", ""}, {"dataType", "\"STRING\""}, {"columnName", "`" + value.name + "`"}});
  }
  if (raw != kNullPartition) value.text = delta::unescapeFolder(raw);
  return value;
}

void PartitionInference::add(const std::vector<std::string>& folders) {
  if (folders.empty() || folders == lastFolders_) return;
  lastFolders_ = folders;
  std::vector<PartitionValue> values;
  for (const std::string& folder : folders) values.push_back(parsePartitionFolder(folder));
  if (names_.empty()) {
    for (const PartitionValue& value : values) names_.push_back(value.name);
    types_.resize(names_.size());
  }
  const bool same =
      std::equal(values.begin(), values.end(), names_.begin(), names_.end(),
                 [](const PartitionValue& value, const std::string& name) { return value.name == name; });
  if (!same) {
    std::string found;
    for (const PartitionValue& value : values) found += (found.empty() ? "" : ", ") + value.name;
    throw Error("CONFLICTING_PARTITION_COLUMN_NAMES",
                "Some folders have the partition columns " + found +
                    ", others differ: every file must lie below the same columns in the same order.",
                {{"distinctPartColLists", found}, {"suspiciousPaths", folders.back()}});
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].text) types_[i] = wider(types_[i], inferType(*values[i].text, zone_));
  }
}

std::vector<StructField> PartitionInference::columns() const {
  std::vector<StructField> fields;
  for (size_t i = 0; i < names_.size(); ++i) {
    const int user = userSchema_ ? userSchema_->fieldIndex(names_[i], false) : -1;
    if (user >= 0) {
      const StructField& field = userSchema_->fields()[static_cast<size_t>(user)];
      fields.push_back({field.name, asNullable(field.type), true, field.metadata});
    } else {
      fields.push_back({names_[i], types_[i] ? types_[i] : DataType::primitive(TypeId::Void), true});
    }
  }
  return fields;
}

std::shared_ptr<arrow::Scalar> partitionScalar(const PartitionValue& value, const DataType& type,
                                               const TimeZone& zone) {
  if (!value.text) return arrow::MakeNullScalar(toArrowType(type));
  if (auto scalar = parseScalar(*value.text, type, zone)) return scalar;
  throw Error("INVALID_PARTITION_VALUE",
              fmt::format("The folder {}={} has a value that is no {}: give the column another type.",
                          value.name, *value.text, type.sqlString()),
              {{"value", "'" + *value.text + "'"},
               {"dataType", "\"" + type.sqlString() + "\""},
               {"columnName", "`" + value.name + "`"}});
}

}  // namespace thalweg
