#include "delta/log/state_columns.h"

#include <arrow/record_batch.h>

#include "delta/log/arrow_struct.h"
#include "delta/log/file_columns.h"

namespace thalweg::delta {
namespace {

std::map<std::string, std::string> withoutNulls(std::map<std::string, std::optional<std::string>> values) {
  std::map<std::string, std::string> result;
  for (auto& [key, value] : values) result.emplace_hint(result.end(), key, value.value_or(""));
  return result;
}

StructColumn columnOf(const arrow::RecordBatch& batch, const char* name) {
  return StructColumn(batch.GetColumnByName(name), name);
}

void readMetadata(const arrow::RecordBatch& batch, const ActionSink& sink) {
  const StructColumn column = columnOf(batch, "metaData");
  const TextColumn id = column.text("id");
  const TextColumn name = column.text("name");
  const TextColumn description = column.text("description");
  const TextColumn schemaString = column.text("schemaString");
  const TextListColumn partitionColumns = column.textList("partitionColumns");
  const LongColumn createdTime = column.number("createdTime");
  const TextMapColumn configuration = column.textMap("configuration");
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    if (column.isNull(row) || !id.at(row)) continue;
    Metadata metadata;
    metadata.id = *id.at(row);
    metadata.name = name.at(row);
    metadata.description = description.at(row);
    metadata.schemaString = schemaString.at(row).value_or("");
    metadata.partitionColumns = partitionColumns.at(row).value_or(std::vector<std::string>());
    metadata.createdTime = createdTime.at(row);
    metadata.configuration = withoutNulls(configuration.at(row));
    sink(std::move(metadata));
  }
}

void readProtocol(const arrow::RecordBatch& batch, const ActionSink& sink) {
  const StructColumn column = columnOf(batch, "protocol");
  const LongColumn reader = column.number("minReaderVersion");
  const LongColumn writer = column.number("minWriterVersion");
  const TextListColumn readerFeatures = column.textList("readerFeatures");
  const TextListColumn writerFeatures = column.textList("writerFeatures");
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    if (column.isNull(row) || !reader.at(row)) continue;
    Protocol protocol;
    protocol.minReaderVersion = *narrowed(reader.at(row));
    protocol.minWriterVersion = narrowed(writer.at(row)).value_or(0);
    protocol.readerFeatures = readerFeatures.at(row);
    protocol.writerFeatures = writerFeatures.at(row);
    sink(std::move(protocol));
  }
}

void readTransactions(const arrow::RecordBatch& batch, const ActionSink& sink) {
  const StructColumn column = columnOf(batch, "txn");
  const TextColumn appId = column.text("appId");
  const LongColumn version = column.number("version");
  const LongColumn lastUpdated = column.number("lastUpdated");
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    if (column.isNull(row) || !appId.at(row)) continue;
    sink(SetTransaction{*appId.at(row), version.at(row).value_or(0), lastUpdated.at(row)});
  }
}

void readDomains(const arrow::RecordBatch& batch, const ActionSink& sink) {
  const StructColumn column = columnOf(batch, "domainMetadata");
  const TextColumn domain = column.text("domain");
  const TextColumn configuration = column.text("configuration");
  const BoolColumn removed = column.flag("removed");
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    if (column.isNull(row) || !domain.at(row)) continue;
    sink(
        DomainMetadata{*domain.at(row), configuration.at(row).value_or(""), removed.at(row).value_or(false)});
  }
}

void readSidecars(const arrow::RecordBatch& batch, const SidecarSink& sidecars) {
  if (!sidecars) return;
  const StructColumn column = columnOf(batch, "sidecar");
  const TextColumn path = column.text("path");
  const LongColumn size = column.number("sizeInBytes");
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    if (!column.isNull(row) && path.at(row)) sidecars(Sidecar{*path.at(row), size.at(row).value_or(0), 0});
  }
}

void readCheckpointMetadata(const arrow::RecordBatch& batch, const CheckpointMetadataSink& checkpoints) {
  if (!checkpoints) return;
  const StructColumn column = columnOf(batch, "checkpointMetadata");
  const LongColumn version = column.number("version");
  const TextMapColumn tags = column.textMap("tags");
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    if (column.isNull(row) || !version.at(row)) continue;
    checkpoints(CheckpointMetadata{*version.at(row), withoutNulls(tags.at(row))});
  }
}

}  // namespace

const std::vector<std::string>& stateColumns() {
  static const std::vector<std::string> kColumns = {
      "txn", "metaData", "protocol", "domainMetadata", "sidecar", "checkpointMetadata"};
  return kColumns;
}

void readState(const arrow::RecordBatch& batch, const ActionSink& actions, const SidecarSink& sidecars,
               const CheckpointMetadataSink& checkpoints) {
  readProtocol(batch, actions);
  readMetadata(batch, actions);
  readTransactions(batch, actions);
  readDomains(batch, actions);
  readSidecars(batch, sidecars);
  readCheckpointMetadata(batch, checkpoints);
}

}  // namespace thalweg::delta
