#include "delta/changes/schema_changes.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "common/options.h"
#include "delta/files/column_mapping.h"
#include "delta/snapshot/type_widening.h"

namespace thalweg::delta {
namespace {

bool nullsFit(bool data, bool read, bool forbidTighterNulls) {
  return forbidTighterNulls ? read || !data : data || !read;
}

bool typesFit(const DataType& data, const DataType& read, const ReadCompatibility& rules) {
  if (data.id() == TypeId::Void) return true;
  if (rules.allowWidenedTypes && isSupportedTypeChange(data, read)) return true;
  if (data.id() != read.id()) return false;
  switch (data.id()) {
    case TypeId::Struct:
      return isReadCompatible(data, read, rules);
    case TypeId::Array:
      return nullsFit(data.containsNull(), read.containsNull(), rules.forbidTighterNulls) &&
             typesFit(*data.element(), *read.element(), rules);
    case TypeId::Map:
      return nullsFit(data.containsNull(), read.containsNull(), rules.forbidTighterNulls) &&
             typesFit(*data.key(), *read.key(), rules) && typesFit(*data.value(), *read.value(), rules);
    default:
      return equals(data, read);
  }
}

std::string physicalName(const StructField& field) {
  const auto metadata = nlohmann::json::parse(field.metadata, nullptr, /*allow_exceptions=*/false);
  if (metadata.is_object()) {
    const auto name = metadata.find("delta.columnMapping.physicalName");
    if (name != metadata.end() && name->is_string()) return name->get<std::string>();
  }
  return field.name;
}

// Every column at every depth: where it is stored → what it is called.
void collectNames(const DataType& type, const std::string& stored, const std::string& called,
                  std::map<std::string, std::string>& names) {
  switch (type.id()) {
    case TypeId::Struct:
      for (const StructField& field : type.fields()) {
        const std::string at = stored + "/" + physicalName(field);
        const std::string name = called + "/" + field.name;
        names.emplace(at, name);
        collectNames(*field.type, at, name, names);
      }
      break;
    case TypeId::Array:
      collectNames(*type.element(), stored + "/element", called + "/element", names);
      break;
    case TypeId::Map:
      collectNames(*type.key(), stored + "/key", called + "/key", names);
      collectNames(*type.value(), stored + "/value", called + "/value", names);
      break;
    default:
      break;
  }
}

}  // namespace

bool isReadCompatible(const Schema& data, const Schema& read, const ReadCompatibility& rules) {
  for (const StructField& field : data.fields()) {
    const int index = read.fieldIndex(field.name, /*caseSensitive=*/false);
    if (index < 0 && rules.allowMissingColumns) continue;
    if (index < 0) return false;
    const StructField& wanted = read.fields()[static_cast<size_t>(index)];
    if (wanted.name != field.name || !nullsFit(field.nullable, wanted.nullable, rules.forbidTighterNulls) ||
        !typesFit(*field.type, *wanted.type, rules)) {
      return false;
    }
  }
  return true;
}

bool renamesOrDropsColumns(const Metadata& older, const Metadata& newer) {
  if (columnMappingMode(newer) == ColumnMappingMode::None)
    return columnMappingMode(older) != ColumnMappingMode::None;
  std::map<std::string, std::string> before;
  std::map<std::string, std::string> after;
  collectNames(*older.schema(), "", "", before);
  collectNames(*newer.schema(), "", "", after);
  const bool kept = std::all_of(before.begin(), before.end(), [&](const auto& column) {
    const auto found = after.find(column.first);
    return found != after.end() && found->second == column.second;
  });
  return !kept || older.partitionColumns != newer.partitionColumns;
}

}  // namespace thalweg::delta
