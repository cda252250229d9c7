#include "sources/files/partition_columns.h"

#include <algorithm>
#include <cctype>

#include <arrow/scalar.h>

#include "common/error.h"
#include "common/options.h"
#include "delta/files/partition_values.h"
#include "storage/partition_folders.h"
#include "types/arrow_types.h"
#include "types/text/number_text.h"
#include "types/text/time_text.h"

namespace thalweg {
namespace {

constexpr int kMaxDecimalPrecision = 38;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

bool hasShape(std::string_view text, std::string_view shape) {
  if (text.size() != shape.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == '0' ? !isDigit(text[i]) : text[i] != shape[i]) return false;
  }
  return true;
}

// Integer.parseInt and Long.parseLong: no blanks, as casts allow.
std::optional<int64_t> javaIntegral(std::string_view text, int64_t low, int64_t high) {
  if (text.empty() || !isDigit(text.back()) || trimBlanks(text) != text) return std::nullopt;
  return parseIntegral(text, low, high, false);
}

// Double.parseDouble: of words only these two, where casts take others too.
std::optional<double> javaDouble(std::string_view text) {
  std::string_view word = trimBlanks(text);
  if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  const bool isWord = !word.empty() && std::isalpha(static_cast<unsigned char>(word.front()));
  if (isWord && word != "NaN" && word != "Infinity") return std::nullopt;
  return parseDouble(text);
}

// The decimal that java.math.BigDecimal makes of a text, if it has no fraction ("1e5", "5."); null otherwise.
DataTypePtr decimalWithoutFraction(std::string_view text) {
  arrow::Decimal128 value;
  if (parseDecimal(text, kMaxDecimalPrecision, 0, &value) != DecimalParse::Ok) return nullptr;
  const std::string_view digits = text.substr(0, text.find_first_of("eE"));
  const size_t point = digits.find('.');
  int64_t scale = point == std::string_view::npos ? 0 : static_cast<int64_t>(digits.size() - point - 1);
  if (digits.size() < text.size()) {
    const auto exponent = parseIntegral(text.substr(digits.size() + 1), INT32_MIN, INT32_MAX, false);
    if (!exponent) return nullptr;
    scale -= *exponent;
  }
  if (scale > 0) return nullptr;
  std::string unscaled(digits);
  std::erase_if(unscaled, [](char c) { return !isDigit(c); });
  unscaled.erase(0, std::min(unscaled.find_first_not_of('0'), unscaled.size() - 1));
  const int64_t precision = static_cast<int64_t>(unscaled.size()) - scale;
  return precision <= kMaxDecimalPrecision ? DataType::decimal(static_cast<int>(precision), 0) : nullptr;
}

// "yyyy-MM-dd HH:mm:ss[.S]": of a fraction no more than one digit.
bool isTimestamp(const std::string& text, const TimeZone& zone) {
  const bool hasFraction = hasShape(text, "0000-00-00 00:00:00.0");
  return (hasFraction || hasShape(text, "0000-00-00 00:00:00")) && parseTimestamp(text, zone);
}

DataTypePtr inferType(const std::string& written, const FolderRules& rules) {
  if (!rules.inferTypes) return stringType();
  if (javaIntegral(written, INT32_MIN, INT32_MAX)) return intType();
  if (javaIntegral(written, INT64_MIN, INT64_MAX)) return longType();
  if (DataTypePtr decimal = decimalWithoutFraction(written)) return decimal;
  if (javaDouble(written)) return doubleType();
  if (isTimestamp(delta::unescapeFolder(written), rules.zone)) return timestampType();
  if (hasShape(written, "0000-00-00") && parseDate(written)) return dateType();
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
  if (parseDecimal(text, type.precision(), type.scale(), &value) != DecimalParse::Ok) return nullptr;
  return std::make_shared<arrow::Decimal128Scalar>(value, toArrowType(type));
}

std::shared_ptr<arrow::Scalar> booleanScalar(std::string_view text) {
  const bool isTrue = equalsIgnoreCase(text, "true");
  if (!isTrue && !equalsIgnoreCase(text, "false")) return nullptr;
  return std::make_shared<arrow::BooleanScalar>(isTrue);
}

// Null where the text is not of the type.
std::shared_ptr<arrow::Scalar> parseScalar(const std::string& text, const DataType& type,
                                           const TimeZone& zone) {
  switch (type.id()) {
    case TypeId::String:
      return std::make_shared<arrow::StringScalar>(delta::unescapeFolder(text));
    case TypeId::Boolean:
      return booleanScalar(text);
    case TypeId::Byte:
      return scalarOf<arrow::Int8Scalar>(type, javaIntegral(text, INT8_MIN, INT8_MAX));
    case TypeId::Short:
      return scalarOf<arrow::Int16Scalar>(type, javaIntegral(text, INT16_MIN, INT16_MAX));
    case TypeId::Int:
      return scalarOf<arrow::Int32Scalar>(type, javaIntegral(text, INT32_MIN, INT32_MAX));
    case TypeId::Long:
      return scalarOf<arrow::Int64Scalar>(type, javaIntegral(text, INT64_MIN, INT64_MAX));
    case TypeId::Float:
      return scalarOf<arrow::FloatScalar>(type, javaDouble(text));
    case TypeId::Double:
      return scalarOf<arrow::DoubleScalar>(type, javaDouble(text));
    case TypeId::Decimal:
      return decimalScalar(text, type);
    case TypeId::Date:
      return scalarOf<arrow::Date32Scalar>(type, parseDate(text));
    case TypeId::Timestamp:
      return scalarOf<arrow::TimestampScalar>(type, parseTimestamp(delta::unescapeFolder(text), zone));
    case TypeId::TimestampNtz:
      return scalarOf<arrow::TimestampScalar>(type, parseTimestampNtz(delta::unescapeFolder(text)));
    default:
      throw unsupported("Partition columns of type " + type.sqlString());
  }
}

}  // namespace

PartitionValue parsePartitionFolder(std::string_view folder) {
  const size_t equal = folder.find('=');
  PartitionValue value{delta::unescapeFolder(folder.substr(0, equal)), std::nullopt};
  const std::string_view written = folder.substr(equal + 1);
  if (value.name.empty()) {
    throw Error("EMPTY_PARTITION_COLUMN_NAME",
                fmt::format("The folder '{}' does not name its partition column: say name=value.", folder),
                {{"columnSpec", std::string(folder)}});
  }
  if (written.empty()) {
    throw Error("EMPTY_PARTITION_COLUMN_VALUE",
                fmt::format("The folder '{}' has no value for its partition column.", folder),
                {{"columnSpec", std::string(folder)}});
  }
  if (written != kNullPartition) value.written = written;
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
                 [this](const PartitionValue& value, const std::string& name) {
                   return rules_.caseSensitive ? value.name == name : equalsIgnoreCase(value.name, name);
                 });
  if (!same) {
    std::string found;
    for (const PartitionValue& value : values) found += (found.empty() ? "" : ", ") + value.name;
    throw Error("CONFLICTING_PARTITION_COLUMN_NAMES",
                "Some folders have the partition columns " + found +
                    ", others differ: every file must lie below the same columns in the same order.",
                {{"distinctPartColLists", found}, {"suspiciousPaths", folders.back()}});
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].written) types_[i] = wider(types_[i], inferType(*values[i].written, rules_));
  }
}

std::vector<StructField> PartitionInference::columns() const {
  std::vector<StructField> fields;
  for (size_t i = 0; i < names_.size(); ++i) {
    const int user = userSchema_ ? userSchema_->fieldIndex(names_[i], rules_.caseSensitive) : -1;
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
  if (!value.written) return arrow::MakeNullScalar(toArrowType(type));
  if (auto scalar = parseScalar(*value.written, type, zone)) return scalar;
  throw Error("INVALID_PARTITION_VALUE",
              fmt::format("The folder {}={} has a value that is no {}: give the column another type.",
                          value.name, *value.written, type.sqlString()),
              {{"value", "'" + *value.written + "'"},
               {"dataType", "\"" + type.sqlString() + "\""},
               {"columnName", "`" + value.name + "`"}});
}

}  // namespace thalweg
