#include "delta/files/column_mapping.h"

#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json_text.h"
#include "common/options.h"
#include "common/uuid.h"
#include "formats/parquet/parquet_file.h"
#include "types/column_metadata.h"
#include "types/nested_fields.h"
#include "types/schema_json.h"

namespace thalweg::delta {
namespace {

DataTypePtr physicalType(const DataTypePtr& type);

StructField physicalField(const StructField& field) {
  const auto metadata = nlohmann::json::parse(field.metadata, nullptr, /*allow_exceptions=*/false);
  const auto stringAt = [&](const char* key) {
    return metadata.is_object() && metadata.contains(key) && metadata[key].is_string()
               ? metadata[key].get<std::string>()
               : std::string();
  };
  StructField physical{stringAt("delta.columnMapping.physicalName"), physicalType(field.type),
                       field.nullable};
  if (physical.name.empty()) {
    throw Error("DELTA_STATE_RECOVER_ERROR",
                "Column " + field.name +
                    " has no physical name although the table maps its columns: its metadata is damaged.",
                {{"operation", "column mapping"}, {"column", field.name}});
  }
  if (metadata.contains("delta.columnMapping.id") && metadata["delta.columnMapping.id"].is_number_integer()) {
    physical.metadata = nlohmann::json{{kParquetFieldIdKey, metadata["delta.columnMapping.id"]}}.dump();
  }
  return physical;
}

DataTypePtr physicalType(const DataTypePtr& type) {
  switch (type->id()) {
    case TypeId::Array:
      return DataType::array(physicalType(type->element()), type->containsNull());
    case TypeId::Map:
      return DataType::map(physicalType(type->key()), physicalType(type->value()), type->containsNull());
    case TypeId::Struct: {
      std::vector<StructField> fields;
      for (const StructField& field : type->fields()) fields.push_back(physicalField(field));
      return DataType::structOf(std::move(fields));
    }
    default:
      return type;
  }
}

constexpr std::string_view kId = "delta.columnMapping.id";
constexpr std::string_view kPhysicalName = "delta.columnMapping.physicalName";
constexpr const char* kMaxColumnId = "delta.columnMapping.maxColumnId";

}  // namespace

void assignColumnMapping(Metadata* metadata, PhysicalNames names) {
  if (columnMappingMode(*metadata) == ColumnMappingMode::None) return;
  int64_t maxId = 0;
  const auto recorded = metadata->configuration.find(kMaxColumnId);
  if (recorded != metadata->configuration.end()) {
    const std::string& text = recorded->second;
    std::from_chars(text.data(), text.data() + text.size(), maxId);
  }
  const SchemaPtr schema = metadata->schema();
  withEachField(schema, [&](StructField* field) {
    maxId = std::max(maxId, metadataNumber(field->metadata, kId).value_or(0));
  });
  const SchemaPtr mapped = withEachField(schema, [&](StructField* field) {
    if (!metadataNumber(field->metadata, kId))
      field->metadata = withMetadataKey(field->metadata, kId, std::to_string(++maxId));
    if (metadataText(field->metadata, kPhysicalName)) return;
    const std::string name = names == PhysicalNames::AsShown ? field->name : "col-" + randomUuid();
    field->metadata = withMetadataKey(field->metadata, kPhysicalName, toJsonText(nlohmann::json(name)));
  });
  metadata->schemaString = toSchemaJson(*mapped);
  metadata->configuration[kMaxColumnId] = std::to_string(maxId);
}

SchemaPtr withoutTableMetadata(const SchemaPtr& schema) {
  return withEachField(schema, [](StructField* field) {
    const auto json = nlohmann::json::parse(field->metadata, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return;
    for (const auto& [key, value] : json.items()) {
      if (key.starts_with("delta.") || key == "CURRENT_DEFAULT")
        field->metadata = withoutMetadataKey(field->metadata, key);
    }
  });
}

ColumnMappingMode columnMappingMode(const Metadata& metadata) {
  const auto it = metadata.configuration.find("delta.columnMapping.mode");
  if (it == metadata.configuration.end() || equalsIgnoreCase(it->second, "none"))
    return ColumnMappingMode::None;
  if (equalsIgnoreCase(it->second, "name")) return ColumnMappingMode::Name;
  if (equalsIgnoreCase(it->second, "id")) return ColumnMappingMode::Id;
  throw unsupported("the column mapping mode '" + it->second + "'");
}

SchemaPtr physicalSchema(const SchemaPtr& schema, ColumnMappingMode mode) {
  return mode == ColumnMappingMode::None ? schema : physicalType(schema);
}

}  // namespace thalweg::delta
