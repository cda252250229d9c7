#include "delta/checkpoint/checkpoint_columns.h"

#include "delta/files/column_mapping.h"
#include "delta/files/statistics.h"
#include "delta/snapshot/table_features.h"

namespace thalweg::delta {
namespace {

DataTypePtr textMapType() {
  return DataType::map(stringType(), stringType(), true);
}

DataTypePtr deletionVectorType() {
  return DataType::structOf({{"storageType", stringType()},
                             {"pathOrInlineDv", stringType()},
                             {"offset", intType()},
                             {"sizeInBytes", intType()},
                             {"cardinality", longType()},
                             {"maxRowIndex", longType()}});
}

DataTypePtr transactionType() {
  return DataType::structOf({{"appId", stringType()}, {"version", longType()}, {"lastUpdated", longType()}});
}

DataTypePtr metadataType() {
  const DataTypePtr format = DataType::structOf({{"provider", stringType()}, {"options", textMapType()}});
  return DataType::structOf({{"id", stringType()},
                             {"name", stringType()},
                             {"description", stringType()},
                             {"format", format},
                             {"schemaString", stringType()},
                             {"partitionColumns", DataType::array(stringType())},
                             {"configuration", textMapType()},
                             {"createdTime", longType()}});
}

DataTypePtr protocolType() {
  return DataType::structOf({{"minReaderVersion", intType()},
                             {"minWriterVersion", intType()},
                             {"readerFeatures", DataType::array(stringType())},
                             {"writerFeatures", DataType::array(stringType())}});
}

DataTypePtr domainType() {
  return DataType::structOf(
      {{"domain", stringType()}, {"configuration", stringType()}, {"removed", booleanType()}});
}

DataTypePtr checkpointMetadataType() {
  return DataType::structOf({{"version", longType()}, {"tags", textMapType()}});
}

DataTypePtr sidecarType() {
  return DataType::structOf({{"path", stringType()},
                             {"sizeInBytes", longType()},
                             {"modificationTime", longType()},
                             {"tags", textMapType()}});
}

bool isPartitionColumn(const Snapshot& snapshot, const std::string& name) {
  for (const std::string& column : snapshot.partitionColumns()) {
    if (column == name) return true;
  }
  return false;
}

}  // namespace

DataTypePtr CheckpointColumns::addType() const {
  std::vector<StructField> fields = {{"path", stringType()},
                                     {"partitionValues", textMapType()},
                                     {"size", longType()},
                                     {"modificationTime", longType()},
                                     {"dataChange", booleanType()},
                                     {"tags", textMapType()},
                                     {"deletionVector", deletionVectorType()},
                                     {"baseRowId", longType()},
                                     {"defaultRowCommitVersion", longType()},
                                     {"clusteringProvider", stringType()}};
  if (statsAsJson) fields.push_back({"stats", stringType()});
  if (partitionValues) fields.push_back({"partitionValues_parsed", partitionValues});
  if (stats) fields.push_back({"stats_parsed", stats});
  return DataType::structOf(std::move(fields));
}

DataTypePtr CheckpointColumns::removeType() {
  return DataType::structOf({{"path", stringType()},
                             {"deletionTimestamp", longType()},
                             {"dataChange", booleanType()},
                             {"extendedFileMetadata", booleanType()},
                             {"partitionValues", textMapType()},
                             {"size", longType()},
                             {"deletionVector", deletionVectorType()},
                             {"baseRowId", longType()},
                             {"defaultRowCommitVersion", longType()}});
}

SchemaPtr CheckpointColumns::schema(CheckpointContent content) const {
  if (content == CheckpointContent::Files)
    return DataType::structOf({{"add", addType()}, {"remove", removeType()}});
  std::vector<StructField> fields = {{"txn", transactionType()},   {"add", addType()},
                                     {"remove", removeType()},     {"metaData", metadataType()},
                                     {"protocol", protocolType()}, {"domainMetadata", domainType()}};
  if (content == CheckpointContent::TopLevel) {
    fields.push_back({"checkpointMetadata", checkpointMetadataType()});
    fields.push_back({"sidecar", sidecarType()});
  }
  return DataType::structOf(std::move(fields));
}

CheckpointColumns checkpointColumns(const Snapshot& snapshot) {
  const Metadata& metadata = snapshot.metadata();
  CheckpointColumns columns;
  columns.statsAsJson = tableFlag(metadata, "delta.checkpoint.writeStatsAsJson", true);
  if (!tableFlag(metadata, "delta.checkpoint.writeStatsAsStruct", true)) return columns;
  const SchemaPtr physical = physicalSchema(snapshot.schema(), columnMappingMode(metadata));
  std::vector<StructField> dataFields;
  std::vector<StructField> logicalFields;
  for (size_t i = 0; i < physical->fields().size(); ++i) {
    const StructField& logical = snapshot.schema()->fields()[i];
    if (isPartitionColumn(snapshot, logical.name)) continue;
    dataFields.push_back(physical->fields()[i]);
    logicalFields.push_back(logical);
  }
  std::vector<StructField> partitionFields;
  for (const std::string& name : snapshot.partitionColumns()) {
    const int index = snapshot.schema()->fieldIndex(name, /*caseSensitive=*/false);
    const StructField& field = physical->fields()[static_cast<size_t>(index)];
    partitionFields.push_back({field.name, field.type});
  }
  if (!partitionFields.empty()) columns.partitionValues = DataType::structOf(std::move(partitionFields));
  columns.stats =
      FileStatistics(*DataType::structOf(std::move(dataFields)), *DataType::structOf(logicalFields),
                     statisticsOptions(metadata, snapshot.protocol()))
          .parsedType();
  return columns;
}

}  // namespace thalweg::delta
