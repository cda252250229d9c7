#include "formats/parquet/column_conversion.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/compute/cast.h>
#include <arrow/util/key_value_metadata.h>

#include "common/options.h"
#include "formats/parquet/parquet_error.h"
#include "types/array_types.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

std::optional<int32_t> fieldIdOf(const arrow::Field& field) {
  if (!field.metadata()) return std::nullopt;
  const auto text = field.metadata()->Get("PARQUET:field_id");
  if (!text.ok()) return std::nullopt;
  return std::atoi(text->c_str());
}

// Digits before the point that numbers of an integer type may have, as Spark counts them by the integer that
// the file stores.
int integerDigits(const arrow::DataType& type) {
  if (type.id() == arrow::Type::INT64) return 20;
  return arrow::is_signed_integer(type.id()) ? 10 : 0;
}

bool fitsDecimal(const arrow::DataType& from, const arrow::DataType& to) {
  const auto& decimal = static_cast<const arrow::DecimalType&>(to);
  const int whole = decimal.precision() - decimal.scale();
  if (const int digits = integerDigits(from)) return whole >= digits;
  if (from.id() == arrow::Type::UINT64) return decimal.precision() == 20 && decimal.scale() == 0;
  if (!arrow::is_decimal(from.id())) return false;
  const auto& stored = static_cast<const arrow::DecimalType&>(from);
  return decimal.scale() >= stored.scale() && whole >= stored.precision() - stored.scale();
}

// Whether every value of one Arrow type is a value of the other: type widening's table, and encodings of one
// type.
bool isLossless(const arrow::DataType& from, const arrow::DataType& to) {
  using arrow::Type;
  const Type::type target = to.id();
  if (target == Type::DECIMAL128) return fitsDecimal(from, to);
  switch (from.id()) {
    case Type::INT8:
      return target == Type::INT16 || target == Type::INT32 || target == Type::INT64 ||
             target == Type::DOUBLE;
    case Type::INT16:
      return target == Type::INT32 || target == Type::INT64 || target == Type::DOUBLE;
    case Type::INT32:
      return target == Type::INT64 || target == Type::DOUBLE || target == Type::INT16 || target == Type::INT8;
    case Type::UINT8:
      return target == Type::INT16 || target == Type::INT32 || target == Type::INT64;
    case Type::UINT16:
      return target == Type::INT32 || target == Type::INT64;
    case Type::UINT32:
      return target == Type::INT64;
    case Type::FLOAT:
      return target == Type::DOUBLE;
    case Type::DATE32:
      return target == Type::TIMESTAMP && static_cast<const arrow::TimestampType&>(to).timezone().empty();
    case Type::FIXED_SIZE_BINARY:
      return target == Type::BINARY;
    case Type::DICTIONARY:
      return true;
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
      return target == Type::STRING || target == Type::BINARY;
    default:
      return false;
  }
}

// The integers that the file stores for dates and times; null for other types.
std::shared_ptr<arrow::DataType> storedInteger(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::DATE32:
    case arrow::Type::TIME32:
      return arrow::int32();
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::DURATION:
      return arrow::int64();
    default:
      return nullptr;
  }
}

bool isNanoseconds(const arrow::DataType& type) {
  return static_cast<const arrow::TimestampType&>(type).unit() == arrow::TimeUnit::NANO;
}

std::shared_ptr<arrow::Buffer> validityOf(const arrow::Array& array, arrow::MemoryPool* pool,
                                          const std::string& path) {
  if (array.null_count() == 0) return nullptr;
  if (array.offset() == 0) return array.null_bitmap();
  return checkRead(
      arrow::internal::CopyBitmap(pool, array.null_bitmap_data(), array.offset(), array.length()), path);
}

// Which of the two is meant cannot be known.
Error ambiguousColumn(const std::string& first, const std::string& second, const std::string& path) {
  return Error(
      "FAILED_READ_FILE.NO_HINT",
      fmt::format("The Parquet file {} has a column {} and a column {}, which are one where case does "
                  "not count: rename one, or tell them apart with the setting spark.sql.caseSensitive.",
                  path, first, second),
      {{"path", path}});
}

}  // namespace

int findField(const arrow::FieldVector& fields, const StructField& wanted,
              ParquetReadOptions::ColumnMatching matching, const std::string& path) {
  using Matching = ParquetReadOptions::ColumnMatching;
  const std::optional<int32_t> id = matching == Matching::FieldId ? parquetFieldId(wanted) : std::nullopt;
  const auto matches = [&](const arrow::Field& field) {
    if (id) return fieldIdOf(field) == id;
    if (matching == Matching::IgnoreCase) return equalsIgnoreCase(field.name(), wanted.name);
    return field.name() == wanted.name;
  };
  const auto first = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return matches(*f); });
  if (first == fields.end()) return -1;
  if (!id && matching == Matching::IgnoreCase) {
    const auto second = std::find_if(first + 1, fields.end(), [&](const auto& f) { return matches(*f); });
    if (second != fields.end()) throw ambiguousColumn((*first)->name(), (*second)->name(), path);
  }
  return static_cast<int>(first - fields.begin());
}

std::shared_ptr<arrow::Array> ColumnConversion::convert(const std::shared_ptr<arrow::Array>& array,
                                                        const DataType& wanted,
                                                        const std::string& column) const {
  const arrow::Type::type id = array->type_id();
  if (wanted.id() == TypeId::Struct && id == arrow::Type::STRUCT)
    return convertStruct(*array, wanted, column);
  if (wanted.id() == TypeId::Variant && id == arrow::Type::STRUCT)
    return convertVariant(*array, wanted, column);
  if (wanted.id() == TypeId::Array && id == arrow::Type::LIST) return convertList(*array, wanted, column);
  if (wanted.id() == TypeId::Map && id == arrow::Type::MAP) return convertMap(*array, wanted, column);
  return convertLeaf(array, wanted, column);
}

std::shared_ptr<arrow::Array> ColumnConversion::convertStruct(const arrow::Array& array,
                                                              const DataType& wanted,
                                                              const std::string& column) const {
  const auto& rows = static_cast<const arrow::StructArray&>(array);
  arrow::ArrayVector children;
  for (const StructField& field : wanted.fields()) {
    const int index = findField(rows.struct_type()->fields(), field, matching, *path);
    if (index >= 0) {
      children.push_back(convert(rows.field(index), *field.type, column + "." + field.name));
    } else {
      children.push_back(
          checkRead(arrow::MakeArrayOfNull(toArrowType(*field.type), rows.length(), memoryPool), *path));
    }
  }
  return std::make_shared<arrow::StructArray>(toArrowType(wanted), rows.length(), std::move(children),
                                              validityOf(rows, memoryPool, *path));
}

std::shared_ptr<arrow::Array> ColumnConversion::convertVariant(const arrow::Array& array,
                                                               const DataType& wanted,
                                                               const std::string& column) const {
  if (static_cast<const arrow::StructType&>(*array.type()).GetFieldIndex("typed_value") >= 0) {
    throw unsupported("reading the shredded variant column " + column + " of " + *path);
  }
  const auto parts = DataType::structOf({{"value", binaryType()}, {"metadata", binaryType()}});
  return arrow::MakeArray(retype(convertStruct(array, *parts, column)->data(), toArrowType(wanted)));
}

std::shared_ptr<arrow::Array> ColumnConversion::convertList(const arrow::Array& array, const DataType& wanted,
                                                            const std::string& column) const {
  const auto& lists = static_cast<const arrow::ListArray&>(array);
  const auto elements = convert(lists.values(), *wanted.element(), column + ".element");
  auto data = lists.data()->Copy();
  data->type = toArrowType(wanted);
  data->child_data = {elements->data()};
  return arrow::MakeArray(data);
}

std::shared_ptr<arrow::Array> ColumnConversion::convertMap(const arrow::Array& array, const DataType& wanted,
                                                           const std::string& column) const {
  const auto& maps = static_cast<const arrow::MapArray&>(array);
  const auto keys = convert(maps.keys(), *wanted.key(), column + ".key");
  const auto values = convert(maps.items(), *wanted.value(), column + ".value");
  const auto type = toArrowType(wanted);
  auto data = maps.data()->Copy();
  const auto& entriesType = static_cast<const arrow::MapType&>(*type).value_type();
  data->type = type;
  data->child_data = {
      std::make_shared<arrow::StructArray>(entriesType, keys->length(), arrow::ArrayVector{keys, values})
          ->data()};
  return arrow::MakeArray(data);
}

std::shared_ptr<arrow::Array> ColumnConversion::toMicroseconds(const arrow::Array& array,
                                                               const std::shared_ptr<arrow::DataType>& type,
                                                               const std::string& column) const {
  const auto unit = static_cast<const arrow::TimestampType&>(*array.type()).unit();
  const int64_t factor = unit == arrow::TimeUnit::MILLI ? 1000 : 1'000'000;
  const auto* values = static_cast<const arrow::TimestampArray&>(array).raw_values();
  auto buffer = checkRead(arrow::AllocateBuffer(array.length() * 8, memoryPool), *path);
  auto* micros = reinterpret_cast<int64_t*>(buffer->mutable_data());
  for (int64_t i = 0; i < array.length(); ++i) {
    if (__builtin_mul_overflow(values[i], factor, &micros[i]) && array.IsValid(i))
      throw parquetReadError(*path, "a timestamp of column " + column + " is out of range");
  }
  return arrow::MakeArray(arrow::ArrayData::Make(
      type, array.length(), {validityOf(array, memoryPool, *path), std::move(buffer)}, array.null_count()));
}

// Null where the wanted type is no integer that the file may have stored.
std::shared_ptr<arrow::Array> ColumnConversion::asStoredInteger(
    const std::shared_ptr<arrow::Array>& array, const std::shared_ptr<arrow::DataType>& type) const {
  const auto stored = storedInteger(*array->type());
  if (array->type_id() == arrow::Type::INT32 && type->id() == arrow::Type::DATE32)
    return checkRead(array->View(type), *path);
  if (!stored || (type->id() != arrow::Type::INT64 && type->id() != stored->id())) return nullptr;
  if (type->id() != arrow::Type::INT32 && type->id() != arrow::Type::INT64) return nullptr;
  if (array->type_id() == arrow::Type::TIMESTAMP && hasInt96) return nullptr;
  const auto integers = checkRead(array->View(stored), *path);
  arrow::compute::ExecContext context(memoryPool);
  return checkRead(arrow::compute::Cast(*integers, type, arrow::compute::CastOptions::Safe(type), &context),
                   *path);
}

std::shared_ptr<arrow::Array> ColumnConversion::convertLeaf(const std::shared_ptr<arrow::Array>& array,
                                                            const DataType& wanted,
                                                            const std::string& column) const {
  const auto type = toArrowType(wanted);
  if (type->id() == arrow::Type::NA || array->type_id() == arrow::Type::NA) {
    return checkRead(arrow::MakeArrayOfNull(type, array->length(), memoryPool), *path);
  }
  if (const auto same = retype(array->data(), type)) return arrow::MakeArray(same);
  const bool bothTimestamps =
      type->id() == arrow::Type::TIMESTAMP && array->type_id() == arrow::Type::TIMESTAMP;
  if (bothTimestamps && !isNanoseconds(*array->type())) return toMicroseconds(*array, type, column);
  if (auto integers = asStoredInteger(array, type)) return integers;
  if (isLossless(*array->type(), *type)) {
    arrow::compute::CastOptions options = arrow::compute::CastOptions::Safe(type);
    options.allow_invalid_utf8 = true;
    arrow::compute::ExecContext context(memoryPool);
    return checkRead(arrow::compute::Cast(*array, type, options, &context), *path);
  }
  throw Error(
      "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
      fmt::format("Column {} of the Parquet file {} is {}, and the schema says {}: read it as what it is, or "
                  "write the file again.",
                  column, *path, array->type()->ToString(), wanted.simpleString()),
      {{"path", *path},
       {"column", column},
       {"expectedType", wanted.simpleString()},
       {"actualType", array->type()->ToString()}});
}

}  // namespace thalweg
