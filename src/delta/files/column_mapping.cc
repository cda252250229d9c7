#include "delta/files/column_mapping.h"

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "formats/parquet/parquet_file.h"

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

}  // namespace

ColumnMappingMode columnMappingMode(const Metadata& metadata) {
  const auto it = metadata.configuration.find("delta.columnMapping.mode");
  if (it == metadata.configuration.end() || it->second == "none") return ColumnMappingMode::None;
  if (it->second == "name") return ColumnMappingMode::Name;
  if (it->second == "id") return ColumnMappingMode::Id;
  throw unsupported("the column mapping mode '" + it->second + "'");
}

SchemaPtr physicalSchema(const SchemaPtr& schema, ColumnMappingMode mode) {
  return mode == ColumnMappingMode::None ? schema : physicalType(schema);
}

}  // namespace thalweg::delta
