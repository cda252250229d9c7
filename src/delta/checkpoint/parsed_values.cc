#include "delta/checkpoint/parsed_values.h"

#include <limits>

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_decimal.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/scalar.h>
#include <arrow/util/decimal.h>
#include <simdjson.h>

#include "common/error.h"
#include "delta/files/partition_values.h"
#include "delta/files/value_text.h"
#include "types/arrow_result.h"

namespace thalweg::delta {
namespace {

namespace lazy = simdjson::ondemand;

template <typename Builder, typename Value>
void append(arrow::ArrayBuilder& builder, const std::optional<Value>& value) {
  if (!value) return throwIfFailed(builder.AppendNull());
  throwIfFailed(static_cast<Builder&>(builder).Append(*value));
}

template <typename Integer>
std::optional<Integer> integerOf(lazy::value& value) {
  int64_t number = 0;
  if (value.get_int64().get(number)) return std::nullopt;
  if (number < std::numeric_limits<Integer>::min() || number > std::numeric_limits<Integer>::max())
    return std::nullopt;
  return static_cast<Integer>(number);
}

std::optional<std::string_view> textOf(lazy::value& value) {
  std::string_view text;
  if (value.get_string().get(text)) return std::nullopt;
  return text;
}

template <typename Number>
std::optional<Number> floatingOf(lazy::value& value) {
  double number = 0;
  if (!value.get_double().get(number)) return static_cast<Number>(number);
  const auto text = textOf(value);
  if (text == "NaN") return std::numeric_limits<Number>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<Number>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<Number>::infinity();
  return std::nullopt;
}

// From the number's own digits: a double would round them.
std::optional<arrow::Decimal128> decimalOf(lazy::value& value, const DataType& type) {
  std::string_view token = value.raw_json_token();
  while (!token.empty() && (token.back() == ' ' || token.back() == '"')) token.remove_suffix(1);
  if (token.starts_with('"')) token.remove_prefix(1);
  arrow::Decimal128 number;
  int32_t precision = 0;
  int32_t scale = 0;
  if (!arrow::Decimal128::FromString(token, &number, &precision, &scale).ok()) return std::nullopt;
  const auto rescaled = number.Rescale(scale, type.scale());
  if (!rescaled.ok() || !rescaled->FitsInPrecision(type.precision())) return std::nullopt;
  return *rescaled;
}

void appendLeaf(arrow::ArrayBuilder& builder, const DataType& type, lazy::value& value) {
  switch (type.id()) {
    case TypeId::Boolean: {
      bool flag = false;
      const bool found = !value.get_bool().get(flag);
      return append<arrow::BooleanBuilder>(builder, found ? std::optional(flag) : std::nullopt);
    }
    case TypeId::Byte:
      return append<arrow::Int8Builder>(builder, integerOf<int8_t>(value));
    case TypeId::Short:
      return append<arrow::Int16Builder>(builder, integerOf<int16_t>(value));
    case TypeId::Int:
      return append<arrow::Int32Builder>(builder, integerOf<int32_t>(value));
    case TypeId::Long:
      return append<arrow::Int64Builder>(builder, integerOf<int64_t>(value));
    case TypeId::Float:
      return append<arrow::FloatBuilder>(builder, floatingOf<float>(value));
    case TypeId::Double:
      return append<arrow::DoubleBuilder>(builder, floatingOf<double>(value));
    case TypeId::Decimal:
      return append<arrow::Decimal128Builder>(builder, decimalOf(value, type));
    case TypeId::String:
      return append<arrow::StringBuilder>(builder, textOf(value));
    case TypeId::Date: {
      const auto text = textOf(value);
      return append<arrow::Date32Builder>(builder, text ? parseDateText(*text) : std::nullopt);
    }
    case TypeId::Timestamp:
    case TypeId::TimestampNtz: {
      const auto text = textOf(value);
      return append<arrow::TimestampBuilder>(builder, text ? parseTimestampText(*text) : std::nullopt);
    }
    default:
      throw internalError("statistics of the type " + type.simpleString());
  }
}

void appendObject(arrow::StructBuilder& builder, const DataType& type, lazy::object& object) {
  throwIfFailed(builder.Append());
  for (size_t i = 0; i < type.fields().size(); ++i) {
    const StructField& field = type.fields()[i];
    arrow::ArrayBuilder& member = *builder.field_builder(static_cast<int>(i));
    lazy::value value;
    lazy::object members;
    if (object.find_field_unordered(field.name).get(value)) {
      throwIfFailed(member.AppendNull());
    } else if (field.type->id() != TypeId::Struct) {
      appendLeaf(member, *field.type, value);
    } else if (value.get_object().get(members)) {
      throwIfFailed(member.AppendNull());
    } else {
      appendObject(static_cast<arrow::StructBuilder&>(member), *field.type, members);
    }
  }
}

}  // namespace

struct ParsedStatsWriter::Parser {
  simdjson::dom::parser checker;
  lazy::parser parser;
  std::string padded;
};

ParsedStatsWriter::ParsedStatsWriter(DataTypePtr type, arrow::StructBuilder& builder)
    : type_(std::move(type)), builder_(builder), parser_(std::make_unique<Parser>()) {}
ParsedStatsWriter::~ParsedStatsWriter() = default;

void ParsedStatsWriter::append(std::optional<std::string_view> stats) {
  if (!stats) return throwIfFailed(builder_.AppendNull());
  std::string& padded = parser_->padded;
  padded.assign(*stats);
  padded.reserve(padded.size() + simdjson::SIMDJSON_PADDING);
  // The lazy parser takes what it has passed over for JSON, and reads anywhere where it is none.
  const bool isJson =
      !parser_->checker.parse(padded.data(), padded.size(), /*realloc_if_needed=*/false).error();
  lazy::document document;
  lazy::object object;
  if (!isJson || parser_->parser.iterate(padded.data(), padded.size(), padded.capacity()).get(document) ||
      document.get_object().get(object)) {
    return throwIfFailed(builder_.AppendNull());
  }
  appendObject(builder_, *type_, object);
}

struct ParsedPartitionWriter::Column {
  std::string name;
  DataTypePtr type;
  // Files of one partition mostly follow one another.
  std::optional<std::string> lastText;
  std::shared_ptr<arrow::Scalar> lastValue;

  const arrow::Scalar& valueOf(const std::optional<std::string_view>& text) {
    const bool same = text.has_value() == lastText.has_value() && (!text || *text == *lastText);
    if (lastValue && same) return *lastValue;
    lastText = text ? std::optional<std::string>(*text) : std::nullopt;
    try {
      lastValue = parsePartitionValue(lastText, *type, name, TimeZone());
    } catch (const Error&) {
      lastValue = parsePartitionValue(std::nullopt, *type, name, TimeZone());
    }
    return *lastValue;
  }
};

ParsedPartitionWriter::ParsedPartitionWriter(DataTypePtr type, arrow::StructBuilder& builder)
    : builder_(builder) {
  for (const StructField& field : type->fields()) columns_.push_back({field.name, field.type, {}, {}});
}
ParsedPartitionWriter::~ParsedPartitionWriter() = default;

void ParsedPartitionWriter::append(const FileFields& file) {
  throwIfFailed(builder_.Append());
  for (size_t i = 0; i < columns_.size(); ++i) {
    std::optional<std::string_view> text;
    for (const auto& [name, value] : file.partitionValues) {
      if (name == columns_[i].name) text = value;
    }
    throwIfFailed(builder_.field_builder(static_cast<int>(i))->AppendScalar(columns_[i].valueOf(text)));
  }
}

}  // namespace thalweg::delta
