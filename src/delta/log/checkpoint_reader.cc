#include "delta/log/checkpoint_reader.h"

#include <limits>

#include <arrow/array.h>
#include <arrow/table.h>

#include "common/error.h"
#include "delta/log/arrow_struct.h"
#include "delta/log/file_paths.h"
#include "delta/log/log_files.h"
#include "delta/log/parsed_stats.h"
#include "formats/parquet/parquet_file.h"

namespace thalweg::delta {
namespace {

const std::vector<std::string>& wantedColumns() {
  static const std::vector<std::string> kColumns = [] {
    std::vector<std::string> columns = {"txn", "metaData", "protocol", "domainMetadata", "sidecar"};
    for (const char* field :
         {"path", "partitionValues", "size", "modificationTime", "dataChange", "stats", "tags",
          "deletionVector", "baseRowId", "defaultRowCommitVersion", "clusteringProvider"}) {
      columns.push_back(std::string("add.") + field);
    }
    for (const char* field :
         {"path", "deletionTimestamp", "dataChange", "extendedFileMetadata", "partitionValues", "size",
          "deletionVector", "baseRowId", "defaultRowCommitVersion"}) {
      columns.push_back(std::string("remove.") + field);
    }
    return columns;
  }();
  return kColumns;
}

std::map<std::string, std::string> withoutNulls(std::map<std::string, std::optional<std::string>> values) {
  std::map<std::string, std::string> result;
  for (auto& [key, value] : values) result.emplace_hint(result.end(), key, value.value_or(""));
  return result;
}

std::optional<int32_t> narrow(const std::optional<int64_t>& value) {
  if (!value) return std::nullopt;
  if (*value < std::numeric_limits<int32_t>::min() || *value > std::numeric_limits<int32_t>::max()) {
    throw Error("DELTA_STATE_RECOVER_ERROR", "A number of the checkpoint does not fit into 32 bits.");
  }
  return static_cast<int32_t>(*value);
}

class DeletionVectorColumn {
 public:
  explicit DeletionVectorColumn(const StructColumn& column)
      : column_(column),
        storageType_(column.text("storageType")),
        path_(column.text("pathOrInlineDv")),
        offset_(column.number("offset")),
        size_(column.number("sizeInBytes")),
        cardinality_(column.number("cardinality")),
        maxRowIndex_(column.number("maxRowIndex")) {}

  std::optional<DeletionVector> at(int64_t row) const {
    auto storageType = storageType_.at(row);
    // Some writers fill the struct with nulls instead of leaving it out.
    if (column_.isNull(row) || !storageType) return std::nullopt;
    DeletionVector vector;
    vector.storageType = std::move(*storageType);
    vector.pathOrInlineDv = path_.at(row).value_or("");
    vector.offset = narrow(offset_.at(row));
    vector.sizeInBytes = narrow(size_.at(row)).value_or(0);
    vector.cardinality = cardinality_.at(row).value_or(0);
    vector.maxRowIndex = maxRowIndex_.at(row);
    return vector;
  }

 private:
  StructColumn column_;
  TextColumn storageType_;
  TextColumn path_;
  LongColumn offset_;
  LongColumn size_;
  LongColumn cardinality_;
  LongColumn maxRowIndex_;
};

class AddColumn {
 public:
  explicit AddColumn(const StructColumn& column)
      : column_(column),
        path_(column.text("path")),
        partitionValues_(column.textMap("partitionValues")),
        size_(column.number("size")),
        modificationTime_(column.number("modificationTime")),
        stats_(column.text("stats")),
        tags_(column.textMap("tags")),
        deletionVector_(column.structure("deletionVector")),
        baseRowId_(column.number("baseRowId")),
        rowCommitVersion_(column.number("defaultRowCommitVersion")),
        clusteringProvider_(column.text("clusteringProvider")) {}

  std::optional<AddFile> at(int64_t row) const {
    auto path = path_.at(row);
    if (column_.isNull(row) || !path) return std::nullopt;
    AddFile add;
    add.path = std::move(*path);
    add.partitionValues = partitionValues_.at(row);
    add.size = size_.at(row).value_or(0);
    add.modificationTime = modificationTime_.at(row).value_or(0);
    add.dataChange = false;
    add.stats = stats_.at(row);
    add.tags = withoutNulls(tags_.at(row));
    add.deletionVector = deletionVector_.at(row);
    add.baseRowId = baseRowId_.at(row);
    add.defaultRowCommitVersion = rowCommitVersion_.at(row);
    add.clusteringProvider = clusteringProvider_.at(row);
    return add;
  }

 private:
  StructColumn column_;
  TextColumn path_;
  TextMapColumn partitionValues_;
  LongColumn size_;
  LongColumn modificationTime_;
  TextColumn stats_;
  TextMapColumn tags_;
  DeletionVectorColumn deletionVector_;
  LongColumn baseRowId_;
  LongColumn rowCommitVersion_;
  TextColumn clusteringProvider_;
};

class RemoveColumn {
 public:
  explicit RemoveColumn(const StructColumn& column)
      : column_(column),
        path_(column.text("path")),
        deletionTimestamp_(column.number("deletionTimestamp")),
        extendedFileMetadata_(column.flag("extendedFileMetadata")),
        partitionValues_(column.textMap("partitionValues")),
        size_(column.number("size")),
        deletionVector_(column.structure("deletionVector")),
        baseRowId_(column.number("baseRowId")),
        rowCommitVersion_(column.number("defaultRowCommitVersion")) {}

  std::optional<RemoveFile> at(int64_t row) const {
    auto path = path_.at(row);
    if (column_.isNull(row) || !path) return std::nullopt;
    RemoveFile remove;
    remove.path = std::move(*path);
    remove.deletionTimestamp = deletionTimestamp_.at(row);
    remove.dataChange = false;
    remove.extendedFileMetadata = extendedFileMetadata_.at(row);
    if (!partitionValues_.isNull(row)) remove.partitionValues = partitionValues_.at(row);
    remove.size = size_.at(row);
    remove.deletionVector = deletionVector_.at(row);
    remove.baseRowId = baseRowId_.at(row);
    remove.defaultRowCommitVersion = rowCommitVersion_.at(row);
    return remove;
  }

 private:
  StructColumn column_;
  TextColumn path_;
  LongColumn deletionTimestamp_;
  BoolColumn extendedFileMetadata_;
  TextMapColumn partitionValues_;
  LongColumn size_;
  DeletionVectorColumn deletionVector_;
  LongColumn baseRowId_;
  LongColumn rowCommitVersion_;
};

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
    protocol.minReaderVersion = *narrow(reader.at(row));
    protocol.minWriterVersion = narrow(writer.at(row)).value_or(0);
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

// Batches of both tables end at the same rows only by accident: rows of the second are found by their number.
class ParsedStats {
 public:
  ParsedStats(FileSystem& fileSystem, const std::string& path)
      : table_(readParquetTable(fileSystem, path, {"add.stats_parsed"})) {
    if (const auto column = table_->GetColumnByName("add")) chunks_ = column->chunks();
  }

  // Rows are asked for in rising order.
  std::optional<std::string> at(int64_t row) {
    while (chunk_ < chunks_.size() && row - firstRow_ >= chunks_[chunk_]->length()) {
      firstRow_ += chunks_[chunk_++]->length();
      stats_.reset();
    }
    if (chunk_ >= chunks_.size()) return std::nullopt;
    if (!stats_) stats_ = StructColumn(chunks_[chunk_], "add").member("stats_parsed");
    return stats_ ? parsedStatsToJson(*stats_, row - firstRow_) : std::nullopt;
  }

 private:
  std::shared_ptr<arrow::Table> table_;
  arrow::ArrayVector chunks_;
  std::shared_ptr<arrow::Array> stats_;
  size_t chunk_ = 0;
  int64_t firstRow_ = 0;
};

class ParquetCheckpointFile {
 public:
  ParquetCheckpointFile(FileSystem& fileSystem, std::string path, const ActionSink& sink,
                        const SidecarSink& sidecars)
      : fileSystem_(fileSystem), path_(std::move(path)), sink_(sink), sidecars_(sidecars) {}

  void read() {
    const auto table = readParquetTable(fileSystem_, path_, wantedColumns());
    arrow::TableBatchReader batches(*table);
    int64_t firstRow = 0;
    while (true) {
      std::shared_ptr<arrow::RecordBatch> batch;
      const arrow::Status status = batches.ReadNext(&batch);
      if (!status.ok())
        throw Error("DELTA_STATE_RECOVER_ERROR", "The checkpoint " + path_ + ": " + status.ToString());
      if (!batch) return;
      readBatch(*batch, firstRow);
      firstRow += batch->num_rows();
    }
  }

 private:
  void readBatch(const arrow::RecordBatch& batch, int64_t firstRow) {
    readProtocol(batch, sink_);
    readMetadata(batch, sink_);
    readTransactions(batch, sink_);
    readDomains(batch, sink_);
    readSidecars(batch, sidecars_);
    const AddColumn adds(columnOf(batch, "add"));
    const RemoveColumn removes(columnOf(batch, "remove"));
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      if (auto add = adds.at(row)) {
        if (!add->stats) add->stats = parsedStats(firstRow + row);
        sink_(std::move(*add));
      }
      if (auto remove = removes.at(row)) sink_(std::move(*remove));
    }
  }

  std::optional<std::string> parsedStats(int64_t row) {
    if (!parsedStats_) parsedStats_.emplace(fileSystem_, path_);
    return parsedStats_->at(row);
  }

  FileSystem& fileSystem_;
  std::string path_;
  const ActionSink& sink_;
  const SidecarSink& sidecars_;
  std::optional<ParsedStats> parsedStats_;
};

void readFile(FileSystem& fileSystem, const std::string& path, const ActionSink& sink,
              const SidecarSink& sidecars) {
  if (path.ends_with(".json")) {
    readActions(fileSystem.readAll(path), path, sink, sidecars);
    return;
  }
  try {
    ParquetCheckpointFile(fileSystem, path, sink, sidecars).read();
  } catch (const Error& error) {
    // What is wrong with a column is found where no file is known.
    if (error.text().find(path) != std::string::npos) throw;
    throw Error(error.condition(), "The checkpoint " + path + " cannot be read: " + error.text(), error.parameters());
  }
}

// Sidecars are named by file name, or by a path below the table or the store.
std::string sidecarPath(const std::string& logPath, const Sidecar& sidecar) {
  const std::string path = canonicalFilePath(sidecar.path, "");
  if (path.starts_with('/')) return path;
  const size_t slash = path.rfind('/');
  return logPath + "/" + std::string(kSidecarFolder) + "/" +
         (slash == std::string::npos ? path : path.substr(slash + 1));
}

}  // namespace

void readCheckpoint(FileSystem& fileSystem, const std::string& logPath, const CheckpointFiles& checkpoint,
                    const ActionSink& sink) {
  std::vector<Sidecar> sidecars;
  for (const FileInfo& file : checkpoint.files) {
    readFile(fileSystem, file.path, sink, [&](Sidecar&& sidecar) { sidecars.push_back(std::move(sidecar)); });
  }
  for (const Sidecar& sidecar : sidecars) readFile(fileSystem, sidecarPath(logPath, sidecar), sink, {});
}

}  // namespace thalweg::delta
