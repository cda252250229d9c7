#include "delta/snapshot/clustering.h"

#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json_text.h"
#include "delta/files/column_mapping.h"
#include "delta/snapshot/statistics_columns.h"

namespace thalweg::delta {
namespace {

constexpr size_t kMaxColumns = 4;

using Path = std::vector<std::string>;

// A path's names in one of two schemas of the same shape, and the type there; nullopt where it leads nowhere.
std::optional<Path> translated(const Path& path, const Schema& from, const Schema& to,
                               const DataType** type = nullptr) {
  Path names;
  const DataType* source = &from;
  const DataType* target = &to;
  for (const std::string& part : path) {
    const int index = source->id() == TypeId::Struct ? source->fieldIndex(part, /*caseSensitive=*/false) : -1;
    if (index < 0) return std::nullopt;
    names.push_back(target->fields()[static_cast<size_t>(index)].name);
    source = source->fields()[static_cast<size_t>(index)].type.get();
    target = target->fields()[static_cast<size_t>(index)].type.get();
  }
  if (type) *type = source;
  return names;
}

void checkType(const std::string& name, const DataType& type) {
  if (hasBounds(type)) return;
  throw Error("DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED",
              "A table is clustered by numbers, texts, dates and timestamps, and " + name + " is " +
                  type.sqlString() + ".",
              {{"columnsWithDataTypes", name + " : " + type.sqlString()}});
}

}  // namespace

DomainMetadata clusteringDomain(const Metadata& metadata,
                                const std::vector<std::vector<std::string>>& columns) {
  if (columns.size() > kMaxColumns) {
    throw Error("DELTA_CLUSTER_BY_INVALID_NUM_COLUMNS", "A table is clustered by at most four columns.",
                {{"numColumnsLimit", std::to_string(kMaxColumns)},
                 {"actualNumColumns", std::to_string(columns.size())}});
  }
  const SchemaPtr schema = metadata.schema();
  const SchemaPtr physical = physicalSchema(schema, columnMappingMode(metadata));
  nlohmann::ordered_json paths = nlohmann::ordered_json::array();
  std::set<Path> seen;
  for (const Path& column : columns) {
    const DataType* type = nullptr;
    const auto path = translated(column, *schema, *physical, &type);
    const std::string name = fmt::format("{}", fmt::join(column, "."));
    if (!path)
      throw Error("COLUMN_NOT_FOUND", "There is no column " + name + " to cluster by.", {{"colName", name}});
    checkType(name, *type);
    if (!seen.insert(*path).second) {
      throw Error("DELTA_DUPLICATE_COLUMNS_FOUND.CLUSTER_BY",
                  "The column " + name + " stands twice among those to cluster by.",
                  {{"duplicateCols", "`" + name + "`"}});
    }
    paths.push_back(*path);
  }
  const nlohmann::ordered_json json = {{"clusteringColumns", paths}, {"domainName", kClusteringDomain}};
  return {std::string(kClusteringDomain), toJsonText(json), false};
}

std::vector<std::vector<std::string>> clusteringColumns(const Snapshot& snapshot) {
  std::vector<std::vector<std::string>> columns;
  const auto domain = snapshot.domainMetadata().find(std::string(kClusteringDomain));
  if (domain == snapshot.domainMetadata().end()) return columns;
  const auto json = nlohmann::json::parse(domain->second.configuration, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("clusteringColumns") || !json["clusteringColumns"].is_array())
    return columns;
  const SchemaPtr physical = physicalSchema(snapshot.schema(), columnMappingMode(snapshot.metadata()));
  for (const auto& item : json["clusteringColumns"]) {
    Path path;
    // The protocol's text shows plain names, Spark writes lists of them.
    if (item.is_string()) path.push_back(item.get<std::string>());
    for (const auto& part : item.is_array() ? item : nlohmann::json::array()) {
      if (part.is_string()) path.push_back(part.get<std::string>());
    }
    if (auto names = translated(path, *physical, *snapshot.schema())) columns.push_back(std::move(*names));
  }
  return columns;
}

std::optional<DomainMetadata> clusteringUnder(const Snapshot& snapshot, const Metadata& after) {
  const std::string domain(kClusteringDomain);
  if (!snapshot.domainMetadata().contains(domain) || !after.partitionColumns.empty()) return std::nullopt;
  const SchemaPtr schema = after.schema();
  const std::vector<Path> columns = clusteringColumns(snapshot);
  for (const Path& column : columns) {
    if (!translated(column, *schema, *schema)) return std::nullopt;
  }
  return clusteringDomain(after, columns);
}

}  // namespace thalweg::delta
