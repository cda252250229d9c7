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

// A file's leaf columns, and the settings that say what they are.
struct FileTypes {
  const parquet::SchemaDescriptor& schema;
  const std::string& path;
  ParquetSchemaRules rules;
};

DataTypePtr sparkTypeOf(const parquet::arrow::SchemaField& field, const FileTypes& file);

using TimeUnit = parquet::LogicalType::TimeUnit;

std::string unitName(TimeUnit::unit unit) {
  return unit == TimeUnit::MILLIS ? "MILLIS" : (unit == TimeUnit::MICROS ? "MICROS" : "NANOS");
}

template <typename Logical>
std::string timeText(const std::string& name, const Logical& type) {
  return name + "(" + unitName(type.time_unit()) + "," + (type.is_adjusted_to_utc() ? "true" : "false") + ")";
}

// As Spark shows a type of Parquet's that it does not read: "INT64 (TIMESTAMP(NANOS,false))".
std::string shownType(const parquet::ColumnDescriptor& leaf) {
  const parquet::LogicalType& logical = *leaf.logical_type();
  std::string meaning = "FLOAT16";
  if (logical.is_timestamp()) {
    meaning = timeText("TIMESTAMP", static_cast<const parquet::TimestampLogicalType&>(logical));
  } else if (logical.is_time()) {
    meaning = timeText("TIME", static_cast<const parquet::TimeLogicalType&>(logical));
  }
  return parquet::TypeToString(leaf.physical_type()) + " (" + meaning + ")";
}

bool isNanoseconds(const parquet::ColumnDescriptor& leaf) {
  const auto logical = leaf.logical_type();
  return logical && logical->is_timestamp() &&
         static_cast<const parquet::TimestampLogicalType&>(*logical).time_unit() == TimeUnit::NANOS;
}

// Types that Spark has no equal of, or, of times in microseconds, none by default.
void refuseForeignMeaning(const parquet::ColumnDescriptor& leaf, const std::string& path) {
  const auto logical = leaf.logical_type();
  if (!logical) return;
  const bool isTime = logical->is_time();
  if (isTime && static_cast<const parquet::TimeLogicalType&>(*logical).time_unit() == TimeUnit::MICROS) {
    throw Error(
        "UNSUPPORTED_TIME_TYPE",
        fmt::format("The column {} of the Parquet file {} has times of day: give a schema that has it "
                    "as BIGINT.",
                    leaf.path()->ToDotString(), path));
  }
  if (!isTime && !isNanoseconds(leaf) && !logical->is_float16()) return;
  const std::string shown = shownType(leaf);
  const char* remedy = logical->is_float16() ? "leave it out of a schema that you give."
                                             : "give a schema that has it as BIGINT.";
  throw Error(
      "PARQUET_TYPE_ILLEGAL",
      fmt::format("The column {} of the Parquet file {} has the type {}, which no type of Spark's is: {}",
                  leaf.path()->ToDotString(), path, shown, remedy),
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
DataTypePtr sparkLeafType(const arrow::DataType& type, const parquet::ColumnDescriptor& leaf,
                          const FileTypes& file) {
  if (leaf.physical_type() == parquet::Type::INT96) return timestampType();
  if (file.rules.nanosAsLong && isNanoseconds(leaf)) return longType();
  refuseForeignMeaning(leaf, file.path);
  switch (type.id()) {
    case arrow::Type::TIMESTAMP:
      return file.rules.timestampNtz ? fromArrowType(type) : timestampType();
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

DataTypePtr sparkStructType(const std::vector<parquet::arrow::SchemaField>& fields, const FileTypes& file) {
  std::vector<StructField> members;
  for (const auto& field : fields)
    members.push_back({field.field->name(), sparkTypeOf(field, file), /*nullable=*/true});
  return DataType::structOf(std::move(members));
}

DataTypePtr sparkTypeOf(const parquet::arrow::SchemaField& field, const FileTypes& file) {
  const arrow::DataType& type = *field.field->type();
  if (field.is_leaf()) return sparkLeafType(type, *file.schema.Column(field.column_index), file);
  switch (type.id()) {
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
      return DataType::array(sparkTypeOf(field.children.at(0), file), /*containsNull=*/true);
    case arrow::Type::MAP: {
      const auto& entry = field.children.at(0).children;
      return DataType::map(sparkTypeOf(entry.at(0), file), sparkTypeOf(entry.at(1), file),
                           /*valueContainsNull=*/true);
    }
    default:
      return sparkStructType(field.children, file);
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

SchemaPtr readParquetSchema(FileSystem& fileSystem, const std::string& path,
                            const ParquetSchemaRules& rules) {
  const auto reader = openParquet(fileSystem, path, arrow::default_memory_pool(), 1);
  return reading(path, [&]() -> SchemaPtr {
    const auto metadata = reader->parquet_reader()->metadata();
    if (auto schema = sparkSchemaOf(*metadata)) return *schema;
    return sparkStructType(reader->manifest().schema_fields, {*metadata->schema(), path, rules});
  });
}

}  // namespace thalweg
