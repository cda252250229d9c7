#include "delta/snapshot/type_widening.h"

#include <algorithm>
#include <functional>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json_text.h"
#include "types/column_metadata.h"
#include "types/nested_fields.h"
#include "types/schema_json.h"

namespace thalweg::delta {
namespace {

using Json = nlohmann::json;

constexpr const char* kTypeChanges = "delta.typeChanges";

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
              {{"operation", kTypeChanges}, {"column", column}});
}

[[noreturn]] void throwUnsupported(const std::string& column, const DataType& from, const DataType& to) {
  throw Error("DELTA_UNSUPPORTED_TYPE_CHANGE_IN_SCHEMA",
              "The type of column " + column + " cannot be widened from " + from.sqlString() + " to " +
                  to.sqlString() + ": no reader could undo that.",
              {{"fieldName", column}, {"fromType", from.sqlString()}, {"toType", to.sqlString()}});
}

void checkField(const StructField& field, const std::string& column, std::string_view table) {
  const Json metadata = Json::parse(field.metadata, nullptr, /*allow_exceptions=*/false);
  if (!metadata.is_object() || !metadata.contains(kTypeChanges)) return;
  const Json& changes = metadata[kTypeChanges];
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

using FieldVisitor = std::function<void(const StructField&, const std::string& column)>;

// The fields at all depths, each with its dotted name.
void forEachField(const DataType& type, const std::string& prefix, const FieldVisitor& visit) {
  switch (type.id()) {
    case TypeId::Struct:
      for (const StructField& field : type.fields()) {
        const std::string column = prefix.empty() ? field.name : prefix + "." + field.name;
        visit(field, column);
        forEachField(*field.type, column, visit);
      }
      break;
    case TypeId::Array:
      forEachField(*type.element(), prefix + ".element", visit);
      break;
    case TypeId::Map:
      forEachField(*type.key(), prefix + ".key", visit);
      forEachField(*type.value(), prefix + ".value", visit);
      break;
    default:
      break;
  }
}

// One exchange of types within a field, which lies at `path` in the field's own type: empty, or "element",
// "key", "value" and what follows from there.
struct TypeChange {
  DataTypePtr from;
  DataTypePtr to;
  std::string path;
};

std::string deeper(const std::string& path, std::string_view part) {
  return path.empty() ? std::string(part) : path + "." + std::string(part);
}

std::string withChanges(const std::string& metadata, const std::vector<TypeChange>& changes) {
  const auto object = parseOrderedJson(metadata);
  const bool has = object.is_object() && object.contains(kTypeChanges) && object[kTypeChanges].is_array();
  auto list = has ? object[kTypeChanges] : nlohmann::ordered_json::array();
  for (const TypeChange& change : changes) {
    nlohmann::ordered_json one = {{"toType", parseOrderedJson(toSchemaJson(*change.to))},
                                  {"fromType", parseOrderedJson(toSchemaJson(*change.from))}};
    if (!change.path.empty()) one["fieldPath"] = change.path;
    list.push_back(std::move(one));
  }
  return withMetadataKey(metadata, kTypeChanges, toJsonText(list));
}

// The type with changes recorded on the fields in it; those that lie in no such field go into `changes`.
DataTypePtr record(const DataTypePtr& from, const DataTypePtr& to, const std::string& path,
                   const std::string& column, std::vector<TypeChange>* changes) {
  if (from->id() == TypeId::Array && to->id() == TypeId::Array) {
    return DataType::array(record(from->element(), to->element(), deeper(path, "element"), column, changes),
                           to->containsNull());
  }
  if (from->id() == TypeId::Map && to->id() == TypeId::Map) {
    const auto key = record(from->key(), to->key(), deeper(path, "key"), column, changes);
    const auto value = record(from->value(), to->value(), deeper(path, "value"), column, changes);
    return DataType::map(key, value, to->containsNull());
  }
  if (from->id() != TypeId::Struct || to->id() != TypeId::Struct) {
    if (equals(*from, *to)) return to;
    if (!isSupportedTypeChange(*from, *to)) throwUnsupported(column, *from, *to);
    changes->push_back({from, to, path});
    return to;
  }
  std::vector<StructField> fields = to->fields();
  for (StructField& field : fields) {
    const int before = from->fieldIndex(field.name, /*caseSensitive=*/false);
    if (before < 0) continue;
    std::vector<TypeChange> own;
    field.type = record(from->fields()[static_cast<size_t>(before)].type, field.type, "",
                        deeper(column, field.name), &own);
    if (!own.empty()) field.metadata = withChanges(field.metadata, own);
  }
  return DataType::structOf(std::move(fields));
}

}  // namespace

bool changesTypes(const DataType& from, const DataType& to) {
  if (from.id() != to.id() || !from.isNested()) return !equals(from, to);
  if (from.id() == TypeId::Array) return changesTypes(*from.element(), *to.element());
  if (from.id() == TypeId::Map)
    return changesTypes(*from.key(), *to.key()) || changesTypes(*from.value(), *to.value());
  return std::any_of(from.fields().begin(), from.fields().end(), [&](const StructField& field) {
    const int index = to.fieldIndex(field.name, /*caseSensitive=*/false);
    return index >= 0 && changesTypes(*field.type, *to.fields()[static_cast<size_t>(index)].type);
  });
}

SchemaPtr withRecordedTypeChanges(const Schema& from, const SchemaPtr& to) {
  std::vector<TypeChange> none;
  return record(DataType::structOf(from.fields()), to, "", "", &none);
}

SchemaPtr withVersionsOfTypeChanges(const SchemaPtr& schema, int64_t version) {
  return withEachField(schema, [&](StructField* field) {
    const auto metadata = parseOrderedJson(field->metadata);
    if (!metadata.is_object() || !metadata.contains(kTypeChanges)) return;
    auto changes = metadata[kTypeChanges];
    for (auto& change : changes) {
      if (change.is_object()) change.emplace("tableVersion", version);
    }
    field->metadata = withMetadataKey(field->metadata, kTypeChanges, toJsonText(changes));
  });
}

bool widensByItself(const DataType& from, const DataType& to) {
  if (equals(from, to) || !isSupportedTypeChange(from, to)) return false;
  if (from.isNumeric() && to.isNumeric()) {
    const auto isFloating = [](const DataType& type) {
      return type.id() == TypeId::Float || type.id() == TypeId::Double;
    };
    const auto isDecimal = [](const DataType& type) { return type.id() == TypeId::Decimal; };
    return isFloating(from) == isFloating(to) && isDecimal(from) == isDecimal(to);
  }
  return from.id() == TypeId::Date;
}

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
  forEachField(schema, "", [&](const StructField& field, const std::string& column) {
    checkField(field, column, table);
  });
}

}  // namespace thalweg::delta
