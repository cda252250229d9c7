#include "columnar/key_encoder.h"

#include <bit>
#include <cstring>

#include <arrow/api.h>

#include "columnar/normalized_floats.h"
#include "common/big_endian.h"
#include "common/error.h"

namespace thalweg {
namespace {

constexpr char kNullFirst = 0x00;
constexpr char kValue = 0x01;
constexpr char kNullLast = 0x02;

// Two's complement with the sign bit flipped orders as unsigned bytes.
template <typename Signed>
void appendSigned(Signed value, std::string* out) {
  using Unsigned = std::make_unsigned_t<Signed>;
  appendBigEndian(static_cast<Unsigned>(static_cast<Unsigned>(value) ^ (Unsigned{1} << (sizeof(Signed) * 8 - 1))), out);
}

template <typename Float, typename Unsigned>
void appendFloating(Float value, std::string* out) {
  auto bits = std::bit_cast<Unsigned>(normalizedFloat(value));  // NaN is above infinity
  constexpr Unsigned kSign = Unsigned{1} << (sizeof(Unsigned) * 8 - 1);
  bits = (bits & kSign) ? ~bits : bits | kSign;
  appendBigEndian(bits, out);
}

// Zero bytes are escaped so that a shorter text sorts before its continuation.
void appendBytes(std::string_view bytes, std::string* out) {
  for (char c : bytes) {
    out->push_back(c);
    if (c == 0) out->push_back(static_cast<char>(0xff));
  }
  out->push_back(0);
  out->push_back(0);
}

void appendValue(const DataType& type, const arrow::Array& array, int64_t row, std::string* out);

void appendElement(const DataType& type, const arrow::Array& array, int64_t row, std::string* out) {
  if (array.IsNull(row)) {
    out->push_back(kNullFirst);
    return;
  }
  out->push_back(kValue);
  appendValue(type, array, row, out);
}

void appendValue(const DataType& type, const arrow::Array& array, int64_t row, std::string* out) {
  switch (type.id()) {
    case TypeId::Void: return;
    case TypeId::Boolean: out->push_back(static_cast<const arrow::BooleanArray&>(array).Value(row) ? 1 : 0); return;
    case TypeId::Byte: return appendSigned(static_cast<const arrow::Int8Array&>(array).Value(row), out);
    case TypeId::Short: return appendSigned(static_cast<const arrow::Int16Array&>(array).Value(row), out);
    case TypeId::Int: return appendSigned(static_cast<const arrow::Int32Array&>(array).Value(row), out);
    case TypeId::YearMonthInterval: return appendSigned(static_cast<const arrow::MonthIntervalArray&>(array).Value(row), out);
    case TypeId::Date: return appendSigned(static_cast<const arrow::Date32Array&>(array).Value(row), out);
    case TypeId::Long: return appendSigned(static_cast<const arrow::Int64Array&>(array).Value(row), out);
    case TypeId::Timestamp:
    case TypeId::TimestampNtz: return appendSigned(static_cast<const arrow::TimestampArray&>(array).Value(row), out);
    case TypeId::DayTimeInterval: return appendSigned(static_cast<const arrow::DurationArray&>(array).Value(row), out);
    case TypeId::Float:
      return appendFloating<float, uint32_t>(static_cast<const arrow::FloatArray&>(array).Value(row), out);
    case TypeId::Double:
      return appendFloating<double, uint64_t>(static_cast<const arrow::DoubleArray&>(array).Value(row), out);
    case TypeId::Decimal: {
      const arrow::Decimal128 value(static_cast<const arrow::Decimal128Array&>(array).GetValue(row));
      appendSigned(value.high_bits(), out);
      appendBigEndian(static_cast<uint64_t>(value.low_bits()), out);
      return;
    }
    case TypeId::String:
    case TypeId::Binary: return appendBytes(static_cast<const arrow::BinaryArray&>(array).GetView(row), out);
    case TypeId::Struct: {
      const auto& values = static_cast<const arrow::StructArray&>(array);
      for (size_t i = 0; i < type.fields().size(); ++i) {
        appendElement(*type.fields()[i].type, *values.field(static_cast<int>(i)), row, out);
      }
      return;
    }
    case TypeId::Array: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i) {
        out->push_back(1);
        appendElement(*type.element(), *list.values(), i, out);
      }
      out->push_back(0);
      return;
    }
    default: THALWEG_ASSERT(false);
  }
}

bool hasOrder(const DataType& type) {
  switch (type.id()) {
    case TypeId::Map:
    case TypeId::Variant:
    case TypeId::CalendarInterval: return false;
    case TypeId::Array: return hasOrder(*type.element());
    case TypeId::Struct:
      for (const StructField& field : type.fields()) {
        if (!hasOrder(*field.type)) return false;
      }
      return true;
    default: return true;
  }
}

}  // namespace

KeyEncoder::KeyEncoder(std::vector<KeyColumn> columns) : columns_(std::move(columns)) {
  for (const KeyColumn& column : columns_) {
    if (hasOrder(*column.type)) continue;
    throw Error("DATATYPE_MISMATCH.INVALID_ORDERING_TYPE",
                "Values of type " + column.type->sqlString() + " have no order: they cannot be grouped or sorted by.",
                {{"dataType", "\"" + column.type->sqlString() + "\""}, {"functionName", "`sortorder`"}, {"sqlExpr", ""}});
  }
}

void KeyEncoder::append(const std::vector<std::shared_ptr<arrow::Array>>& arrays, int64_t row, std::string* out) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const KeyColumn& column = columns_[i];
    if (arrays[i]->IsNull(row)) {
      out->push_back(column.nullsFirst ? kNullFirst : kNullLast);
      continue;
    }
    out->push_back(kValue);
    const size_t start = out->size();
    appendValue(*column.type, *arrays[i], row, out);
    if (!column.ascending) {
      for (size_t at = start; at < out->size(); ++at) (*out)[at] = static_cast<char>(~(*out)[at]);
    }
  }
}

}  // namespace thalweg
