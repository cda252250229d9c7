#include "sources/files/file_columns.h"

namespace thalweg {

FileColumns FileColumns::make(const SchemaPtr& dataSchema, const std::vector<StructField>& partitionColumns,
                              bool hasRowIndex) {
  FileColumns columns;
  std::vector<StructField> fields = dataSchema->fields();
  columns.dataSchema = dataSchema;
  columns.dataCount = static_cast<int>(fields.size());
  fields.insert(fields.end(), partitionColumns.begin(), partitionColumns.end());
  columns.visibleCount = static_cast<int>(fields.size());
  const bool taken = DataType::structOf(fields)->fieldIndex(kFileMetadataColumn, false) >= 0;
  if (!taken) fields.push_back({std::string(kFileMetadataColumn), fileMetadataType(hasRowIndex), false});
  columns.schema = DataType::structOf(std::move(fields));
  return columns;
}

DataTypePtr fileMetadataType(bool hasRowIndex) {
  std::vector<StructField> fields = {
      {"file_path", stringType(), false},       {"file_name", stringType(), false},
      {"file_size", longType(), false},         {"file_block_start", longType(), false},
      {"file_block_length", longType(), false}, {"file_modification_time", timestampType(), false}};
  if (hasRowIndex) fields.push_back({"row_index", longType(), false});
  return DataType::structOf(std::move(fields));
}

}  // namespace thalweg
