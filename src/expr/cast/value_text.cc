#include "expr/cast/value_text.h"

#include <arrow/api.h>

#include "common/error.h"
#include "types/text/number_text.h"
#include "types/text/time_text.h"

namespace thalweg {

void ValueText::appendOrNull(const DataType& type, const arrow::Array& array, int64_t row, std::string* out) const {
  if (array.IsNull(row)) *out += "null";
  else appendValue(type, array, row, out);
}

void ValueText::appendValue(const DataType& type, const arrow::Array& array, int64_t row, std::string* out) const {
  switch (type.id()) {
    case TypeId::Void: *out += "null"; return;
    case TypeId::Boolean: *out += static_cast<const arrow::BooleanArray&>(array).Value(row) ? "true" : "false"; return;
    case TypeId::Byte: *out += std::to_string(static_cast<const arrow::Int8Array&>(array).Value(row)); return;
    case TypeId::Short: *out += std::to_string(static_cast<const arrow::Int16Array&>(array).Value(row)); return;
    case TypeId::Int: *out += std::to_string(static_cast<const arrow::Int32Array&>(array).Value(row)); return;
    case TypeId::Long: *out += std::to_string(static_cast<const arrow::Int64Array&>(array).Value(row)); return;
    case TypeId::Float: appendFloat(static_cast<const arrow::FloatArray&>(array).Value(row), out); return;
    case TypeId::Double: appendDouble(static_cast<const arrow::DoubleArray&>(array).Value(row), out); return;
    case TypeId::Decimal:
      appendDecimal(arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(array).GetValue(row)), type.scale(), out);
      return;
    case TypeId::String:
    case TypeId::Binary: out->append(static_cast<const arrow::BinaryArray&>(array).GetView(row)); return;
    case TypeId::Date: appendDate(static_cast<const arrow::Date32Array&>(array).Value(row), out); return;
    case TypeId::Timestamp:
      appendTimestamp(zone_.toLocalMicros(static_cast<const arrow::TimestampArray&>(array).Value(row)), out);
      return;
    case TypeId::TimestampNtz:
      appendTimestamp(static_cast<const arrow::TimestampArray&>(array).Value(row), out);
      return;
    case TypeId::Array: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      *out += "[";
      for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i) {
        if (i > list.value_offset(row)) *out += ", ";
        appendOrNull(*type.element(), *list.values(), i, out);
      }
      *out += "]";
      return;
    }
    case TypeId::Map: {
      const auto& map = static_cast<const arrow::MapArray&>(array);
      *out += "{";
      for (int64_t i = map.value_offset(row); i < map.value_offset(row + 1); ++i) {
        if (i > map.value_offset(row)) *out += ", ";
        appendValue(*type.key(), *map.keys(), i, out);
        *out += " -> ";
        appendOrNull(*type.value(), *map.items(), i, out);
      }
      *out += "}";
      return;
    }
    case TypeId::Struct: {
      const auto& values = static_cast<const arrow::StructArray&>(array);
      *out += "{";
      for (size_t i = 0; i < type.fields().size(); ++i) {
        if (i) *out += ", ";
        appendOrNull(*type.fields()[i].type, *values.field(static_cast<int>(i)), row, out);
      }
      *out += "}";
      return;
    }
    default: throw unsupported("Text of a value of type " + type.sqlString());
  }
}

}  // namespace thalweg
