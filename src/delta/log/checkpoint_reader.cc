#include "delta/log/checkpoint_reader.h"

#include <initializer_list>
#include <limits>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "common/error.h"
#include "delta/log/arrow_struct.h"
#include "delta/log/checkpoint_statistics.h"
#include "delta/log/file_paths.h"
#include "delta/log/log_files.h"
#include "delta/log/statistics_stream.h"
#include "formats/parquet/column_stream.h"

namespace thalweg::delta {
namespace {

// Of all actions but adds and removes.
const std::vector<std::string> kStateColumns = {"txn",     "metaData",          "protocol", "domainMetadata",
                                                "sidecar", "checkpointMetadata"};

std::vector<std::string> membersOf(const std::string& column, std::initializer_list<const char*> members) {
  std::vector<std::string> paths;
  for (const char* member : members) paths.push_back(column + "." + member);
  return paths;
}

const std::vector<std::string>& addColumns() {
  static const std::vector<std::string> kColumns =
      membersOf("add", {"path", "partitionValues", "size", "modificationTime", "stats", "tags",
                        "deletionVector", "baseRowId", "defaultRowCommitVersion", "clusteringProvider"});
  return kColumns;
}

const std::vector<std::string>& allColumns() {
  static const std::vector<std::string> kColumns = [] {
    std::vector<std::string> columns = kStateColumns;
    const auto removes =
        membersOf("remove", {"path", "deletionTimestamp", "extendedFileMetadata", "partitionValues", "size",
                             "deletionVector", "baseRowId", "defaultRowCommitVersion"});
    columns.insert(columns.end(), addColumns().begin(), addColumns().end());
    columns.insert(columns.end(), removes.begin(), removes.end());
    return columns;
  }();
  return kColumns;
}

std::vector<std::string> allColumnsButStatistics() {
  std::vector<std::string> columns = allColumns();
  std::erase(columns, "add.stats");
  return columns;
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

  // False where the row has no add.
  bool read(int64_t row, FileFields& fields) const {
    const auto path = path_.viewAt(row);
    if (column_.isNull(row) || !path) return false;
    fields.clear();
    fields.path = *path;
    partitionValues_.viewAt(row, fields.partitionValues);
    fields.size = size_.at(row).value_or(0);
    fields.time = modificationTime_.at(row).value_or(0);
    fields.stats = stats_.viewAt(row);
    readTags(row, fields);
    fields.deletionVector = deletionVector_.at(row);
    fields.baseRowId = baseRowId_.at(row);
    fields.defaultRowCommitVersion = rowCommitVersion_.at(row);
    fields.clusteringProvider = clusteringProvider_.viewAt(row);
    return true;
  }

 private:
  void readTags(int64_t row, FileFields& fields) const {
    if (tags_.isNull(row)) return;
    std::vector<std::pair<std::string_view, std::optional<std::string_view>>> tags;
    tags_.viewAt(row, tags);
    for (const auto& [key, value] : tags) fields.tags.emplace_back(key, value.value_or(""));
  }

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

  // False where the row has no remove.
  bool read(int64_t row, FileFields& fields) const {
    const auto path = path_.viewAt(row);
    if (column_.isNull(row) || !path) return false;
    fields.clear();
    fields.isAdd = false;
    fields.path = *path;
    fields.time = deletionTimestamp_.at(row);
    fields.extendedFileMetadata = extendedFileMetadata_.at(row);
    fields.hasPartitionValues = !partitionValues_.isNull(row);
    partitionValues_.viewAt(row, fields.partitionValues);
    fields.size = size_.at(row);
    fields.deletionVector = deletionVector_.at(row);
    fields.baseRowId = baseRowId_.at(row);
    fields.defaultRowCommitVersion = rowCommitVersion_.at(row);
    return true;
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

struct Sinks {
  ActionSink actions;
  FileSink files;
  SidecarSink sidecars;
  CheckpointMetadataSink checkpoints = {};
};

class ParquetCheckpointFile {
 public:
  ParquetCheckpointFile(FileSystem& fileSystem, std::string path, const Sinks& sinks)
      : fileSystem_(fileSystem), path_(std::move(path)), sinks_(sinks) {}

  void readAll() {
    ParquetColumnStream stream(fileSystem_, path_, allColumns(), kBatchRows, {}, {}, NullColumns::LeaveOut);
    read(stream);
  }

  // As readAll, but statistics stay in the file.
  void readAllButStatistics(const std::shared_ptr<FileSystem>& fileSystem) {
    ParquetColumnStream stream(fileSystem_, path_, allColumnsButStatistics(), kBatchRows, {}, {},
                               NullColumns::LeaveOut);
    // Places number rows in 32 bits.
    if (stream.numRows() > std::numeric_limits<uint32_t>::max()) return readAll();
    later_ = std::make_shared<CheckpointStatistics>(fileSystem, path_);
    read(stream);
  }

  // Row groups of files alone are passed over.
  void readState() {
    const auto mayHaveState = [](const ParquetRowGroup& group) {
      for (const auto& [leaf, bounds] : group.columns) {
        if (!bounds.nullCount || *bounds.nullCount < group.numRows) return true;
      }
      // Files without statistics say nothing; all others have these two columns.
      return !group.columns.contains("metaData.id") || !group.columns.contains("protocol.minReaderVersion");
    };
    ParquetColumnStream stream(fileSystem_, path_, kStateColumns, kBatchRows, mayHaveState, kStateLeaves);
    read(stream);
  }

  void readAdds(const std::function<bool(const ParquetRowGroup&)>& keepRowGroup) {
    ParquetColumnStream stream(fileSystem_, path_, addColumns(), kBatchRows, keepRowGroup,
                               {"add.partitionValues_parsed"}, NullColumns::LeaveOut);
    read(stream);
  }

 private:
  static constexpr int64_t kBatchRows = 16384;
  // One that each action sets.
  inline static const std::vector<std::string> kStateLeaves = {
      "txn.appId", "metaData.id", "protocol.minReaderVersion", "domainMetadata.domain", "sidecar.path"};

  void read(ParquetColumnStream& stream) {
    while (const auto batch = stream.next()) readBatch(*batch, stream.firstRowIndex());
  }

  void readBatch(const arrow::RecordBatch& batch, int64_t firstRow) {
    readProtocol(batch, sinks_.actions);
    readMetadata(batch, sinks_.actions);
    readTransactions(batch, sinks_.actions);
    readDomains(batch, sinks_.actions);
    readSidecars(batch, sinks_.sidecars);
    readCheckpointMetadata(batch, sinks_.checkpoints);
    const AddColumn adds(columnOf(batch, "add"));
    const RemoveColumn removes(columnOf(batch, "remove"));
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      if (adds.read(row, fields_)) passAdd(firstRow + row);
      if (removes.read(row, fields_)) sinks_.files(fields_);
    }
  }

  void passAdd(int64_t row) {
    std::optional<std::string> parsed;
    if (later_) {
      const auto place = static_cast<uint32_t>(row);
      later_->expect(place, fields_.path);
      fields_.laterStats = StatisticsPlace{later_.get(), place};
    } else if (!fields_.stats && (parsed = parsedStats(row))) {
      fields_.stats = *parsed;
    }
    sinks_.files(fields_);
  }

  std::optional<std::string> parsedStats(int64_t row) {
    if (!parsedStats_) parsedStats_.emplace(fileSystem_, path_);
    return parsedStats_->at(row);
  }

  FileSystem& fileSystem_;
  std::string path_;
  const Sinks& sinks_;
  std::optional<ParsedStatistics> parsedStats_;
  std::shared_ptr<CheckpointStatistics> later_;  // null: statistics are read with the files
  FileFields fields_;
};

template <typename Read>
void readParquetFile(FileSystem& fileSystem, const std::string& path, const Sinks& sinks, const Read& read) {
  try {
    ParquetCheckpointFile file(fileSystem, path, sinks);
    read(file);
  } catch (const Error& error) {
    // What is wrong with a column is found where no file is known.
    if (error.text().find(path) != std::string::npos) throw;
    throw Error(error.condition(), "The checkpoint " + path + " cannot be read: " + error.text(),
                error.parameters());
  }
}

template <typename Read>
void readTopLevel(FileSystem& fileSystem, const CheckpointFiles& checkpoint, const Sinks& sinks,
                  const Read& read) {
  for (const FileInfo& file : checkpoint.files) {
    if (file.path.ends_with(".json")) {
      readActions(fileSystem.readAll(file.path), file.path, sinks.actions, sinks.sidecars, sinks.checkpoints);
    } else {
      readParquetFile(fileSystem, file.path, sinks,
                      [&](ParquetCheckpointFile& parquet) { read(parquet, file.sizeBytes); });
    }
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

namespace {

std::vector<Sidecar> sidecarsOf(FileSystem& fileSystem, const CheckpointFiles& checkpoint) {
  std::vector<Sidecar> sidecars;
  const Sinks sinks{[](Action&&) {}, [](const FileFields&) {},
                    [&](Sidecar&& sidecar) { sidecars.push_back(std::move(sidecar)); }};
  readTopLevel(fileSystem, checkpoint, sinks, [](ParquetCheckpointFile& file, int64_t) { file.readState(); });
  return sidecars;
}

// A top level of lines parses wherever it ends, and sidecars may be others than it was written with.
void checkWhole(const CheckpointFiles& checkpoint, const std::optional<CheckpointMetadata>& metadata,
                int64_t numSidecarActions) {
  const std::string& path = checkpoint.files.front().path;
  if (!metadata && path.ends_with(".json")) {
    throw Error("DELTA_STATE_RECOVER_ERROR",
                "The checkpoint " + path + " has no line checkpointMetadata: it is cut off.",
                {{"operation", "checkpointMetadata"}, {"path", path}});
  }
  if (!metadata) return;
  const auto wanted = metadata->tags.find("sidecarNumActions");
  if (wanted == metadata->tags.end() || wanted->second == std::to_string(numSidecarActions)) return;
  throw Error("DELTA_STATE_RECOVER_ERROR",
              "The checkpoint " + path + " says that its sidecars have " + wanted->second +
                  " actions, and they have " + std::to_string(numSidecarActions) + ".",
              {{"operation", "sidecar"}, {"path", path}});
}

}  // namespace

void readCheckpoint(const std::shared_ptr<FileSystem>& fileSystem, const std::string& logPath,
                    const CheckpointFiles& checkpoint, const ActionSink& actions, const FileSink& files,
                    int64_t laterStatisticsBytes) {
  std::vector<Sidecar> sidecars;
  std::optional<CheckpointMetadata> metadata;
  const Sinks sinks{actions, files, [&](Sidecar&& sidecar) { sidecars.push_back(std::move(sidecar)); },
                    [&](CheckpointMetadata&& found) { metadata = std::move(found); }};
  int64_t numSidecarActions = 0;
  const FileSink countedFiles = [&](const FileFields& file) {
    ++numSidecarActions;
    files(file);
  };
  const auto read = [&](ParquetCheckpointFile& file, int64_t sizeBytes) {
    if (sizeBytes < laterStatisticsBytes) return file.readAll();
    file.readAllButStatistics(fileSystem);
  };
  readTopLevel(*fileSystem, checkpoint, sinks, read);
  for (const Sidecar& sidecar : sidecars) {
    readParquetFile(*fileSystem, sidecarPath(logPath, sidecar), {actions, countedFiles, {}},
                    [&](ParquetCheckpointFile& file) { read(file, sidecar.sizeInBytes); });
  }
  checkWhole(checkpoint, metadata, numSidecarActions);
}

void readCheckpointState(FileSystem& fileSystem, const CheckpointFiles& checkpoint,
                         const ActionSink& actions) {
  readTopLevel(fileSystem, checkpoint, {actions, [](const FileFields&) {}, {}},
               [](ParquetCheckpointFile& file, int64_t) { file.readState(); });
}

void readCheckpointAdds(FileSystem& fileSystem, const std::string& logPath, const CheckpointFiles& checkpoint,
                        const FileSink& files,
                        const std::function<bool(const ParquetRowGroup&)>& keepRowGroup) {
  const Sinks sinks{[](Action&&) {}, files, {}};
  const auto readAdds = [&](ParquetCheckpointFile& file) { file.readAdds(keepRowGroup); };
  for (const FileInfo& file : checkpoint.files) {
    if (!file.path.ends_with(".json")) readParquetFile(fileSystem, file.path, sinks, readAdds);
  }
  for (const Sidecar& sidecar : sidecarsOf(fileSystem, checkpoint))
    readParquetFile(fileSystem, sidecarPath(logPath, sidecar), sinks, readAdds);
}

std::vector<std::string> sidecarNames(FileSystem& fileSystem, const CheckpointFiles& checkpoint) {
  std::vector<std::string> names;
  for (const Sidecar& sidecar : sidecarsOf(fileSystem, checkpoint))
    names.push_back(sidecar.path.substr(sidecar.path.rfind('/') + 1));
  return names;
}

}  // namespace thalweg::delta
