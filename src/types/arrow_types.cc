#include "types/arrow_types.h"

#include <arrow/type.h>

#include "common/error.h"

namespace thalweg {

std::shared_ptr<arrow::DataType> toArrowType(const DataType& type) {
  switch (type.id()) {
    case TypeId::Void: return arrow::null();
    case TypeId::Boolean: return arrow::boolean();
    case TypeId::Byte: return arrow::int8();
    case TypeId::Short: return arrow::int16();
    case TypeId::Int: return arrow::int32();
    case TypeId::Long: return arrow::int64();
    case TypeId::Float: return arrow::float32();
    case TypeId::Double: return arrow::float64();
    case TypeId::Decimal: return arrow::decimal128(type.precision(), type.scale());
    case TypeId::String: return arrow::utf8();
    case TypeId::Binary: return arrow::binary();
    case TypeId::Date: return arrow::date32();
    case TypeId::Timestamp: return arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
    case TypeId::TimestampNtz: return arrow::timestamp(arrow::TimeUnit::MICRO);
    case TypeId::DayTimeInterval: return arrow::duration(arrow::TimeUnit::MICRO);
    case TypeId::YearMonthInterval: return arrow::month_interval();
    case TypeId::CalendarInterval: return arrow::month_day_nano_interval();
    case TypeId::Array:
      return arrow::list(arrow::field("element", toArrowType(*type.element()), type.containsNull()));
    case TypeId::Map:
      return arrow::map(toArrowType(*type.key()), arrow::field("value", toArrowType(*type.value()), type.containsNull()));
    case TypeId::Struct: {
      arrow::FieldVector fields;
      for (const StructField& field : type.fields()) fields.push_back(toArrowField(field));
      return arrow::struct_(std::move(fields));
    }
    case TypeId::Variant:
      return arrow::struct_({arrow::field("value", arrow::binary(), false), arrow::field("metadata", arrow::binary(), false)});
  }
  throw internalError("unknown data type");
}

std::shared_ptr<arrow::Field> toArrowField(const StructField& field) {
  return arrow::field(field.name, toArrowType(*field.type), field.nullable);
}

std::shared_ptr<arrow::Schema> toArrowSchema(const Schema& schema) {
  arrow::FieldVector fields;
  for (const StructField& field : schema.fields()) fields.push_back(toArrowField(field));
  return arrow::schema(std::move(fields));
}

DataTypePtr fromArrowType(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::NA: return voidType();
    case arrow::Type::BOOL: return booleanType();
    case arrow::Type::INT8: return byteType();
    case arrow::Type::INT16: return shortType();
    case arrow::Type::INT32: return intType();
    case arrow::Type::INT64: return longType();
    case arrow::Type::FLOAT: return floatType();
    case arrow::Type::DOUBLE: return doubleType();
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128: {
      const auto& decimal = static_cast<const arrow::DecimalType&>(type);
      // Arrow has decimals that Spark has not: negative scales, and scales beyond the precision.
      if (decimal.precision() < 1 || decimal.precision() > 38 || decimal.scale() < 0 || decimal.scale() > decimal.precision()) {
        throw Error("UNSUPPORTED_DATATYPE", "Spark has no type for the Arrow type " + type.ToString() + ".",
                    {{"typeName", type.ToString()}});
      }
      return DataType::decimal(decimal.precision(), decimal.scale());
    }
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW: return stringType();
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW:
    case arrow::Type::FIXED_SIZE_BINARY: return binaryType();
    case arrow::Type::DATE32: return dateType();
    case arrow::Type::TIMESTAMP:
      return static_cast<const arrow::TimestampType&>(type).timezone().empty() ? timestampNtzType() : timestampType();
    case arrow::Type::DURATION: return DataType::dayTimeInterval(0, 3);
    case arrow::Type::INTERVAL_MONTHS: return DataType::yearMonthInterval(0, 1);
    case arrow::Type::INTERVAL_MONTH_DAY_NANO: return DataType::primitive(TypeId::CalendarInterval);
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::BaseListType&>(type);
      return DataType::array(fromArrowType(*list.value_type()), list.value_field()->nullable());
    }
    case arrow::Type::MAP: {
      const auto& map = static_cast<const arrow::MapType&>(type);
      return DataType::map(fromArrowType(*map.key_type()), fromArrowType(*map.item_type()), map.item_field()->nullable());
    }
    case arrow::Type::STRUCT: {
      std::vector<StructField> fields;
      for (const auto& field : type.fields()) {
        fields.push_back({field->name(), fromArrowType(*field->type()), field->nullable()});
      }
      return DataType::structOf(std::move(fields));
    }
    default:
      throw Error("UNSUPPORTED_DATATYPE", "Spark has no type for the Arrow type " + type.ToString() + ".",
                  {{"typeName", type.ToString()}});
  }
}

SchemaPtr fromArrowSchema(const arrow::Schema& schema) {
  std::vector<StructField> fields;
  for (const auto& field : schema.fields()) {
    fields.push_back({field->name(), fromArrowType(*field->type()), field->nullable()});
  }
  return DataType::structOf(std::move(fields));
}

}  // namespace thalweg
