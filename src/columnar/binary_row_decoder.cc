#include <algorithm>

#include <arrow/api.h>

#include "columnar/binary_row.h"
#include "columnar/binary_row_layout.h"
#include "common/error.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

using namespace binary_row;

struct Malformed {
  const char* reason;
};

void require(bool condition, const char* reason) {
  if (!condition) throw Malformed{reason};
}

int nestingDepth(const DataType& type) {
  switch (type.id()) {
    case TypeId::Array:
      return 1 + nestingDepth(*type.element());
    case TypeId::Map:
      return 1 + std::max(nestingDepth(*type.key()), nestingDepth(*type.value()));
    case TypeId::Struct: {
      int deepest = 0;
      for (const StructField& field : type.fields()) deepest = std::max(deepest, nestingDepth(*field.type));
      return 1 + deepest;
    }
    default:
      return 1;
  }
}

template <typename Builder>
Builder& as(arrow::ArrayBuilder* builder) {
  return static_cast<Builder&>(*builder);
}

// Values of one row into builders. `budget` is what remains of the bytes that the row's values may cover: in
// an honest row values of one level do not overlap, so that all levels together cover at most depth × size.
// It keeps a row whose offsets point to the same bytes again and again from growing without bound.
struct ValueReader {
  size_t budget;

  std::string_view variableAt(std::string_view container, const char* slot) {
    const auto word = load<uint64_t>(slot);
    const size_t offset = word >> 32, size = word & 0xFFFFFFFFu;
    require(offset <= container.size() && size <= container.size() - offset, "a value lies outside its row");
    require(size <= budget, "values overlap");
    budget -= size;
    return container.substr(offset, size);
  }

  void appendFixed(const DataType& type, const char* slot, arrow::ArrayBuilder* builder) {
    using namespace arrow;
    switch (type.id()) {
      case TypeId::Void:
        return throwIfFailed(as<NullBuilder>(builder).AppendNull());
      case TypeId::Boolean:
        return throwIfFailed(as<BooleanBuilder>(builder).Append(*slot != 0));
      case TypeId::Byte:
        return throwIfFailed(as<Int8Builder>(builder).Append(load<int8_t>(slot)));
      case TypeId::Short:
        return throwIfFailed(as<Int16Builder>(builder).Append(load<int16_t>(slot)));
      case TypeId::Int:
        return throwIfFailed(as<Int32Builder>(builder).Append(load<int32_t>(slot)));
      case TypeId::Date:
        return throwIfFailed(as<Date32Builder>(builder).Append(load<int32_t>(slot)));
      case TypeId::YearMonthInterval:
        return throwIfFailed(as<MonthIntervalBuilder>(builder).Append(load<int32_t>(slot)));
      case TypeId::Long:
        return throwIfFailed(as<Int64Builder>(builder).Append(load<int64_t>(slot)));
      case TypeId::Timestamp:
      case TypeId::TimestampNtz:
        return throwIfFailed(as<TimestampBuilder>(builder).Append(load<int64_t>(slot)));
      case TypeId::DayTimeInterval:
        return throwIfFailed(as<DurationBuilder>(builder).Append(load<int64_t>(slot)));
      case TypeId::Float:
        return throwIfFailed(as<FloatBuilder>(builder).Append(load<float>(slot)));
      case TypeId::Double:
        return throwIfFailed(as<DoubleBuilder>(builder).Append(load<double>(slot)));
      case TypeId::Decimal:
        return appendDecimal(type, Decimal128(load<int64_t>(slot)), builder);
      default:
        THALWEG_ASSERT(!"a type without a fixed form");
    }
  }

  void appendDecimal(const DataType& type, const arrow::Decimal128& value, arrow::ArrayBuilder* builder) {
    require(value.FitsInPrecision(type.precision()), "a decimal has more digits than its type");
    throwIfFailed(as<arrow::Decimal128Builder>(builder).Append(value));
  }

  void appendVariable(const DataType& type, std::string_view bytes, arrow::ArrayBuilder* builder) {
    using namespace arrow;
    switch (type.id()) {
      case TypeId::String:
      case TypeId::Binary:
        return throwIfFailed(
            as<BinaryBuilder>(builder).Append(bytes.data(), static_cast<int32_t>(bytes.size())));
      case TypeId::Decimal: {
        require(!bytes.empty() && bytes.size() <= 16, "a decimal has no or too many bytes");
        const auto* big = reinterpret_cast<const uint8_t*>(bytes.data());
        return appendDecimal(
            type, valueOrThrow(Decimal128::FromBigEndian(big, static_cast<int32_t>(bytes.size()))), builder);
      }
      case TypeId::CalendarInterval:
        return appendInterval(bytes, builder);
      case TypeId::Struct: {
        auto& rows = as<StructBuilder>(builder);
        throwIfFailed(rows.Append());
        requireRow(bytes, type.fields().size());
        for (size_t i = 0; i < type.fields().size(); ++i) {
          appendField(*type.fields()[i].type, bytes, type.fields().size(), i,
                      rows.field_builder(static_cast<int>(i)));
        }
        return;
      }
      case TypeId::Array: {
        auto& lists = as<ListBuilder>(builder);
        throwIfFailed(lists.Append());
        return appendElements(*type.element(), bytes, lists.value_builder());
      }
      case TypeId::Map:
        return appendMap(type, bytes, builder);
      default:
        THALWEG_ASSERT(!"a type without a variable form");
    }
  }

  void appendInterval(std::string_view bytes, arrow::ArrayBuilder* builder) {
    require(bytes.size() == 16, "a calendar interval has not 16 bytes");
    const auto micros = load<int64_t>(bytes.data() + 8);
    int64_t nanos;
    require(!__builtin_mul_overflow(micros, int64_t{1000}, &nanos), "a calendar interval is out of range");
    throwIfFailed(as<arrow::MonthDayNanoIntervalBuilder>(builder).Append(
        {load<int32_t>(bytes.data()), load<int32_t>(bytes.data() + 4), nanos}));
  }

  void appendMap(const DataType& type, std::string_view bytes, arrow::ArrayBuilder* builder) {
    auto& maps = as<arrow::MapBuilder>(builder);
    throwIfFailed(maps.Append());
    require(bytes.size() >= 8, "a map is cut short");
    const auto keyBytes = load<uint64_t>(bytes.data());
    require(keyBytes <= bytes.size() - 8, "a map's keys lie outside it");
    const std::string_view keys = bytes.substr(8, keyBytes), values = bytes.substr(8 + keyBytes);
    require(keys.size() >= 8 && values.size() >= 8 &&
                load<uint64_t>(keys.data()) == load<uint64_t>(values.data()),
            "a map has not as many values as keys");
    const int64_t nullsBefore = maps.key_builder()->null_count();
    appendElements(*type.key(), keys, maps.key_builder());
    require(maps.key_builder()->null_count() == nullsBefore, "a map has a null key");
    appendElements(*type.value(), values, maps.item_builder());
  }

  static void requireRow(std::string_view row, size_t numFields) {
    require(row.size() >= fixedBytes(numFields) && row.size() % 8 == 0,
            "a row's size does not fit its fields");
  }

  // A field of a row that requireRow has passed.
  void appendField(const DataType& type, std::string_view row, size_t numFields, size_t ordinal,
                   arrow::ArrayBuilder* builder) {
    if (isNull(row.data(), ordinal)) return throwIfFailed(builder->AppendNull());
    const char* slot = row.data() + bitsetBytes(numFields) + 8 * ordinal;
    if (isVariable(type))
      appendVariable(type, variableAt(row, slot), builder);
    else
      appendFixed(type, slot, builder);
  }

  void appendElements(const DataType& type, std::string_view array, arrow::ArrayBuilder* builder) {
    require(array.size() >= 8, "an array is cut short");
    const auto count = load<uint64_t>(array.data());
    const size_t width = elementWidth(type);
    require(count <= array.size() / width, "an array has more elements than bytes");
    const size_t slots = 8 + bitsetBytes(count);
    require(slots + count * width <= array.size(), "an array is cut short");
    throwIfFailed(builder->Reserve(static_cast<int64_t>(count)));
    for (size_t i = 0; i < count; ++i) {
      const char* slot = array.data() + slots + i * width;
      if (isNull(array.data() + 8, i))
        throwIfFailed(builder->AppendNull());
      else if (isVariable(type))
        appendVariable(type, variableAt(array, slot), builder);
      else
        appendFixed(type, slot, builder);
    }
  }
};

// Eight-byte fields, the most common ones, in a loop of their own.
template <typename Builder>
void appendLongs(std::span<const std::string_view> rows, size_t numFields, size_t ordinal,
                 arrow::ArrayBuilder* builder) {
  auto& longs = as<Builder>(builder);
  const size_t slot = bitsetBytes(numFields) + 8 * ordinal;
  for (const std::string_view row : rows) {
    if (isNull(row.data(), ordinal))
      longs.UnsafeAppendNull();
    else
      longs.UnsafeAppend(load<int64_t>(row.data() + slot));
  }
}

}  // namespace

BinaryRowDecoder::BinaryRowDecoder(std::vector<DataTypePtr> types, Role role, arrow::MemoryPool* pool)
    : types_(std::move(types)), role_(role) {
  for (const DataTypePtr& type : types_) {
    requireEncoding(*type);
    depths_.push_back(nestingDepth(*type));
    builders_.push_back(valueOrThrow(arrow::MakeBuilder(toArrowType(*type), pool)));
  }
}

BinaryRowDecoder::~BinaryRowDecoder() = default;

void BinaryRowDecoder::append(std::span<const std::string_view> rows) try {
  const size_t numFields = types_.size();
  for (const std::string_view row : rows) ValueReader::requireRow(row, numFields);
  for (size_t c = 0; c < numFields; ++c) {
    const DataType& type = *types_[c];
    arrow::ArrayBuilder* builder = builders_[c].get();
    throwIfFailed(builder->Reserve(static_cast<int64_t>(rows.size())));
    if (type.id() == TypeId::Long) {
      appendLongs<arrow::Int64Builder>(rows, numFields, c, builder);
    } else if (type.id() == TypeId::Timestamp || type.id() == TypeId::TimestampNtz) {
      appendLongs<arrow::TimestampBuilder>(rows, numFields, c, builder);
    } else {
      for (const std::string_view row : rows) {
        ValueReader reader{row.size() * static_cast<size_t>(depths_[c])};
        reader.appendField(type, row, numFields, c, builder);
      }
    }
  }
} catch (const Malformed& malformed) {
  const bool key = role_ == Role::Key;
  throw Error(key ? "STATE_STORE_KEY_ROW_FORMAT_VALIDATION_FAILURE"
                  : "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE",
              std::string("A state ") + (key ? "key" : "value") +
                  " does not have the form of its schema: " + malformed.reason +
                  ". The query's stateful operators may differ from those that wrote the checkpoint, or the "
                  "file is damaged.",
              {{"errorMsg", malformed.reason}});
}

std::vector<std::shared_ptr<arrow::Array>> BinaryRowDecoder::finish() {
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (const auto& builder : builders_) columns.push_back(valueOrThrow(builder->Finish()));
  return columns;
}

}  // namespace thalweg
