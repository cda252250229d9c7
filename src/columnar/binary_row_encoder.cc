// Columns are written one after the other over all rows: first the sizes, then each column's fields and
// tails.
#include <bit>
#include <cmath>
#include <limits>

#include <arrow/api.h>

#include "columnar/binary_row.h"
#include "columnar/binary_row_layout.h"
#include "columnar/decimal_bytes.h"
#include "common/error.h"

namespace thalweg {

std::vector<DataTypePtr> fieldTypes(const Schema& schema) {
  std::vector<DataTypePtr> types;
  for (const StructField& field : schema.fields()) types.push_back(field.type);
  return types;
}

namespace {

using namespace binary_row;

// Values of one type, written where the caller says: the part of the encoder that nested values share.
struct ValueWriter {
  bool normalizeFloats;

  // A value that is not in the tail, into `slot` of `width` zeroed bytes.
  void writeFixed(const DataType& type, const arrow::Array& array, int64_t row, char* slot) const {
    switch (type.id()) {
      case TypeId::Boolean:
        *slot = static_cast<const arrow::BooleanArray&>(array).Value(row) ? 1 : 0;
        return;
      case TypeId::Byte:
        return store(slot, array.data()->GetValues<int8_t>(1)[row]);
      case TypeId::Short:
        return store(slot, array.data()->GetValues<int16_t>(1)[row]);
      case TypeId::Int:
      case TypeId::Date:
      case TypeId::YearMonthInterval:
        return store(slot, array.data()->GetValues<int32_t>(1)[row]);
      case TypeId::Long:
      case TypeId::Timestamp:
      case TypeId::TimestampNtz:
      case TypeId::DayTimeInterval:
        return store(slot, array.data()->GetValues<int64_t>(1)[row]);
      case TypeId::Float:
        return store(slot, kept(array.data()->GetValues<float>(1)[row]));
      case TypeId::Double:
        return store(slot, kept(array.data()->GetValues<double>(1)[row]));
      case TypeId::Decimal: {
        const arrow::Decimal128 value(static_cast<const arrow::Decimal128Array&>(array).GetValue(row));
        return store(slot, static_cast<int64_t>(value.low_bits()));
      }
      default:
        THALWEG_ASSERT(type.id() == TypeId::Void);
    }
  }

  template <typename Float>
  Float kept(Float value) const {
    if (!normalizeFloats) return value;
    if (value == 0) return 0;
    return std::isnan(value) ? std::numeric_limits<Float>::quiet_NaN() : value;
  }

  // Bytes that a variable value takes in the tail, padding included.
  size_t tailBytes(const DataType& type, const arrow::Array& array, int64_t row) const {
    switch (type.id()) {
      case TypeId::String:
      case TypeId::Binary:
        return roundUp8(static_cast<size_t>(static_cast<const arrow::BinaryArray&>(array).value_length(row)));
      case TypeId::Struct:
        return structBytes(type, static_cast<const arrow::StructArray&>(array), row);
      case TypeId::Array: {
        const auto& list = static_cast<const arrow::ListArray&>(array);
        return listBytes(*type.element(), *list.values(), list.value_offset(row), list.value_length(row));
      }
      case TypeId::Map: {
        const auto& map = static_cast<const arrow::MapArray&>(array);
        return 8 + listBytes(*type.key(), *map.keys(), map.value_offset(row), map.value_length(row)) +
               listBytes(*type.value(), *map.items(), map.value_offset(row), map.value_length(row));
      }
      case TypeId::Decimal: {
        char bytes[16];
        return roundUp8(shortestBigEndian(
            arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(array).GetValue(row)), bytes));
      }
      default:
        return 16;
    }
  }

  size_t structBytes(const DataType& type, const arrow::StructArray& array, int64_t row) const {
    size_t bytes = fixedBytes(type.fields().size());
    for (size_t i = 0; i < type.fields().size(); ++i) {
      const DataType& field = *type.fields()[i].type;
      if (!isVariable(field)) continue;
      if (isReserved16(field))
        bytes += 16;
      else if (const auto& values = *array.field(static_cast<int>(i)); values.IsValid(row))
        bytes += tailBytes(field, values, row);
    }
    return bytes;
  }

  size_t listBytes(const DataType& element, const arrow::Array& values, int64_t first, int64_t count) const {
    const auto numElements = static_cast<size_t>(count);
    size_t bytes = 8 + bitsetBytes(numElements) + roundUp8(numElements * elementWidth(element));
    if (!isVariable(element)) return bytes;
    for (int64_t i = first; i < first + count; ++i) {
      if (values.IsValid(i)) bytes += tailBytes(element, values, i);
    }
    return bytes;
  }

  // A variable value's bytes at `out` (zeroed); its size without padding.
  size_t writeTail(const DataType& type, const arrow::Array& array, int64_t row, char* out) const {
    switch (type.id()) {
      case TypeId::String:
      case TypeId::Binary: {
        const std::string_view view = static_cast<const arrow::BinaryArray&>(array).GetView(row);
        std::memcpy(out, view.data(), view.size());
        return view.size();
      }
      case TypeId::Struct:
        return writeStruct(type, static_cast<const arrow::StructArray&>(array), row, out);
      case TypeId::Array: {
        const auto& list = static_cast<const arrow::ListArray&>(array);
        return writeList(*type.element(), *list.values(), list.value_offset(row), list.value_length(row),
                         out);
      }
      case TypeId::Map: {
        const auto& map = static_cast<const arrow::MapArray&>(array);
        const size_t keys =
            writeList(*type.key(), *map.keys(), map.value_offset(row), map.value_length(row), out + 8);
        store(out, uint64_t{keys});
        return 8 + keys +
               writeList(*type.value(), *map.items(), map.value_offset(row), map.value_length(row),
                         out + 8 + keys);
      }
      case TypeId::Decimal:
        return shortestBigEndian(
            arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(array).GetValue(row)), out);
      default: {
        const auto value = static_cast<const arrow::MonthDayNanoIntervalArray&>(array).GetValue(row);
        store(out, value.months);
        store(out + 4, value.days);
        store(out + 8, value.nanoseconds / 1000);
        return 16;
      }
    }
  }

  // A field of a row that begins at `row`: its slot and, from *cursor on, its tail.
  void writeField(const DataType& type, const arrow::Array& array, int64_t index, char* row, size_t numFields,
                  size_t ordinal, size_t* cursor) const {
    char* slot = row + bitsetBytes(numFields) + 8 * ordinal;
    const bool null = array.IsNull(index);
    if (null) setNull(row, ordinal);
    if (!isVariable(type)) {
      if (!null) writeFixed(type, array, index, slot);
      return;
    }
    if (null && !isReserved16(type)) return;
    // Null reserved values have a place too; their size is as Spark's writer leaves it.
    const size_t size = null ? (type.id() == TypeId::CalendarInterval ? 16 : 0)
                             : writeTail(type, array, index, row + *cursor);
    store(slot, offsetAndSize(*cursor, size));
    *cursor += isReserved16(type) ? 16 : roundUp8(size);
  }

  size_t writeStruct(const DataType& type, const arrow::StructArray& array, int64_t row, char* out) const {
    const size_t numFields = type.fields().size();
    size_t cursor = fixedBytes(numFields);
    for (size_t i = 0; i < numFields; ++i) {
      writeField(*type.fields()[i].type, *array.field(static_cast<int>(i)), row, out, numFields, i, &cursor);
    }
    return cursor;
  }

  size_t writeList(const DataType& element, const arrow::Array& values, int64_t first, int64_t count,
                   char* out) const {
    const auto numElements = static_cast<size_t>(count);
    const size_t width = elementWidth(element);
    store(out, uint64_t{numElements});
    char* bitset = out + 8;
    char* slots = bitset + bitsetBytes(numElements);
    size_t cursor = static_cast<size_t>(slots - out) + roundUp8(numElements * width);
    for (size_t i = 0; i < numElements; ++i) {
      const int64_t at = first + static_cast<int64_t>(i);
      if (values.IsNull(at)) {
        setNull(bitset, i);
      } else if (!isVariable(element)) {
        writeFixed(element, values, at, slots + width * i);
      } else {
        const size_t size = writeTail(element, values, at, out + cursor);
        store(slots + width * i, offsetAndSize(cursor, size));
        cursor += roundUp8(size);
      }
    }
    return cursor;
  }
};

// Adds what a column takes in the tails of its rows.
void addTailBytes(const ValueWriter& writer, const DataType& type, const arrow::Array& column, int64_t begin,
                  std::span<size_t> sizes) {
  if (!isVariable(type)) return;
  const bool reserved = isReserved16(type);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t row = begin + static_cast<int64_t>(i);
    if (reserved)
      sizes[i] += 16;
    else if (column.IsValid(row))
      sizes[i] += writer.tailBytes(type, column, row);
  }
}

}  // namespace

void binary_row::requireEncoding(const DataType& type) {
  switch (type.id()) {
    case TypeId::Variant:
      throw unsupported("Variants in state");
    case TypeId::Array:
      return requireEncoding(*type.element());
    case TypeId::Map:
      requireEncoding(*type.key());
      return requireEncoding(*type.value());
    case TypeId::Struct:
      for (const StructField& field : type.fields()) requireEncoding(*field.type);
      return;
    default:
      return;
  }
}

BinaryRowEncoder::BinaryRowEncoder(std::vector<DataTypePtr> types, Floats floats)
    : types_(std::move(types)), floats_(floats) {
  for (const DataTypePtr& type : types_) requireEncoding(*type);
}

void BinaryRowEncoder::encode(const std::vector<std::shared_ptr<arrow::Array>>& columns, int64_t begin,
                              int64_t end, BinaryRows* out) const {
  THALWEG_ASSERT(columns.size() == types_.size() && begin <= end);
  const ValueWriter writer{floats_ == Floats::Normalize};
  const size_t numFields = types_.size();
  const auto numRows = static_cast<size_t>(end - begin);
  std::vector<size_t> cursors(numRows,
                              fixedBytes(numFields));  // sizes first, then each row's place for the next tail
  for (size_t c = 0; c < numFields; ++c) addTailBytes(writer, *types_[c], *columns[c], begin, cursors);

  const size_t firstRow = out->size();
  out->offsets_.reserve(firstRow + numRows + 1);
  for (size_t& size : cursors) {
    if (size > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
      throw unsupported("A state row of more than 2 GB");
    out->offsets_.push_back(out->offsets_.back() + size);
    size = fixedBytes(numFields);
  }
  out->bytes_.resize(out->offsets_.back());  // zeroes, which padding and null fields rely on

  for (size_t c = 0; c < numFields; ++c) {
    for (size_t i = 0; i < numRows; ++i) {
      char* row = out->bytes_.data() + out->offsets_[firstRow + i];
      writer.writeField(*types_[c], *columns[c], begin + static_cast<int64_t>(i), row, numFields, c,
                        &cursors[i]);
    }
  }
}

}  // namespace thalweg
