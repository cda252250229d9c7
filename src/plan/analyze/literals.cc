#include "plan/analyze/literals.h"

#include <arrow/api.h>
#include <spark/connect/expressions.pb.h>

#include "common/error.h"
#include "expr/nodes.h"
#include "plan/analyze/proto_types.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/text/number_text.h"

// Fields that Spark has given up: clients of 4.0 and 4.1 still send them.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace thalweg {
namespace {

namespace proto = spark::connect;

template <typename ArrowScalar, typename Value>
ExpressionPtr make(const DataTypePtr& type, Value value) {
  return std::make_shared<Literal>(std::make_shared<ArrowScalar>(value, toArrowType(*type)), type);
}

ExpressionPtr decimalLiteral(const proto::Expression::Literal::Decimal& decimal) {
  // Without a precision the text's own digits give the type.
  int precision = 0, scale = 0;
  bool afterPoint = false;
  for (char c : decimal.value()) {
    if (c == '.') afterPoint = true;
    else if (c >= '0' && c <= '9') {
      ++precision;
      scale += afterPoint;
    }
  }
  if (decimal.has_precision()) precision = decimal.precision();
  if (decimal.has_scale()) scale = decimal.scale();
  if (precision > 38 || precision < 0 || scale > 38 || scale < 0) {
    throw Error("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", "A decimal has at most 38 digits, none before the first.",
                {{"precision", std::to_string(precision)}, {"maxPrecision", "38"}});
  }
  const DataTypePtr type = DataType::decimal(std::max({precision, scale, 1}), scale);
  arrow::Decimal128 value;
  if (parseDecimal(decimal.value(), type->precision(), type->scale(), &value) != DecimalParse::Ok) throw Error("INVALID_NUMERIC_LITERAL_RANGE", "'" + decimal.value() + "' is no decimal of its type.");
  return std::make_shared<Literal>(std::make_shared<arrow::Decimal128Scalar>(value, toArrowType(*type)), type);
}

// The values of nested literals, put into one array of the element type.
std::shared_ptr<arrow::Array> elementArray(const DataType& type, const std::vector<ExpressionPtr>& elements) {
  std::unique_ptr<arrow::ArrayBuilder> builder;
  throwIfFailed(arrow::MakeBuilder(arrow::default_memory_pool(), toArrowType(type), &builder));
  for (const ExpressionPtr& element : elements) {
    throwIfFailed(builder->AppendScalar(*static_cast<const Literal&>(*element).value()));
  }
  return valueOrThrow(builder->Finish());
}

ExpressionPtr arrayOf(const DataTypePtr& elementType, const std::vector<ExpressionPtr>& elements, bool containsNull) {
  const DataTypePtr type = DataType::array(elementType, containsNull);
  return std::make_shared<Literal>(
      std::make_shared<arrow::ListScalar>(elementArray(*elementType, elements), toArrowType(*type)), type);
}

template <typename Repeated>
std::vector<ExpressionPtr> all(const Repeated& messages) {
  std::vector<ExpressionPtr> result;
  for (const auto& message : messages) result.push_back(fromProtoLiteral(message));
  return result;
}

ExpressionPtr arrayLiteral(const proto::Expression::Literal& message) {
  const std::vector<ExpressionPtr> elements = all(message.array().elements());
  DataTypePtr elementType;
  if (message.has_data_type() && message.data_type().has_array()) {
    elementType = fromProtoType(message.data_type().array().element_type());
  } else if (message.array().has_element_type()) {
    elementType = fromProtoType(message.array().element_type());
  } else {
    elementType = elements.empty() ? voidType() : elements[0]->type();
  }
  return arrayOf(elementType, elements, true);
}

ExpressionPtr specializedArray(const proto::Expression::Literal::SpecializedArray& message) {
  std::vector<ExpressionPtr> elements;
  for (bool v : message.bools().values()) elements.push_back(Literal::of(v));
  for (int32_t v : message.ints().values()) elements.push_back(Literal::of(v));
  for (int64_t v : message.longs().values()) elements.push_back(Literal::of(static_cast<int64_t>(v)));
  for (float v : message.floats().values()) elements.push_back(make<arrow::FloatScalar>(floatType(), v));
  for (double v : message.doubles().values()) elements.push_back(Literal::of(v));
  for (const auto& v : message.strings().values()) elements.push_back(Literal::of(std::string(v)));
  return arrayOf(elements.empty() ? voidType() : elements[0]->type(), elements, false);
}

ExpressionPtr mapLiteral(const proto::Expression::Literal::Map& message) {
  const auto keys = all(message.keys());
  const auto values = all(message.values());
  const DataTypePtr keyType = message.has_key_type() ? fromProtoType(message.key_type()) : keys.empty() ? voidType() : keys[0]->type();
  const DataTypePtr valueType =
      message.has_value_type() ? fromProtoType(message.value_type()) : values.empty() ? voidType() : values[0]->type();
  const DataTypePtr type = DataType::map(keyType, valueType);
  const auto arrowType = toArrowType(*type);
  const auto entries = valueOrThrow(arrow::StructArray::Make(
      {elementArray(*keyType, keys), elementArray(*valueType, values)},
      static_cast<const arrow::MapType&>(*arrowType).value_type()->fields()));
  return std::make_shared<Literal>(std::make_shared<arrow::MapScalar>(entries, arrowType), type);
}

ExpressionPtr structLiteral(const proto::Expression::Literal::Struct& message) {
  const DataTypePtr type = fromProtoType(message.struct_type());
  arrow::ScalarVector values;
  for (const auto& element : message.elements()) {
    values.push_back(static_cast<const Literal&>(*fromProtoLiteral(element)).value());
  }
  return std::make_shared<Literal>(std::make_shared<arrow::StructScalar>(std::move(values), toArrowType(*type)), type);
}

}  // namespace

ExpressionPtr fromProtoLiteral(const proto::Expression_Literal& message) {
  using Kind = proto::Expression::Literal;
  switch (message.literal_type_case()) {
    case Kind::kNull: return Literal::null(fromProtoType(message.null()));
    case Kind::kBinary:
      return std::make_shared<Literal>(std::make_shared<arrow::BinaryScalar>(message.binary()), binaryType());
    case Kind::kBoolean: return Literal::of(message.boolean());
    case Kind::kByte: return make<arrow::Int8Scalar>(byteType(), static_cast<int8_t>(message.byte()));
    case Kind::kShort: return make<arrow::Int16Scalar>(shortType(), static_cast<int16_t>(message.short_()));
    case Kind::kInteger: return Literal::of(static_cast<int32_t>(message.integer()));
    case Kind::kLong: return Literal::of(static_cast<int64_t>(message.long_()));
    case Kind::kFloat: return make<arrow::FloatScalar>(floatType(), message.float_());
    case Kind::kDouble: return Literal::of(message.double_());
    case Kind::kDecimal: return decimalLiteral(message.decimal());
    case Kind::kString: return Literal::of(message.string());
    case Kind::kDate: return make<arrow::Date32Scalar>(dateType(), message.date());
    case Kind::kTimestamp: return make<arrow::TimestampScalar>(timestampType(), static_cast<int64_t>(message.timestamp()));
    case Kind::kTimestampNtz:
      return make<arrow::TimestampScalar>(timestampNtzType(), static_cast<int64_t>(message.timestamp_ntz()));
    case Kind::kYearMonthInterval:
      return make<arrow::MonthIntervalScalar>(
          message.data_type().has_year_month_interval() ? fromProtoType(message.data_type()) : DataType::yearMonthInterval(0, 1),
          message.year_month_interval());
    case Kind::kDayTimeInterval:
      return make<arrow::DurationScalar>(
          message.data_type().has_day_time_interval() ? fromProtoType(message.data_type()) : DataType::dayTimeInterval(0, 3),
          static_cast<int64_t>(message.day_time_interval()));
    case Kind::kArray: return arrayLiteral(message);
    case Kind::kSpecializedArray: return specializedArray(message.specialized_array());
    case Kind::kMap: return mapLiteral(message.map());
    case Kind::kStruct: return structLiteral(message.struct_());
    default: throw unsupported("A literal of this kind");
  }
}

}  // namespace thalweg
