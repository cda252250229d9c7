// Columns are written one after the other over all rows: first the sizes, then each column's fields and
// tails.
#include <algorithm>
#include <bit>
#include <limits>

#include <arrow/api.h>

#include "columnar/binary_row.h"
#include "columnar/binary_row_layout.h"
#include "columnar/decimal_bytes.h"
#include "columnar/normalized_floats.h"
#include "common/error.h"

namespace thalweg {

std::vector<DataTypePtr> fieldTypes(const Schema& schema) {
  std::vector<DataTypePtr> types;
  for (const StructField& field : schema.fields()) types.push_back(field.type);
  return types;
}

namespace {

using namespace binary_row;

// An array and those inside it, which Arrow would make anew at each request. The array outlives it.
struct Column {
  Column(const DataType& columnType, const arrow::Array& columnArray) : type(columnType), array(columnArray) {
    switch (type.id()) {
      case TypeId::Struct:
        for (size_t i = 0; i < type.fields().size(); ++i) {
          const auto& fields = static_cast<const arrow::StructArray&>(array);
          inner.emplace_back(*type.fields()[i].type, *fields.field(static_cast<int>(i)));
        }
        return;
      case TypeId::Array:
        inner.emplace_back(*type.element(), *static_cast<const arrow::ListArray&>(array).values());
        return;
      case TypeId::Map:
        inner.emplace_back(*type.key(), *static_cast<const arrow::MapArray&>(array).keys());
        inner.emplace_back(*type.value(), *static_cast<const arrow::MapArray&>(array).items());
        return;
      default:
        return;
    }
  }

  const DataType& type;
  const arrow::Array& array;
  std::vector<Column> inner;  // fields, elements, or keys and values
};

// Values of one type, written where the caller says: the part of the encoder that nested values share.
struct ValueWriter {
  bool normalizeFloats;

  // A value that is not in the tail, into `slot` of `width` zeroed bytes.
  void writeFixed(const Column& column, int64_t row, char* slot) const {
    const arrow::Array& array = column.array;
    switch (column.type.id()) {
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
        THALWEG_ASSERT(column.type.id() == TypeId::Void);
    }
  }

  template <typename Float>
  Float kept(Float value) const {
    return normalizeFloats ? normalizedFloat(value) : value;
  }

  // Bytes that a variable value takes in the tail, padding included.
  size_t tailBytes(const Column& column, int64_t row) const {
    switch (column.type.id()) {
      case TypeId::String:
      case TypeId::Binary:
        return roundUp8(static_cast<size_t>(static_cast<const arrow::BinaryArray&>(column.array).value_length(row)));
      case TypeId::Struct:
        return structBytes(column, row);
      case TypeId::Array: {
        const auto& list = static_cast<const arrow::ListArray&>(column.array);
        return listBytes(column.inner[0], list.value_offset(row), list.value_length(row));
      }
      case TypeId::Map: {
        const auto& map = static_cast<const arrow::MapArray&>(column.array);
        return 8 + listBytes(column.inner[0], map.value_offset(row), map.value_length(row)) +
               listBytes(column.inner[1], map.value_offset(row), map.value_length(row));
      }
      case TypeId::Decimal: {
        char bytes[16];
        return roundUp8(shortestBigEndian(
            arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(column.array).GetValue(row)), bytes));
      }
      default:
        return 16;
    }
  }

  size_t structBytes(const Column& column, int64_t row) const {
    size_t bytes = fixedBytes(column.inner.size());
    for (const Column& field : column.inner) {
      if (!isVariable(field.type)) continue;
      if (isReserved16(field.type))
        bytes += 16;
      else if (field.array.IsValid(row))
        bytes += tailBytes(field, row);
    }
    return bytes;
  }

  size_t listBytes(const Column& elements, int64_t first, int64_t count) const {
    const auto numElements = static_cast<size_t>(count);
    size_t bytes = 8 + bitsetBytes(numElements) + roundUp8(numElements * elementWidth(elements.type));
    if (!isVariable(elements.type)) return bytes;
    for (int64_t i = first; i < first + count; ++i) {
      if (elements.array.IsValid(i)) bytes += tailBytes(elements, i);
    }
    return bytes;
  }

  // A variable value's bytes at `out` (zeroed); its size without padding.
  size_t writeTail(const Column& column, int64_t row, char* out) const {
    switch (column.type.id()) {
      case TypeId::String:
      case TypeId::Binary: {
        const std::string_view view = static_cast<const arrow::BinaryArray&>(column.array).GetView(row);
        std::memcpy(out, view.data(), view.size());
        return view.size();
      }
      case TypeId::Struct:
        return writeStruct(column, row, out);
      case TypeId::Array: {
        const auto& list = static_cast<const arrow::ListArray&>(column.array);
        return writeList(column.inner[0], list.value_offset(row), list.value_length(row), out);
      }
      case TypeId::Map: {
        const auto& map = static_cast<const arrow::MapArray&>(column.array);
        const size_t keys = writeList(column.inner[0], map.value_offset(row), map.value_length(row), out + 8);
        store(out, uint64_t{keys});
        return 8 + keys + writeList(column.inner[1], map.value_offset(row), map.value_length(row), out + 8 + keys);
      }
      case TypeId::Decimal:
        return shortestBigEndian(
            arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(column.array).GetValue(row)), out);
      default: {
        const auto value = static_cast<const arrow::MonthDayNanoIntervalArray&>(column.array).GetValue(row);
        store(out, value.months);
        store(out + 4, value.days);
        store(out + 8, value.nanoseconds / 1000);
        return 16;
      }
    }
  }

  // A field of a row that begins at `row`: its slot and, from *cursor on, its tail.
  void writeField(const Column& column, int64_t index, char* row, size_t numFields, size_t ordinal,
                  size_t* cursor) const {
    char* slot = row + bitsetBytes(numFields) + 8 * ordinal;
    const bool null = column.array.IsNull(index);
    if (null) setNull(row, ordinal);
    if (!isVariable(column.type)) {
      if (!null) writeFixed(column, index, slot);
      return;
    }
    const bool reserved = isReserved16(column.type);
    if (null && !reserved) return;
    // Null reserved values have a place too; their size is as Spark's writer leaves it.
    const size_t size = null ? (column.type.id() == TypeId::CalendarInterval ? 16 : 0)
                             : writeTail(column, index, row + *cursor);
    store(slot, offsetAndSize(*cursor, size));
    *cursor += reserved ? 16 : roundUp8(size);
  }

  size_t writeStruct(const Column& column, int64_t row, char* out) const {
    const size_t numFields = column.inner.size();
    size_t cursor = fixedBytes(numFields);
    for (size_t i = 0; i < numFields; ++i) writeField(column.inner[i], row, out, numFields, i, &cursor);
    return cursor;
  }

  size_t writeList(const Column& elements, int64_t first, int64_t count, char* out) const {
    const auto numElements = static_cast<size_t>(count);
    const size_t width = elementWidth(elements.type);
    store(out, uint64_t{numElements});
    char* bitset = out + 8;
    char* slots = bitset + bitsetBytes(numElements);
    size_t cursor = static_cast<size_t>(slots - out) + roundUp8(numElements * width);
    for (size_t i = 0; i < numElements; ++i) {
      const int64_t at = first + static_cast<int64_t>(i);
      if (elements.array.IsNull(at)) {
        setNull(bitset, i);
      } else if (!isVariable(elements.type)) {
        writeFixed(elements, at, slots + width * i);
      } else {
        const size_t size = writeTail(elements, at, out + cursor);
        store(slots + width * i, offsetAndSize(cursor, size));
        cursor += roundUp8(size);
      }
    }
    return cursor;
  }
};

// Adds what a column takes in the tails of its rows.
void addTailBytes(const ValueWriter& writer, const Column& column, int64_t begin, std::span<size_t> sizes) {
  if (!isVariable(column.type)) return;
  const bool reserved = isReserved16(column.type);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t row = begin + static_cast<int64_t>(i);
    if (reserved)
      sizes[i] += 16;
    else if (column.array.IsValid(row))
      sizes[i] += writer.tailBytes(column, row);
  }
}

// Is a value the eight bytes that Arrow has of it?
bool isWord(const DataType& type) {
  switch (type.id()) {
    case TypeId::Long:
    case TypeId::Timestamp:
    case TypeId::TimestampNtz:
    case TypeId::DayTimeInterval:
      return true;
    default:
      return false;
  }
}

// Of the columns of windows, start and end.
bool isStructOfWords(const Column& column) {
  return column.type.id() == TypeId::Struct && column.array.null_count() == 0 &&
         std::ranges::all_of(column.inner, [](const Column& field) { return isWord(field.type) && field.array.null_count() == 0; });
}

// Such a column's slots and, at the cursors, its rows in the tails: a field after the other over all rows.
template <typename RowAt>
void writeStructsOfWords(const Column& column, int64_t begin, size_t slot, std::vector<size_t>* cursors, RowAt rowAt) {
  const size_t size = fixedBytes(column.inner.size());
  for (size_t f = 0; f < column.inner.size(); ++f) {
    const int64_t* values = column.inner[f].array.data()->GetValues<int64_t>(1) + begin;
    const size_t place = bitsetBytes(column.inner.size()) + 8 * f;
    for (size_t i = 0; i < cursors->size(); ++i) store(rowAt(i) + (*cursors)[i] + place, values[i]);
  }
  for (size_t i = 0; i < cursors->size(); ++i) {
    store(rowAt(i) + slot, offsetAndSize((*cursors)[i], size));
    (*cursors)[i] += size;
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
  std::vector<Column> inputs;
  for (size_t c = 0; c < numFields; ++c) inputs.emplace_back(*types_[c], *columns[c]);
  std::vector<size_t> cursors(numRows,
                              fixedBytes(numFields));  // sizes first, then each row's place for the next tail
  for (const Column& column : inputs) addTailBytes(writer, column, begin, cursors);

  const size_t firstRow = out->size();
  out->offsets_.reserve(firstRow + numRows + 1);
  for (size_t& size : cursors) {
    if (size > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
      throw unsupported("A state row of more than 2 GB");
    out->offsets_.push_back(out->offsets_.back() + size);
    size = fixedBytes(numFields);
  }
  out->bytes_.resize(out->offsets_.back());  // zeroes, which padding and null fields rely on

  const auto rowAt = [&](size_t i) { return out->bytes_.data() + out->offsets_[firstRow + i]; };
  for (size_t c = 0; c < numFields; ++c) {
    const Column& column = inputs[c];
    const size_t slot = bitsetBytes(numFields) + 8 * c;
    if (isWord(column.type) && column.array.null_count() == 0) {
      const int64_t* values = column.array.data()->GetValues<int64_t>(1) + begin;
      for (size_t i = 0; i < numRows; ++i) store(rowAt(i) + slot, values[i]);
    } else if (isStructOfWords(column)) {
      writeStructsOfWords(column, begin, slot, &cursors, rowAt);
    } else {
      for (size_t i = 0; i < numRows; ++i)
        writer.writeField(column, begin + static_cast<int64_t>(i), rowAt(i), numFields, c, &cursors[i]);
    }
  }
}

}  // namespace thalweg
