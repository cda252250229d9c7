#include "sources/files/file_columns.h"

namespace thalweg {

FileColumns FileColumns::make(const SchemaPtr& dataSchema, std::vector<StructField> partitionColumns,
                              bool caseSensitive, bool hasRowIndex) {
  FileColumns columns;
  columns.dataSchema = dataSchema;
  columns.partitionColumns = std::move(partitionColumns);
  const SchemaPtr partitions = DataType::structOf(columns.partitionColumns);
  std::vector<StructField> fields;
  std::vector<bool> placed(columns.partitionColumns.size());
  const auto addPartition = [&](int partition) {
    fields.push_back(columns.partitionColumns[static_cast<size_t>(partition)]);
    columns.sources.push_back({Origin::Folder, partition});
    placed[static_cast<size_t>(partition)] = true;
  };
  for (size_t i = 0; i < dataSchema->fields().size(); ++i) {
    const StructField& field = dataSchema->fields()[i];
    const int partition = partitions->fieldIndex(field.name, caseSensitive);
    if (partition >= 0) {
      addPartition(partition);
    } else {
      fields.push_back(field);
      columns.sources.push_back({Origin::File, static_cast<int>(i)});
    }
  }
  for (size_t i = 0; i < placed.size(); ++i) {
    if (!placed[i]) addPartition(static_cast<int>(i));
  }
  columns.visibleCount = static_cast<int>(fields.size());
  const bool taken = DataType::structOf(fields)->fieldIndex(kFileMetadataColumn, caseSensitive) >= 0;
  if (!taken) {
    fields.push_back({std::string(kFileMetadataColumn), fileMetadataType(hasRowIndex), false});
    columns.sources.push_back({Origin::Metadata});
  }
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
