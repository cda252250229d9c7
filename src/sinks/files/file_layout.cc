#include <algorithm>

#include "common/error.h"
#include "common/option_choice.h"
#include "common/uuid.h"
#include "sinks/files/file_task_output.h"
#include "types/nested_fields.h"

namespace thalweg {
namespace {

Error twice(const std::string& column) {
  return Error("COLUMN_ALREADY_EXISTS",
               "The column `" + column + "` is there twice: rename one, or leave one out of partitionBy().",
               {{"columnName", "`" + toLowerAscii(column) + "`"}});
}

void checkNames(const Schema& schema) {
  if (const auto name = repeatedName(schema, /*caseSensitive=*/false)) throw twice(*name);
}

int partitionColumn(const Schema& schema, const std::string& name) {
  const int index = schema.fieldIndex(name, /*caseSensitive=*/false);
  if (index < 0) {
    throw Error("_LEGACY_ERROR_TEMP_1155",
                "Partition column `" + name + "` not found in schema " + schema.simpleString() + ".",
                {{"col", name}, {"schemaCatalog", schema.simpleString()}});
  }
  const DataType& type = *schema.fields()[static_cast<size_t>(index)].type;
  if (type.isNested() || type.id() == TypeId::Variant) {
    throw Error("INVALID_PARTITION_COLUMN_DATA_TYPE",
                "Files cannot be partitioned by `" + name + "` of type " + type.sqlString() + ".",
                {{"type", "\"" + type.sqlString() + "\""}});
  }
  return index;
}

// The columns of the folders, each once.
std::vector<int> resolvePartitions(const Schema& schema, const std::vector<std::string>& names) {
  std::vector<int> columns;
  for (const std::string& name : names) {
    const int column = partitionColumn(schema, name);
    if (std::find(columns.begin(), columns.end(), column) != columns.end()) throw twice(name);
    columns.push_back(column);
  }
  return columns;
}

int64_t maxRecordsOf(const Options& options) {
  const auto name = firstGiven(options, {"maxRecordsPerFile", "spark.sql.files.maxRecordsPerFile"});
  return std::max<int64_t>(options.getLong(name).value_or(0), 0);
}

}  // namespace

FileLayout FileLayout::make(const FileOutputDefinition& format, const WriteDefinition& write,
                            const SchemaPtr& schema) {
  checkNames(*schema);
  if (emptyStructIn(*schema)) {
    throw Error("EMPTY_SCHEMA_NOT_SUPPORTED_FOR_DATASOURCE",
                "Rows, or structs in them, that have no columns cannot be written as " + format.name +
                    ": select at least one.",
                {{"format", format.name}});
  }
  FileLayout layout;
  layout.schema = schema;
  layout.partitionColumns = resolvePartitions(*schema, write.partitionColumns);
  std::vector<StructField> data;
  for (int i = 0; i < static_cast<int>(schema->fields().size()); ++i) {
    const auto& partitions = layout.partitionColumns;
    if (std::find(partitions.begin(), partitions.end(), i) != partitions.end()) continue;
    layout.dataColumns.push_back(i);
    data.push_back(schema->fields()[static_cast<size_t>(i)]);
  }
  if (data.empty()) {
    throw Error("ALL_PARTITION_COLUMNS_NOT_ALLOWED",
                "Files cannot be partitioned by all columns: something must be left for what is in them.");
  }
  layout.zone = TimeZone::parse(write.options.getOr("timeZone", write.timeZone));
  layout.maxRecordsPerFile = maxRecordsOf(write.options);
  layout.writeId = randomUuid();
  layout.format = format.make(write, DataType::structOf(std::move(data)));
  return layout;
}

}  // namespace thalweg
