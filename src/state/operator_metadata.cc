#include "state/operator_metadata.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "storage/resolved_put.h"

namespace thalweg {
namespace {

[[noreturn]] void throwCorrupt(const std::string& path, const std::string& reason) {
  throw Error("STATE_STORE_CHECKPOINT_CORRUPT",
              "The operator metadata in " + path + " cannot be read: " + reason +
                  ". Restore the file; without it, state cannot be checked.",
              {{"fileToRead", path}});
}

// What is believed of a store: its name becomes a folder, its partitions are gone through one by one.
constexpr int kMaxPartitions = 1'000'000;
bool isCredible(const StateStoreInfo& info) {
  const std::string& name = info.storeName;
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos && info.numPartitions > 0 && info.numColsPrefixKey >= 0;
}

// A whole number from 0 to `most`, else −1: checked before it is narrowed.
int countOf(const nlohmann::json& number, int most) {
  if (!number.is_number_integer()) return -1;
  if (number.is_number_unsigned() && number.get<uint64_t>() > static_cast<uint64_t>(most)) return -1;
  const auto count = number.get<int64_t>();
  return count >= 0 && count <= most ? static_cast<int>(count) : -1;
}

StateStoreInfo storeInfo(const nlohmann::json& json) {
  StateStoreInfo info;
  info.storeName = json.at("storeName");
  if (json.contains("numColsPrefixKey"))
    info.numColsPrefixKey = countOf(json.at("numColsPrefixKey"), std::numeric_limits<int>::max());
  info.numPartitions = countOf(json.at("numPartitions"), kMaxPartitions);
  if (json.contains("stateSchemaFilePaths"))
    info.schemaFilePaths = json.at("stateSchemaFilePaths").get<std::vector<std::string>>();
  return info;
}

std::string metadataPath(const std::string& operatorFolder) {
  return operatorFolder + "/_metadata/metadata";
}

}  // namespace

int numPartitionsUsed(const OperatorMetadata& metadata, const StateStoreInfo& store, const DataType& key) {
  return key.fields().empty() || metadata.operatorName == "globalLimit" ? std::min(store.numPartitions, 1) : store.numPartitions;
}

const StateStoreInfo* OperatorMetadata::store(std::string_view name) const {
  for (const StateStoreInfo& info : stores) {
    if (info.storeName == name) return &info;
  }
  return nullptr;
}

OperatorMetadata parseOperatorMetadata(std::string_view text, const std::string& path) {
  const size_t line = text.find('\n');
  const std::string_view version = text.substr(0, line);
  if (line == std::string_view::npos || (version != "v1" && version != "v2")) {
    throwCorrupt(
        path, "its version is \"" + std::string(version.substr(0, 20)) + "\", and only v1 and v2 are known");
  }
  const nlohmann::json json = nlohmann::json::parse(text.substr(line + 1), nullptr, false);
  if (!json.is_object()) throwCorrupt(path, "it is no JSON object");
  try {
    OperatorMetadata metadata;
    metadata.operatorId = json.at("operatorInfo").at("operatorId");
    metadata.operatorName = json.at("operatorInfo").at("operatorName");
    for (const nlohmann::json& store : json.at("stateStoreInfo")) {
      metadata.stores.push_back(storeInfo(store));
      if (!isCredible(metadata.stores.back()))
        throwCorrupt(path, "a store's name or number of partitions is none");
    }
    metadata.propertiesJson = json.value("operatorPropertiesJson", std::string());
    return metadata;
  } catch (const nlohmann::json::exception&) {
    throwCorrupt(path, "it lacks the operator's name or its stores");
  }
}

std::string formatOperatorMetadata(const OperatorMetadata& metadata) {
  using Json = nlohmann::ordered_json;
  Json stores = Json::array();
  for (const StateStoreInfo& info : metadata.stores) {
    stores.push_back({{"storeName", info.storeName},
                      {"numColsPrefixKey", info.numColsPrefixKey},
                      {"numPartitions", info.numPartitions}});
  }
  Json json;
  json["operatorInfo"] = {{"operatorId", metadata.operatorId}, {"operatorName", metadata.operatorName}};
  json["stateStoreInfo"] = stores;
  return "v1\n" + json.dump();
}

std::optional<OperatorMetadata> readOperatorMetadata(FileSystem& fileSystem,
                                                     const std::string& operatorFolder) {
  std::string path = metadataPath(operatorFolder);
  if (!fileSystem.stat(path)) {
    int64_t newest = -1;
    for (const FileInfo& file : fileSystem.list(operatorFolder + "/_metadata/v2")) {
      const std::string_view name = file.name();
      int64_t batch = 0;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), batch);
      if (error == std::errc() && end == name.data() + name.size() && batch > newest) newest = batch;
    }
    if (newest < 0) return std::nullopt;
    path = operatorFolder + "/_metadata/v2/" + std::to_string(newest);
  }
  return parseOperatorMetadata(fileSystem.readAll(path), path);
}

void writeOperatorMetadata(FileSystem& fileSystem, const std::string& operatorFolder,
                           const OperatorMetadata& metadata) {
  putIfAbsentResolved(fileSystem, metadataPath(operatorFolder), formatOperatorMetadata(metadata));
}

}  // namespace thalweg
