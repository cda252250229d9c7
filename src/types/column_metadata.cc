#include "types/column_metadata.h"

#include <nlohmann/json.hpp>

#include "common/json_text.h"

namespace thalweg {
namespace {

nlohmann::ordered_json objectOf(const std::string& metadata) {
  auto object = parseOrderedJson(metadata);
  return object.is_object() ? object : nlohmann::ordered_json::object();
}

}  // namespace

std::string withMetadataKey(const std::string& metadata, std::string_view key, const std::string& jsonValue) {
  auto object = objectOf(metadata);
  object[std::string(key)] = parseOrderedJson(jsonValue);
  return toJsonText(object);
}

bool hasMetadataKey(const std::string& metadata, std::string_view key) { return objectOf(metadata).contains(std::string(key)); }

std::optional<int64_t> metadataNumber(const std::string& metadata, std::string_view key) {
  const auto object = objectOf(metadata);
  const auto found = object.find(std::string(key));
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int64_t>();
}

std::optional<std::string> metadataText(const std::string& metadata, std::string_view key) {
  const auto object = objectOf(metadata);
  const auto found = object.find(std::string(key));
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

bool metadataFlag(const std::string& metadata, std::string_view key) {
  const auto object = objectOf(metadata);
  const auto found = object.find(std::string(key));
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::string withoutMetadataKey(const std::string& metadata, std::string_view key) {
  auto object = objectOf(metadata);
  object.erase(std::string(key));
  return object.empty() ? std::string() : toJsonText(object);
}

SchemaPtr withoutQueryMarks(const Schema& schema) {
  std::vector<StructField> fields = schema.fields();
  for (StructField& field : fields) {
    auto object = objectOf(field.metadata);
    size_t erased = 0;
    for (const auto key : {kWatermarkDelayKey, kTimeWindowKey, kSessionWindowKey}) erased += object.erase(std::string(key));
    if (erased > 0) field.metadata = object.empty() ? std::string() : toJsonText(object);
  }
  return DataType::structOf(std::move(fields));
}

}  // namespace thalweg
