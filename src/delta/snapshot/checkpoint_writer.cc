#include "delta/snapshot/checkpoint_writer.h"

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/record_batch.h>
#include <arrow/table_builder.h>

#include "common/error.h"
#include "common/fault_points.h"
#include "delta/log/checkpoint_hint.h"
#include "delta/log/log_files.h"
#include "delta/snapshot/table_features.h"
#include "formats/parquet/parquet_file.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg::delta {
namespace {

constexpr int64_t kBatchRows = 16384;
constexpr int64_t kRowGroupRows = 128 * 1024;

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

// The positions of the top-level columns.
enum Column { kTxn, kAdd, kRemove, kMetaData, kProtocol, kDomainMetadata, kNumColumns };

// Spark's checkpoint columns, without the parsed statistics.
SchemaPtr checkpointSchema() {
  const DataTypePtr txn =
      DataType::structOf({{"appId", stringType()}, {"version", longType()}, {"lastUpdated", longType()}});
  const DataTypePtr add = DataType::structOf({{"path", stringType()},
                                              {"partitionValues", textMapType()},
                                              {"size", longType()},
                                              {"modificationTime", longType()},
                                              {"dataChange", booleanType()},
                                              {"tags", textMapType()},
                                              {"deletionVector", deletionVectorType()},
                                              {"baseRowId", longType()},
                                              {"defaultRowCommitVersion", longType()},
                                              {"clusteringProvider", stringType()},
                                              {"stats", stringType()}});
  const DataTypePtr remove = DataType::structOf({{"path", stringType()},
                                                 {"deletionTimestamp", longType()},
                                                 {"dataChange", booleanType()},
                                                 {"extendedFileMetadata", booleanType()},
                                                 {"partitionValues", textMapType()},
                                                 {"size", longType()},
                                                 {"deletionVector", deletionVectorType()},
                                                 {"baseRowId", longType()},
                                                 {"defaultRowCommitVersion", longType()}});
  const DataTypePtr format = DataType::structOf({{"provider", stringType()}, {"options", textMapType()}});
  const DataTypePtr metaData = DataType::structOf({{"id", stringType()},
                                                   {"name", stringType()},
                                                   {"description", stringType()},
                                                   {"format", format},
                                                   {"schemaString", stringType()},
                                                   {"partitionColumns", DataType::array(stringType())},
                                                   {"configuration", textMapType()},
                                                   {"createdTime", longType()}});
  const DataTypePtr protocol = DataType::structOf({{"minReaderVersion", intType()},
                                                   {"minWriterVersion", intType()},
                                                   {"readerFeatures", DataType::array(stringType())},
                                                   {"writerFeatures", DataType::array(stringType())}});
  const DataTypePtr domain = DataType::structOf(
      {{"domain", stringType()}, {"configuration", stringType()}, {"removed", booleanType()}});
  return DataType::structOf({{"txn", txn},
                             {"add", add},
                             {"remove", remove},
                             {"metaData", metaData},
                             {"protocol", protocol},
                             {"domainMetadata", domain}});
}

// Fills one struct's members from the first to the last.
class StructWriter {
 public:
  explicit StructWriter(arrow::StructBuilder& builder) : builder_(builder) { throwIfFailed(builder_.Append()); }

  void text(std::string_view value) { throwIfFailed(next<arrow::StringBuilder>().Append(value)); }
  void text(const std::optional<std::string>& value) { value ? text(std::string_view(*value)) : null(); }
  void number(int64_t value) { throwIfFailed(next<arrow::Int64Builder>().Append(value)); }
  void number(const std::optional<int64_t>& value) { value ? number(*value) : null(); }
  void integer(int32_t value) { throwIfFailed(next<arrow::Int32Builder>().Append(value)); }
  void integer(const std::optional<int32_t>& value) { value ? integer(*value) : null(); }
  void flag(bool value) { throwIfFailed(next<arrow::BooleanBuilder>().Append(value)); }
  void flag(const std::optional<bool>& value) { value ? flag(*value) : null(); }
  void null() { throwIfFailed(builder_.field_builder(member_++)->AppendNull()); }
  StructWriter structure() { return StructWriter(next<arrow::StructBuilder>()); }

  template <typename Map>
  void textMap(const Map& map) {
    auto& builder = next<arrow::MapBuilder>();
    throwIfFailed(builder.Append());
    auto& keys = static_cast<arrow::StringBuilder&>(*builder.key_builder());
    auto& items = static_cast<arrow::StringBuilder&>(*builder.item_builder());
    for (const auto& [key, value] : map) {
      throwIfFailed(keys.Append(key));
      appendItem(items, value);
    }
  }
  void textList(const std::vector<std::string>& values) {
    auto& builder = next<arrow::ListBuilder>();
    throwIfFailed(builder.Append());
    auto& items = static_cast<arrow::StringBuilder&>(*builder.value_builder());
    for (const std::string& value : values) throwIfFailed(items.Append(value));
  }
  void textList(const std::optional<std::vector<std::string>>& values) {
    values ? textList(*values) : null();
  }
  void deletionVector(const std::optional<DeletionVector>& vector) {
    if (!vector) return null();
    StructWriter members = structure();
    members.text(std::string_view(vector->storageType));
    members.text(std::string_view(vector->pathOrInlineDv));
    members.integer(vector->offset);
    members.integer(vector->sizeInBytes);
    members.number(vector->cardinality);
    members.number(vector->maxRowIndex);
  }

 private:
  template <typename Builder>
  Builder& next() {
    return static_cast<Builder&>(*builder_.field_builder(member_++));
  }
  static void appendItem(arrow::StringBuilder& items, const std::string& value) {
    throwIfFailed(items.Append(value));
  }
  static void appendItem(arrow::StringBuilder& items, const std::optional<std::string>& value) {
    value ? throwIfFailed(items.Append(*value)) : throwIfFailed(items.AppendNull());
  }

  arrow::StructBuilder& builder_;
  int member_ = 0;
};

// Turns actions into rows: one action a row, its struct set and all others null.
class CheckpointRows {
 public:
  explicit CheckpointRows(ParquetFileWriter& writer, const Schema& schema) : writer_(writer) {
    builder_ = valueOrThrow(
        arrow::RecordBatchBuilder::Make(toArrowSchema(schema), arrow::default_memory_pool(), kBatchRows));
  }

  int64_t numRows() const { return numRows_; }

  void write(const AddFile& add) {
    StructWriter row = begin(kAdd);
    row.text(std::string_view(add.path));
    row.textMap(add.partitionValues);
    row.number(add.size);
    row.number(add.modificationTime);
    row.flag(false);
    add.tags.empty() ? row.null() : row.textMap(add.tags);
    row.deletionVector(add.deletionVector);
    row.number(add.baseRowId);
    row.number(add.defaultRowCommitVersion);
    row.text(add.clusteringProvider);
    row.text(add.stats);
    end();
  }
  void write(const RemoveFile& remove) {
    StructWriter row = begin(kRemove);
    row.text(std::string_view(remove.path));
    row.number(remove.deletionTimestamp);
    row.flag(false);
    row.flag(remove.extendedFileMetadata);
    remove.partitionValues ? row.textMap(*remove.partitionValues) : row.null();
    row.number(remove.size);
    row.deletionVector(remove.deletionVector);
    row.number(remove.baseRowId);
    row.number(remove.defaultRowCommitVersion);
    end();
  }
  void write(const SetTransaction& transaction) {
    StructWriter row = begin(kTxn);
    row.text(std::string_view(transaction.appId));
    row.number(transaction.version);
    row.number(transaction.lastUpdated);
    end();
  }
  void write(const Metadata& metadata) {
    StructWriter row = begin(kMetaData);
    row.text(std::string_view(metadata.id));
    row.text(metadata.name);
    row.text(metadata.description);
    StructWriter format = row.structure();
    format.text(std::string_view("parquet"));
    format.textMap(std::map<std::string, std::string>());
    row.text(std::string_view(metadata.schemaString));
    row.textList(metadata.partitionColumns);
    row.textMap(metadata.configuration);
    row.number(metadata.createdTime);
    end();
  }
  void write(const Protocol& protocol) {
    StructWriter row = begin(kProtocol);
    row.integer(protocol.minReaderVersion);
    row.integer(protocol.minWriterVersion);
    row.textList(protocol.readerFeatures);
    row.textList(protocol.writerFeatures);
    end();
  }
  void write(const DomainMetadata& domain) {
    StructWriter row = begin(kDomainMetadata);
    row.text(std::string_view(domain.domain));
    row.text(std::string_view(domain.configuration));
    row.flag(domain.removed);
    end();
  }
  void flush() {
    if (pending_ == 0) return;
    writer_.write(*valueOrThrow(builder_->Flush()));
    pending_ = 0;
  }

 private:
  StructWriter begin(Column column) {
    for (int other = 0; other < kNumColumns; ++other) {
      if (other != column) throwIfFailed(builder_->GetField(other)->AppendNull());
    }
    return StructWriter(static_cast<arrow::StructBuilder&>(*builder_->GetField(column)));
  }
  void end() {
    ++numRows_;
    if (++pending_ >= kBatchRows) flush();
  }

  ParquetFileWriter& writer_;
  std::unique_ptr<arrow::RecordBatchBuilder> builder_;
  int64_t pending_ = 0;
  int64_t numRows_ = 0;
};

CheckpointReport writeRows(const Snapshot& snapshot, ParquetFileWriter& writer, int64_t cutoffMs) {
  CheckpointReport report;
  report.version = snapshot.version();
  CheckpointRows rows(writer, *checkpointSchema());
  rows.write(snapshot.protocol());
  rows.write(snapshot.metadata());
  for (const auto& [appId, transaction] : snapshot.transactions()) rows.write(transaction);
  for (const auto& [name, domain] : snapshot.domainMetadata()) rows.write(domain);
  snapshot.files().forEachTombstone(cutoffMs, [&](const FileRecord& file) { rows.write(file.toRemove()); });
  snapshot.files().forEachLive([&](const FileRecord& file) {
    rows.write(file.toAdd());
    ++report.numOfAddFiles;
  });
  rows.flush();
  report.size = rows.numRows();
  return report;
}

}  // namespace

CheckpointReport writeCheckpoint(const Snapshot& snapshot, const Clock& clock) {
  checkWritable(snapshot.protocol(), snapshot.metadata(), snapshot.table().path);
  passFaultPoint(FaultPoint::DeltaCheckpointBefore);
  FileSystem& fileSystem = *snapshot.table().fileSystem;
  const std::string path = snapshot.logPath() + "/" + classicCheckpointFileName(snapshot.version());
  // Built in memory: the store has no stream that publishes a whole file at once, and a torn checkpoint under
  // its final name stops other engines.
  const auto stream = valueOrThrow(arrow::io::BufferOutputStream::Create());
  ParquetWriteOptions options;
  options.rowGroupRows = kRowGroupRows;
  ParquetFileWriter writer(stream, path, checkpointSchema(), options);
  CheckpointReport report =
      writeRows(snapshot, writer, clock.nowMillis() - deletedFileRetentionMs(snapshot.metadata()));
  report.sizeInBytes = writer.close();
  const auto buffer = valueOrThrow(stream->Finish());
  fileSystem.writeAtomically(path, std::string_view(*buffer));
  passFaultPoint(FaultPoint::DeltaCheckpointAfter);

  passFaultPoint(FaultPoint::LastCheckpointBefore);
  const auto hint = readCheckpointHint(fileSystem, snapshot.logPath());
  if (!hint || hint->version <= report.version) {
    writeCheckpointHint(
        fileSystem, snapshot.logPath(),
        {report.version, report.size, std::nullopt, report.sizeInBytes, report.numOfAddFiles});
  }
  return report;
}

}  // namespace thalweg::delta
