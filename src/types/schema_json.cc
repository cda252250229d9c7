#include "types/schema_json.h"

#include <cstdio>
#include <map>

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json_text.h"

namespace thalweg {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kMaxDepth = 500;

Error parseError(std::string_view json, const std::string& why) {
  return Error("INVALID_SCHEMA.PARSE_ERROR", "The schema text cannot be read: " + why,
               {{"inputSchema", std::string(json.substr(0, 1000))}, {"reason", why}});
}

void appendType(const DataType& type, std::string* out);

void appendField(const StructField& field, std::string* out) {
  *out += "{\"name\":" + quotedJson(field.name) + ",\"type\":";
  appendType(*field.type, out);
  *out += std::string(",\"nullable\":") + (field.nullable ? "true" : "false") +
          ",\"metadata\":" + (field.metadata.empty() ? "{}" : field.metadata) + "}";
}

void appendType(const DataType& type, std::string* out) {
  switch (type.id()) {
    case TypeId::Array:
      *out += "{\"type\":\"array\",\"elementType\":";
      appendType(*type.element(), out);
      *out += std::string(",\"containsNull\":") + (type.containsNull() ? "true}" : "false}");
      return;
    case TypeId::Map:
      *out += "{\"type\":\"map\",\"keyType\":";
      appendType(*type.key(), out);
      *out += ",\"valueType\":";
      appendType(*type.value(), out);
      *out += std::string(",\"valueContainsNull\":") + (type.containsNull() ? "true}" : "false}");
      return;
    case TypeId::Struct:
      *out += "{\"type\":\"struct\",\"fields\":[";
      for (size_t i = 0; i < type.fields().size(); ++i) {
        if (i) *out += ",";
        appendField(type.fields()[i], out);
      }
      *out += "]}";
      return;
    default: *out += "\"" + type.typeName() + "\"";
  }
}

const Json& member(const Json& object, const char* name, std::string_view whole) {
  auto it = object.find(name);
  if (it == object.end()) throw parseError(whole, std::string("'") + name + "' is missing");
  return *it;
}

DataTypePtr typeFromJson(const Json& json, std::string_view whole, int depth);

StructField fieldFromJson(const Json& json, std::string_view whole, int depth) {
  StructField field;
  field.name = member(json, "name", whole).get<std::string>();
  field.type = typeFromJson(member(json, "type", whole), whole, depth + 1);
  field.nullable = json.value("nullable", true);
  if (auto it = json.find("metadata"); it != json.end() && it->is_object() && !it->empty()) field.metadata = it->dump();
  return field;
}

DataTypePtr typeFromJson(const Json& json, std::string_view whole, int depth) {
  if (depth > kMaxDepth) throw parseError(whole, "it is nested too deeply");
  if (json.is_string()) {
    DataTypePtr type = parseTypeName(json.get<std::string>());
    if (!type) throw parseError(whole, "'" + json.get<std::string>() + "' is no type");
    return type;
  }
  if (!json.is_object()) throw parseError(whole, "a type is a name or an object");
  const std::string kind = member(json, "type", whole).get<std::string>();
  if (kind == "struct") {
    std::vector<StructField> fields;
    for (const Json& field : member(json, "fields", whole)) fields.push_back(fieldFromJson(field, whole, depth));
    return DataType::structOf(std::move(fields));
  }
  if (kind == "array") {
    return DataType::array(typeFromJson(member(json, "elementType", whole), whole, depth + 1), json.value("containsNull", true));
  }
  if (kind == "map") {
    return DataType::map(typeFromJson(member(json, "keyType", whole), whole, depth + 1),
                         typeFromJson(member(json, "valueType", whole), whole, depth + 1),
                         json.value("valueContainsNull", true));
  }
  if (kind == "udt") return typeFromJson(member(json, "sqlType", whole), whole, depth + 1);
  throw parseError(whole, "'" + kind + "' is no type");
}

}  // namespace

std::string toSchemaJson(const DataType& type) {
  std::string out;
  appendType(type, &out);
  return out;
}

DataTypePtr parseSchemaJson(std::string_view json) {
  try {
    auto bounded = [&](int depth, Json::parse_event_t, Json&) {
      if (depth > kMaxDepth) throw parseError(json, "it is nested too deeply");
      return true;
    };
    return typeFromJson(Json::parse(json, bounded), json, 0);
  } catch (const nlohmann::json::exception& error) {
    throw parseError(json, error.what());
  }
}

DataTypePtr parseTypeName(std::string_view name) {
  static const std::map<std::string_view, DataTypePtr> kNames = {
      {"void", voidType()},       {"null", voidType()},        {"boolean", booleanType()}, {"byte", byteType()},
      {"short", shortType()},     {"integer", intType()},      {"long", longType()},       {"float", floatType()},
      {"double", doubleType()},   {"string", stringType()},    {"binary", binaryType()},   {"date", dateType()},
      {"timestamp", timestampType()}, {"timestamp_ltz", timestampType()}, {"timestamp_ntz", timestampNtzType()},
      {"variant", DataType::primitive(TypeId::Variant)},
      {"interval", DataType::primitive(TypeId::CalendarInterval)},
      {"calendarinterval", DataType::primitive(TypeId::CalendarInterval)},
      {"decimal", DataType::decimal(10, 0)},
      {"interval year", DataType::yearMonthInterval(0, 0)},
      {"interval month", DataType::yearMonthInterval(1, 1)},
      {"interval year to month", DataType::yearMonthInterval(0, 1)},
      {"interval day", DataType::dayTimeInterval(0, 0)},
      {"interval hour", DataType::dayTimeInterval(1, 1)},
      {"interval minute", DataType::dayTimeInterval(2, 2)},
      {"interval second", DataType::dayTimeInterval(3, 3)},
      {"interval day to hour", DataType::dayTimeInterval(0, 1)},
      {"interval day to minute", DataType::dayTimeInterval(0, 2)},
      {"interval day to second", DataType::dayTimeInterval(0, 3)},
      {"interval hour to minute", DataType::dayTimeInterval(1, 2)},
      {"interval hour to second", DataType::dayTimeInterval(1, 3)},
      {"interval minute to second", DataType::dayTimeInterval(2, 3)},
  };
  if (auto it = kNames.find(name); it != kNames.end()) return it->second;
  int precision = 0, scale = 0, used = 0;
  const std::string text(name);
  if (std::sscanf(text.c_str(), "decimal(%d,%d)%n", &precision, &scale, &used) == 2 &&
      used == static_cast<int>(text.size()) && precision >= 1 && precision <= 38 && scale >= 0 && scale <= precision) {
    return DataType::decimal(precision, scale);
  }
  int length = 0;
  if ((std::sscanf(text.c_str(), "varchar(%d)%n", &length, &used) == 1 ||
       std::sscanf(text.c_str(), "char(%d)%n", &length, &used) == 1) &&
      used == static_cast<int>(text.size())) {
    return stringType();
  }
  return nullptr;
}

}  // namespace thalweg
