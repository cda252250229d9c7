#include "session/observed_metrics.h"

#include <algorithm>

#include <arrow/api.h>
#include <spark/connect/base.pb.h>

#include "common/error.h"
#include "plan/analyze/proto_types.h"

// Fields that Spark has given up: clients of 4.0 and 4.1 know no others.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace thalweg {
namespace {

namespace proto = spark::connect;

template <typename Array>
auto valueAt(const arrow::Array& column, int64_t row) {
  return static_cast<const Array&>(column).Value(row);
}

std::string textAt(const arrow::Array& column, int64_t row) {
  return std::string(static_cast<const arrow::BinaryArray&>(column).GetView(row));
}

void decimalLiteral(const DataType& type, const arrow::Array& column, int64_t row,
                    proto::Expression::Literal* literal) {
  auto* decimal = literal->mutable_decimal();
  decimal->set_value(static_cast<const arrow::Decimal128Array&>(column).FormatValue(row));
  decimal->set_precision(type.precision());
  decimal->set_scale(type.scale());
}

void arrayLiteral(const DataType& type, const arrow::Array& column, int64_t row,
                  proto::Expression::Literal* literal) {
  const auto& list = static_cast<const arrow::ListArray&>(column);
  auto* array = literal->mutable_array();
  toProtoType(*type.element(), array->mutable_element_type());
  for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i)
    toProtoLiteral(*type.element(), *list.values(), i, array->add_elements());
}

void mapLiteral(const DataType& type, const arrow::Array& column, int64_t row,
                proto::Expression::Literal* literal) {
  const auto& entries = static_cast<const arrow::MapArray&>(column);
  auto* map = literal->mutable_map();
  toProtoType(*type.key(), map->mutable_key_type());
  toProtoType(*type.value(), map->mutable_value_type());
  for (int64_t i = entries.value_offset(row); i < entries.value_offset(row + 1); ++i) {
    toProtoLiteral(*type.key(), *entries.keys(), i, map->add_keys());
    toProtoLiteral(*type.value(), *entries.items(), i, map->add_values());
  }
}

void structLiteral(const DataType& type, const arrow::Array& column, int64_t row,
                   proto::Expression::Literal* literal) {
  const auto& fields = static_cast<const arrow::StructArray&>(column);
  toProtoType(type, literal->mutable_struct_()->mutable_struct_type());
  for (size_t i = 0; i < type.fields().size(); ++i)
    toProtoLiteral(*type.fields()[i].type, *fields.field(static_cast<int>(i)), row,
                   literal->mutable_struct_()->add_elements());
}

}  // namespace

void toProtoLiteral(const DataType& type, const arrow::Array& column, int64_t row,
                    proto::Expression::Literal* literal) {
  if (type.id() == TypeId::Void || column.IsNull(row)) return toProtoType(type, literal->mutable_null());
  switch (type.id()) {
    case TypeId::Boolean:
      return literal->set_boolean(valueAt<arrow::BooleanArray>(column, row));
    case TypeId::Byte:
      return literal->set_byte(valueAt<arrow::Int8Array>(column, row));
    case TypeId::Short:
      return literal->set_short_(valueAt<arrow::Int16Array>(column, row));
    case TypeId::Int:
      return literal->set_integer(valueAt<arrow::Int32Array>(column, row));
    case TypeId::Long:
      return literal->set_long_(valueAt<arrow::Int64Array>(column, row));
    case TypeId::Float:
      return literal->set_float_(valueAt<arrow::FloatArray>(column, row));
    case TypeId::Double:
      return literal->set_double_(valueAt<arrow::DoubleArray>(column, row));
    case TypeId::Decimal:
      return decimalLiteral(type, column, row, literal);
    case TypeId::String:
      return literal->set_string(textAt(column, row));
    case TypeId::Binary:
      return literal->set_binary(textAt(column, row));
    case TypeId::Date:
      return literal->set_date(valueAt<arrow::Date32Array>(column, row));
    case TypeId::Timestamp:
      return literal->set_timestamp(valueAt<arrow::TimestampArray>(column, row));
    case TypeId::TimestampNtz:
      return literal->set_timestamp_ntz(valueAt<arrow::TimestampArray>(column, row));
    case TypeId::DayTimeInterval:
      return literal->set_day_time_interval(valueAt<arrow::DurationArray>(column, row));
    case TypeId::YearMonthInterval:
      return literal->set_year_month_interval(valueAt<arrow::MonthIntervalArray>(column, row));
    case TypeId::Array:
      return arrayLiteral(type, column, row, literal);
    case TypeId::Map:
      return mapLiteral(type, column, row, literal);
    case TypeId::Struct:
      return structLiteral(type, column, row, literal);
    default:
      throw unsupported("A literal of the type " + type.sqlString());
  }
}

void addObserved(const Execution& execution, std::vector<ObservedMetrics>* observed) {
  for (const auto& observe : execution.observations) {
    ObservedMetrics one = observe();
    const bool known = std::any_of(observed->begin(), observed->end(),
                                   [&](const auto& other) { return other.name == one.name; });
    if (!known) observed->push_back(std::move(one));
  }
}

void sendObservedMetrics(const std::vector<ObservedMetrics>& observed, ResponseSink& sink) {
  if (observed.empty()) return;
  proto::ExecutePlanResponse response;
  for (const ObservedMetrics& one : observed) {
    auto* message = response.add_observed_metrics();
    message->set_name(one.name);
    message->set_plan_id(one.planId);
    for (size_t i = 0; i < one.schema->fields().size(); ++i) {
      const StructField& field = one.schema->fields()[i];
      message->add_keys(field.name);
      toProtoLiteral(*field.type, *one.row->column(static_cast<int>(i)), 0, message->add_values());
    }
  }
  sink.send(std::move(response));
}

}  // namespace thalweg
