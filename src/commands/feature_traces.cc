#include "commands/feature_traces.h"

#include <nlohmann/json.hpp>

#include "common/json_text.h"
#include "common/options.h"

namespace thalweg {
namespace {

using delta::SnapshotPtr;
using nlohmann::ordered_json;

// One commit that sets properties and takes others away, named as Spark names it.
void changeProperties(const DroppedFrom& table, const std::vector<std::string>& unset,
                      const TableProperties& set, delta::Operation operation) {
  const SnapshotPtr snapshot = table.log->require();
  delta::Metadata changed = snapshot->metadata();
  for (const std::string& key : unset) {
    std::erase_if(changed.configuration,
                  [&](const auto& entry) { return equalsIgnoreCase(entry.first, key); });
  }
  for (const auto& [key, value] : set) changed.configuration[key] = value;
  delta::Transaction transaction(table.log, snapshot);
  transaction.setMetadata(std::move(changed));
  transaction.setOperation(std::move(operation));
  delta::requireCommitted(transaction.commit());
}

// A schema's JSON with the fields' metadata keys that begin so left out.
void eraseFieldKeys(ordered_json& json, const std::string& front) {
  if (json.is_object()) {
    if (const auto metadata = json.find("metadata"); metadata != json.end() && metadata->is_object()) {
      std::vector<std::string> keys;
      for (const auto& [key, value] : metadata->items()) {
        if (key.starts_with(front)) keys.push_back(key);
      }
      for (const std::string& key : keys) metadata->erase(key);
    }
    for (auto& [key, value] : json.items()) {
      if (key != "metadata") eraseFieldKeys(value, front);
    }
  } else if (json.is_array()) {
    for (auto& element : json) eraseFieldKeys(element, front);
  }
}

}  // namespace

bool mentions(const delta::Metadata& metadata, std::string_view key) {
  return metadata.schemaString.find("\"" + std::string(key)) != std::string::npos;
}

const delta::Metadata* metadataOf(const delta::Action& action) {
  return std::get_if<delta::Metadata>(&action);
}

bool neverUsed(const delta::Action&) {
  return false;
}

void unsetProperties(const DroppedFrom& table, const std::vector<std::string>& keys,
                     const TableProperties& set) {
  ordered_json names = keys;
  for (const auto& [key, value] : set) names.push_back(key);
  delta::Operation operation;
  operation.name = "UNSET TBLPROPERTIES";
  operation.parameters = {{"properties", delta::jsonText(toJsonText(names))}, {"ifExists", "true"}};
  changeProperties(table, keys, set, std::move(operation));
}

void setProperties(const DroppedFrom& table, const TableProperties& properties) {
  ordered_json said = ordered_json::object();
  for (const auto& [key, value] : properties) said[key] = value;
  delta::Operation operation;
  operation.name = "SET TBLPROPERTIES";
  operation.parameters = {{"properties", delta::jsonText(toJsonText(said))}};
  changeProperties(table, {}, properties, std::move(operation));
}

// The snapshot has parsed it before: it is sound, and its depth is bounded.
std::string withoutFieldKeys(const std::string& schemaString, const std::string& front) {
  ordered_json json = ordered_json::parse(schemaString);
  eraseFieldKeys(json, front);
  return toJsonText(json);
}

}  // namespace thalweg
