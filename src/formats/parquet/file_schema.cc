#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "formats/parquet/parquet_error.h"
#include "formats/parquet/parquet_file.h"
#include "formats/parquet/parquet_input.h"
#include "types/arrow_types.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

std::optional<SchemaPtr> sparkSchemaOf(const parquet::FileMetaData& metadata) {
  if (!metadata.key_value_metadata()) return std::nullopt;
  const auto json = metadata.key_value_metadata()->Get("org.apache.spark.sql.parquet.row.metadata");
  if (!json.ok()) return std::nullopt;
  return parseSchemaJson(*json);
}

DataTypePtr sparkTypeOf(const parquet::arrow::SchemaField& field, const parquet::SchemaDescriptor& schema);

const parquet::TimestampLogicalType* timestampOf(const parquet::ColumnDescriptor& leaf) {
  return dynamic_cast<const parquet::TimestampLogicalType*>(leaf.logical_type().get());
}

bool isNanos(const parquet::ColumnDescriptor& leaf) {
  const auto* timestamp = timestampOf(leaf);
  return timestamp && timestamp->time_unit() == parquet::LogicalType::TimeUnit::NANOS;
}

bool isInstant(const parquet::ColumnDescriptor& leaf) {
  const auto* timestamp = timestampOf(leaf);
  return timestamp && timestamp->is_adjusted_to_utc();
}

// As Spark names a type that it does not read.
Error illegalType(const parquet::ColumnDescriptor& leaf) {
  const std::string shown = parquet::TypeToString(leaf.physical_type()) + " (TIMESTAMP(NANOS," +
                            (isInstant(leaf) ? "true" : "false") + "))";
  return Error("PARQUET_TYPE_ILLEGAL",
               fmt::format("The Parquet column {} has timestamps in nanoseconds, {}, finer than a TIMESTAMP: "
                           "give a schema that has it as BIGINT.",
                           leaf.path()->ToDotString(), shown),
               {{"parquetType", shown}});
}

// Of what the file has without saying what it means.
DataTypePtr plainType(const parquet::ColumnDescriptor& leaf) {
  switch (leaf.physical_type()) {
    case parquet::Type::BOOLEAN:
      return booleanType();
    case parquet::Type::INT32:
      return intType();
    case parquet::Type::INT64:
      return longType();
    case parquet::Type::FLOAT:
      return floatType();
    case parquet::Type::DOUBLE:
      return doubleType();
    default:
      return binaryType();
  }
}

// Spark's converter of Parquet's primitive types. What a writer's own notes (ARROW:schema) make of them does
// not count.
DataTypePtr sparkLeafType(const arrow::DataType& type, const parquet::ColumnDescriptor& leaf) {
  if (leaf.physical_type() == parquet::Type::INT96) return timestampType();
  if (isNanos(leaf)) throw illegalType(leaf);
  switch (type.id()) {
    case arrow::Type::NA:
    case arrow::Type::DURATION:
      return plainType(leaf);
    case arrow::Type::UINT8:
      return shortType();
    case arrow::Type::UINT16:
      return intType();
    case arrow::Type::UINT32:
      return longType();
    case arrow::Type::UINT64:
      return DataType::decimal(20, 0);
    case arrow::Type::DICTIONARY:
      return fromArrowType(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default:
      return fromArrowType(type);
  }
}

DataTypePtr sparkStructType(const std::vector<parquet::arrow::SchemaField>& fields,
                            const parquet::SchemaDescriptor& schema) {
  std::vector<StructField> members;
  for (const auto& field : fields)
    members.push_back({field.field->name(), sparkTypeOf(field, schema), /*nullable=*/true});
  return DataType::structOf(std::move(members));
}

DataTypePtr sparkTypeOf(const parquet::arrow::SchemaField& field, const parquet::SchemaDescriptor& schema) {
  const arrow::DataType& type = *field.field->type();
  if (field.is_leaf()) return sparkLeafType(type, *schema.Column(field.column_index));
  switch (type.id()) {
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
      return DataType::array(sparkTypeOf(field.children.at(0), schema), /*containsNull=*/true);
    case arrow::Type::MAP: {
      const auto& entry = field.children.at(0).children;
      return DataType::map(sparkTypeOf(entry.at(0), schema), sparkTypeOf(entry.at(1), schema),
                           /*valueContainsNull=*/true);
    }
    default:
      return sparkStructType(field.children, schema);
  }
}

}  // namespace

std::optional<int32_t> parquetFieldId(const StructField& field) {
  if (field.metadata.find(kParquetFieldIdKey) == std::string::npos) return std::nullopt;
  const auto json = nlohmann::json::parse(field.metadata, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto it = json.find(kParquetFieldIdKey);
  if (it == json.end() || !it->is_number_integer()) return std::nullopt;
  return it->get<int32_t>();
}

SchemaPtr readParquetSchema(FileSystem& fileSystem, const std::string& path) {
  const auto reader = openParquet(fileSystem, path, arrow::default_memory_pool(), 1);
  return reading(path, [&]() -> SchemaPtr {
    const auto metadata = reader->parquet_reader()->metadata();
    if (auto schema = sparkSchemaOf(*metadata)) return *schema;
    return sparkStructType(reader->manifest().schema_fields, *metadata->schema());
  });
}

}  // namespace thalweg
