#include "plan/analyze/proto_types.h"

#include <spark/connect/types.pb.h>

#include "common/error.h"
#include "types/ddl.h"

namespace thalweg {

namespace proto = spark::connect;

DataTypePtr fromProtoType(const proto::DataType& message) {
  switch (message.kind_case()) {
    case proto::DataType::kNull: return voidType();
    case proto::DataType::kBinary: return binaryType();
    case proto::DataType::kBoolean: return booleanType();
    case proto::DataType::kByte: return byteType();
    case proto::DataType::kShort: return shortType();
    case proto::DataType::kInteger: return intType();
    case proto::DataType::kLong: return longType();
    case proto::DataType::kFloat: return floatType();
    case proto::DataType::kDouble: return doubleType();
    case proto::DataType::kDecimal: {
      const int precision = message.decimal().has_precision() ? message.decimal().precision() : 10;
      const int scale = message.decimal().has_scale() ? message.decimal().scale() : 0;
      if (precision < 1 || precision > 38 || scale < 0 || scale > precision) {
        throw Error("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", "A decimal has 1 to 38 digits and a scale of at most as many.",
                    {{"precision", std::to_string(precision)}, {"maxPrecision", "38"}});
      }
      return DataType::decimal(precision, scale);
    }
    case proto::DataType::kString:
    case proto::DataType::kChar:
    case proto::DataType::kVarChar: return stringType();
    case proto::DataType::kDate: return dateType();
    case proto::DataType::kTimestamp: return timestampType();
    case proto::DataType::kTimestampNtz: return timestampNtzType();
    case proto::DataType::kCalendarInterval: return DataType::primitive(TypeId::CalendarInterval);
    case proto::DataType::kYearMonthInterval: {
      const auto& interval = message.year_month_interval();
      return DataType::yearMonthInterval(interval.has_start_field() ? interval.start_field() : 0,
                                         interval.has_end_field() ? interval.end_field() : 1);
    }
    case proto::DataType::kDayTimeInterval: {
      const auto& interval = message.day_time_interval();
      return DataType::dayTimeInterval(interval.has_start_field() ? interval.start_field() : 0,
                                       interval.has_end_field() ? interval.end_field() : 3);
    }
    case proto::DataType::kArray:
      return DataType::array(fromProtoType(message.array().element_type()), message.array().contains_null());
    case proto::DataType::kMap:
      return DataType::map(fromProtoType(message.map().key_type()), fromProtoType(message.map().value_type()),
                           message.map().value_contains_null());
    case proto::DataType::kStruct: {
      std::vector<StructField> fields;
      for (const auto& field : message.struct_().fields()) {
        fields.push_back({field.name(), fromProtoType(field.data_type()), field.nullable(),
                          field.has_metadata() && field.metadata() != "{}" ? field.metadata() : ""});
      }
      return DataType::structOf(std::move(fields));
    }
    case proto::DataType::kVariant: return DataType::primitive(TypeId::Variant);
    case proto::DataType::kUdt: return fromProtoType(message.udt().sql_type());
    case proto::DataType::kUnparsed: return parseTypeDdl(message.unparsed().data_type_string());
    default: throw unsupported("A data type of this client's plan");
  }
}

void toProtoType(const DataType& type, proto::DataType* message) {
  switch (type.id()) {
    case TypeId::Void: message->mutable_null(); return;
    case TypeId::Boolean: message->mutable_boolean(); return;
    case TypeId::Byte: message->mutable_byte(); return;
    case TypeId::Short: message->mutable_short_(); return;
    case TypeId::Int: message->mutable_integer(); return;
    case TypeId::Long: message->mutable_long_(); return;
    case TypeId::Float: message->mutable_float_(); return;
    case TypeId::Double: message->mutable_double_(); return;
    case TypeId::Decimal:
      message->mutable_decimal()->set_precision(type.precision());
      message->mutable_decimal()->set_scale(type.scale());
      return;
    case TypeId::String: message->mutable_string()->set_collation("UTF8_BINARY"); return;
    case TypeId::Binary: message->mutable_binary(); return;
    case TypeId::Date: message->mutable_date(); return;
    case TypeId::Timestamp: message->mutable_timestamp(); return;
    case TypeId::TimestampNtz: message->mutable_timestamp_ntz(); return;
    case TypeId::CalendarInterval: message->mutable_calendar_interval(); return;
    case TypeId::DayTimeInterval:
      message->mutable_day_time_interval()->set_start_field(type.startField());
      message->mutable_day_time_interval()->set_end_field(type.endField());
      return;
    case TypeId::YearMonthInterval:
      message->mutable_year_month_interval()->set_start_field(type.startField());
      message->mutable_year_month_interval()->set_end_field(type.endField());
      return;
    case TypeId::Array:
      toProtoType(*type.element(), message->mutable_array()->mutable_element_type());
      message->mutable_array()->set_contains_null(type.containsNull());
      return;
    case TypeId::Map:
      toProtoType(*type.key(), message->mutable_map()->mutable_key_type());
      toProtoType(*type.value(), message->mutable_map()->mutable_value_type());
      message->mutable_map()->set_value_contains_null(type.containsNull());
      return;
    case TypeId::Struct:
      message->mutable_struct_();
      for (const StructField& field : type.fields()) {
        auto* out = message->mutable_struct_()->add_fields();
        out->set_name(field.name);
        out->set_nullable(field.nullable);
        if (!field.metadata.empty() && field.metadata != "{}") out->set_metadata(field.metadata);
        toProtoType(*field.type, out->mutable_data_type());
      }
      return;
    case TypeId::Variant: message->mutable_variant(); return;
  }
}

}  // namespace thalweg
