#include "delta/snapshot/type_widening.h"

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "types/schema_json.h"

namespace thalweg::delta {
namespace {

using Json = nlohmann::json;

// Bytes of an integer, 0 for other types.
int integerBytes(const DataType& type) {
  switch (type.id()) {
    case TypeId::Byte:
      return 1;
    case TypeId::Short:
      return 2;
    case TypeId::Int:
      return 4;
    case TypeId::Long:
      return 8;
    default:
      return 0;
  }
}

bool holdsDigits(const DataType& decimal, int precision, int scale) {
  return decimal.scale() >= scale && decimal.precision() - decimal.scale() >= precision - scale;
}

// The type that a field of a schema's JSON names.
DataTypePtr parseType(const Json& type) {
  const Json schema = {
      {"type", "struct"},
      {"fields",
       Json::array({{{"name", "value"}, {"type", type}, {"nullable", true}, {"metadata", Json::object()}}})}};
  return parseSchemaJson(schema.dump())->fields()[0].type;
}

[[noreturn]] void throwBroken(const std::string& column, std::string_view table) {
  throw Error("DELTA_STATE_RECOVER_ERROR",
              "The schema of the Delta table " + std::string(table) + " says of its column " + column +
                  " that its type was changed, but not from what to what.",
              {{"operation", "delta.typeChanges"}, {"column", column}});
}

void checkField(const StructField& field, const std::string& column, std::string_view table) {
  const Json metadata = Json::parse(field.metadata, nullptr, /*allow_exceptions=*/false);
  if (!metadata.is_object() || !metadata.contains("delta.typeChanges")) return;
  const Json& changes = metadata["delta.typeChanges"];
  if (!changes.is_array()) throwBroken(column, table);
  for (const Json& change : changes) {
    if (!change.is_object() || !change.contains("fromType") || !change.contains("toType"))
      throwBroken(column, table);
    const DataTypePtr from = parseType(change["fromType"]);
    const DataTypePtr to = parseType(change["toType"]);
    if (isSupportedTypeChange(*from, *to)) continue;
    throw Error("DELTA_UNSUPPORTED_TYPE_CHANGE_IN_SCHEMA",
                "The Delta table " + std::string(table) + " cannot be read: its column " + column +
                    " was changed from " + from->sqlString() + " to " + to->sqlString() +
                    ", which no reader supports.",
                {{"fieldName", column}, {"fromType", from->sqlString()}, {"toType", to->sqlString()}});
  }
}

void check(const DataType& type, const std::string& prefix, std::string_view table) {
  switch (type.id()) {
    case TypeId::Struct:
      for (const StructField& field : type.fields()) {
        const std::string column = prefix.empty() ? field.name : prefix + "." + field.name;
        checkField(field, column, table);
        check(*field.type, column, table);
      }
      break;
    case TypeId::Array:
      check(*type.element(), prefix + ".element", table);
      break;
    case TypeId::Map:
      check(*type.key(), prefix + ".key", table);
      check(*type.value(), prefix + ".value", table);
      break;
    default:
      break;
  }
}

}  // namespace

bool isSupportedTypeChange(const DataType& from, const DataType& to) {
  if (equals(from, to)) return true;
  const int fromBytes = integerBytes(from);
  const int toBytes = integerBytes(to);
  if (fromBytes > 0 && toBytes > 0) return fromBytes <= toBytes;
  if (to.id() == TypeId::Double) return from.id() == TypeId::Float || (fromBytes > 0 && fromBytes <= 4);
  if (to.id() == TypeId::TimestampNtz) return from.id() == TypeId::Date;
  // Strings and their char and varchar forms are no matter of widening.
  if (to.id() == TypeId::String) return from.id() == TypeId::String;
  if (to.id() != TypeId::Decimal) return false;
  if (from.id() == TypeId::Decimal) return holdsDigits(to, from.precision(), from.scale());
  // What the files' INT32 and INT64 can hold.
  if (fromBytes == 0) return false;
  return holdsDigits(to, fromBytes == 8 ? 20 : 10, 0);
}

void checkTypeChanges(const Schema& schema, std::string_view table) {
  check(schema, "", table);
}

}  // namespace thalweg::delta
