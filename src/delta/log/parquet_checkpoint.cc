#include "delta/log/parquet_checkpoint.h"

#include <initializer_list>
#include <limits>

#include <arrow/record_batch.h>

#include "delta/log/file_columns.h"
#include "delta/log/state_columns.h"

namespace thalweg::delta {
namespace {

constexpr int64_t kBatchRows = 16384;

// One that each action sets.
const std::vector<std::string> kStateLeaves = {"txn.appId", "metaData.id", "protocol.minReaderVersion",
                                               "domainMetadata.domain", "sidecar.path"};

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
    std::vector<std::string> columns = stateColumns();
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

}  // namespace

ParquetCheckpointFile::ParquetCheckpointFile(FileSystem& fileSystem, std::string path,
                                             const CheckpointSinks& sinks)
    : fileSystem_(fileSystem), path_(std::move(path)), sinks_(sinks) {}

void ParquetCheckpointFile::readAll() {
  ParquetColumnStream stream(fileSystem_, path_, allColumns(), kBatchRows, {}, {}, NullColumns::LeaveOut);
  read(stream);
}

void ParquetCheckpointFile::readAllButStatistics(const std::shared_ptr<FileSystem>& fileSystem) {
  ParquetColumnStream stream(fileSystem_, path_, allColumnsButStatistics(), kBatchRows, {}, {},
                             NullColumns::LeaveOut);
  // Places number rows in 32 bits.
  if (stream.numRows() > std::numeric_limits<uint32_t>::max()) return readAll();
  later_ = std::make_shared<CheckpointStatistics>(fileSystem, path_);
  read(stream);
}

void ParquetCheckpointFile::readStateOnly() {
  const auto mayHaveState = [](const ParquetRowGroup& group) {
    for (const auto& [leaf, bounds] : group.columns) {
      if (!bounds.nullCount || *bounds.nullCount < group.numRows) return true;
    }
    // Files without statistics say nothing; all others have these two columns.
    return !group.columns.contains("metaData.id") || !group.columns.contains("protocol.minReaderVersion");
  };
  ParquetColumnStream stream(fileSystem_, path_, stateColumns(), kBatchRows, mayHaveState, kStateLeaves);
  read(stream);
}

int64_t ParquetCheckpointFile::readAdds(const std::function<bool(const ParquetRowGroup&)>& keepRowGroup) {
  ParquetColumnStream stream(fileSystem_, path_, addColumns(), kBatchRows, keepRowGroup,
                             {"add.partitionValues_parsed"}, NullColumns::LeaveOut);
  read(stream);
  return stream.numRows();
}

void ParquetCheckpointFile::read(ParquetColumnStream& stream) {
  while (const auto batch = stream.next()) readBatch(*batch, stream.firstRowIndex());
}

void ParquetCheckpointFile::readBatch(const arrow::RecordBatch& batch, int64_t firstRow) {
  readState(batch, sinks_.actions, sinks_.sidecars, sinks_.checkpoints);
  const AddColumn adds(StructColumn(batch.GetColumnByName("add"), "add"));
  const RemoveColumn removes(StructColumn(batch.GetColumnByName("remove"), "remove"));
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    if (adds.read(row, fields_)) passAdd(firstRow + row);
    if (removes.read(row, fields_)) sinks_.files(fields_);
  }
}

void ParquetCheckpointFile::passAdd(int64_t row) {
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

std::optional<std::string> ParquetCheckpointFile::parsedStats(int64_t row) {
  if (!parsedStats_) parsedStats_.emplace(fileSystem_, path_);
  return parsedStats_->at(row, fields_.path);
}

}  // namespace thalweg::delta
