#include "delta/checkpoint/checkpoint_writer.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "common/error.h"
#include "common/fault_points.h"
#include "common/options.h"
#include "common/uuid.h"
#include "delta/checkpoint/checkpoint_file.h"
#include "delta/checkpoint/top_level.h"
#include "delta/log/checkpoint_hint.h"
#include "delta/log/checkpoint_statistics.h"
#include "delta/log/log_files.h"
#include "delta/snapshot/delta_log.h"
#include "delta/snapshot/table_features.h"
#include "types/schema_json.h"

namespace thalweg::delta {
namespace {

constexpr int64_t kSidecarRows = 50000;
// Longer schemas are left out of the top level, as Spark does.
constexpr size_t kMaxSchemaChars = 20000;

class CheckpointWrite {
 public:
  CheckpointWrite(const Snapshot& snapshot, const Clock& clock, const CheckpointSettings& settings)
      : snapshot_(snapshot),
        fileSystem_(*snapshot.table().fileSystem),
        settings_(settings),
        columns_(checkpointColumns(snapshot)),
        cutoffMs_(clock.nowMillis() - deletedFileRetentionMs(snapshot.metadata())) {
    report_.version = snapshot.version();
    report_.numOfAddFiles = snapshot.numFiles();
  }

  CheckpointHint writeV2() {
    writeSidecars();
    const auto topLevel = std::make_shared<const TopLevel>(makeTopLevel());
    const TopLevel& top = *topLevel;
    const std::string name =
        uuidCheckpointFileName(snapshot_.version(), randomUuid(), settings_.parquetTopLevel);
    const std::string path = snapshot_.logPath() + "/" + name;
    top.write(fileSystem_, path, columns_);
    report_.topLevel = topLevel;
    report_.size += top.numRows();
    const auto file = fileSystem_.stat(path);
    if (file) report_.sizeInBytes += file->sizeBytes;
    CheckpointHint hint = hintOf();
    hint.v2.emplace();
    hint.v2->path = name;
    hint.v2->sizeInBytes = file ? file->sizeBytes : 0;
    hint.v2->modificationTime = file ? file->modificationTimeMs : 0;
    hint.v2->nonFileActions = top.nonFileLines();
    hint.v2->sidecars = top.sidecars;
    return hint;
  }

  CheckpointHint writeClassic() {
    const int64_t parts = numParts();
    if (parts > 1) return writeParts(static_cast<int32_t>(parts));
    const std::string path = snapshot_.logPath() + "/" + classicCheckpointFileName(snapshot_.version());
    CheckpointFile file(fileSystem_, path, columns_, CheckpointContent::Whole,
                        CheckpointFile::Publication::AtClose, snapshot_.numFiles());
    for (const Action& action : nonFileActions(snapshot_)) file.write(action);
    forEachFile([&](const FileFields& fields) { file.write(fields); });
    report_.size = file.numRows();
    report_.sizeInBytes = file.close();
    return hintOf();
  }

  CheckpointReport report() && { return std::move(report_); }

 private:
  template <typename Visit>
  void forEachFile(const Visit& visit) {
    FileFields fields;
    StatisticsCursor statistics;
    const auto pass = [&](const FileRecord& record) {
      record.read(fields, Statistics::InRecord);
      if (fields.laterStats) fields.stats = statistics.at(*fields.laterStats, fields.path);
      visit(fields);
    };
    snapshot_.files().forEachTombstone(cutoffMs_, pass);
    if (snapshot_.partitionColumns().empty()) return snapshot_.files().forEachLive(pass);
    for (const FileRecord& record : byPartition()) pass(record);
  }

  // Files of a partition lie together: readers of few partitions pass row groups over by their bounds.
  std::vector<FileRecord> byPartition() const {
    std::map<std::string_view, size_t> sizes;
    std::vector<FileRecord> files;
    files.reserve(static_cast<size_t>(snapshot_.numFiles()));
    std::string_view last;
    size_t* lastSize = nullptr;
    snapshot_.files().forEachLive([&](const FileRecord& record) {
      files.push_back(record);
      const std::string_view key = record.partitionKey();
      if (!lastSize || key != last) lastSize = &sizes[last = key];
      ++*lastSize;
    });
    size_t begin = 0;
    for (auto& [key, size] : sizes) begin += std::exchange(size, begin);
    std::vector<FileRecord> ordered(files);
    for (const FileRecord& record : files) ordered[sizes[record.partitionKey()]++] = record;
    return ordered;
  }

  int64_t numFileRows() {
    int64_t rows = snapshot_.numFiles();
    snapshot_.files().forEachTombstone(cutoffMs_, [&](const FileRecord&) { ++rows; });
    return rows;
  }

  static int64_t partsOf(int64_t rows, int64_t partSize) {
    return std::max<int64_t>(1, (rows + partSize - 1) / partSize);
  }

  // Of a checkpoint in the old form.
  int64_t numParts() {
    if (!settings_.partSize || *settings_.partSize < 1) return 1;
    const int64_t parts = partsOf(numFileRows(), *settings_.partSize);
    if (parts <= 1 || parts > std::numeric_limits<int32_t>::max()) return 1;
    return supportsFeature(snapshot_.protocol(), "v2Checkpoint") || hasOtherCheckpoint() ? 1 : parts;
  }

  bool hasOtherCheckpoint() {
    for (const FileInfo& file :
         fileSystem_.listFrom(snapshot_.logPath(), firstNameOfVersion(snapshot_.version()))) {
      const auto name = parseLogFileName(file.name());
      if (name && name->isCheckpoint() && name->version == snapshot_.version()) return true;
    }
    return false;
  }

  // Rows of the table's files spread evenly over `parts` files, which `open` opens by their numbers from 1.
  template <typename Open, typename Close>
  void spread(int64_t parts, const Open& open, const Close& close) {
    const int64_t rows = numFileRows();
    int64_t part = 0;
    int64_t row = 0;
    std::unique_ptr<CheckpointFile> file = open(++part);
    forEachFile([&](const FileFields& fields) {
      while (part < parts && row >= rows * part / parts) {
        close(*file);
        file = open(++part);
      }
      file->write(fields);
      ++row;
    });
    close(*file);
  }

  CheckpointHint writeParts(int32_t parts) {
    spread(
        parts,
        [&](int64_t part) {
          auto file = std::make_unique<CheckpointFile>(
              fileSystem_,
              snapshot_.logPath() + "/" +
                  partCheckpointFileName(snapshot_.version(), static_cast<int32_t>(part), parts),
              columns_, CheckpointContent::Whole, CheckpointFile::Publication::AtClose,
              snapshot_.numFiles() / parts);
          if (part > 1) return file;
          for (const Action& action : nonFileActions(snapshot_)) file->write(action);
          return file;
        },
        [&](CheckpointFile& file) { closeFile(file); });
    report_.parts = parts;
    CheckpointHint hint = hintOf();
    hint.parts = parts;
    return hint;
  }

  void writeSidecars() {
    const int64_t rows = numFileRows();
    if (rows == 0) return;
    const int64_t partSize = settings_.partSize.value_or(kSidecarRows);
    const int64_t parts = partsOf(rows, std::max<int64_t>(partSize, 1));
    const std::string folder = snapshot_.logPath() + "/" + std::string(kSidecarFolder) + "/";
    std::string name;
    spread(
        parts,
        [&](int64_t part) {
          name = sidecarFileName(snapshot_.version(), part, parts, randomUuid());
          return std::make_unique<CheckpointFile>(fileSystem_, folder + name, columns_,
                                                  CheckpointContent::Files,
                                                  CheckpointFile::Publication::AsGrows);
        },
        [&](CheckpointFile& file) {
          Sidecar sidecar{name, closeFile(file), 0};
          if (const auto info = fileSystem_.stat(folder + name))
            sidecar.modificationTime = info->modificationTimeMs;
          sidecars_.push_back(std::move(sidecar));
        });
  }

  int64_t closeFile(CheckpointFile& file) {
    report_.size += file.numRows();
    const int64_t size = file.close();
    report_.sizeInBytes += size;
    return size;
  }

  TopLevel makeTopLevel() const {
    TopLevel top;
    top.metadata.version = snapshot_.version();
    top.metadata.tags = {{"sidecarNumActions", std::to_string(report_.size)},
                         {"sidecarSizeInBytes", std::to_string(report_.sizeInBytes)},
                         {"numOfAddFiles", std::to_string(report_.numOfAddFiles)}};
    std::string schema = toSchemaJson(*columns_.schema(CheckpointContent::Files));
    if (schema.size() <= kMaxSchemaChars) top.metadata.tags.emplace("sidecarFileSchema", std::move(schema));
    top.sidecars = sidecars_;
    top.actions = nonFileActions(snapshot_);
    return top;
  }

  CheckpointHint hintOf() const {
    CheckpointHint hint;
    hint.version = report_.version;
    hint.size = report_.size;
    hint.sizeInBytes = report_.sizeInBytes;
    hint.numOfAddFiles = report_.numOfAddFiles;
    return hint;
  }

  const Snapshot& snapshot_;
  FileSystem& fileSystem_;
  const CheckpointSettings& settings_;
  CheckpointColumns columns_;
  int64_t cutoffMs_;
  std::vector<Sidecar> sidecars_;
  CheckpointReport report_;
};

}  // namespace

bool hasV2Policy(const Metadata& metadata) {
  return equalsIgnoreCase(tableProperty(metadata, kCheckpointPolicy).value_or(""), "v2");
}

namespace {

CheckpointReport writeWithStatistics(const Snapshot& snapshot, const Clock& clock,
                                     const CheckpointSettings& settings) {
  passFaultPoint(FaultPoint::DeltaCheckpointBefore);
  CheckpointWrite write(snapshot, clock, settings);
  const CheckpointHint hint = hasV2Policy(snapshot.metadata()) ? write.writeV2() : write.writeClassic();
  passFaultPoint(FaultPoint::DeltaCheckpointAfter);

  passFaultPoint(FaultPoint::LastCheckpointBefore);
  FileSystem& fileSystem = *snapshot.table().fileSystem;
  const auto known = readCheckpointHint(fileSystem, snapshot.logPath());
  if (!known || known->version <= hint.version) writeCheckpointHint(fileSystem, snapshot.logPath(), hint);
  return std::move(write).report();
}

}  // namespace

CheckpointReport writeCheckpoint(const Snapshot& snapshot, const Clock& clock,
                                 const CheckpointSettings& settings) {
  checkWritable(snapshot.protocol(), snapshot.metadata(), snapshot.table().path);
  try {
    if (!snapshot.files().hasLostStatistics()) return writeWithStatistics(snapshot, clock, settings);
  } catch (const Error&) {
    if (!snapshot.files().hasLostStatistics()) throw;
  }
  return writeWithStatistics(*reloadSnapshot(snapshot, clock), clock, settings);
}

void writeCompatibilityCheckpoint(const Snapshot& snapshot, const CheckpointReport& report) {
  const std::string path = snapshot.logPath() + "/" + classicCheckpointFileName(report.version);
  report.topLevel->write(*snapshot.table().fileSystem, path, checkpointColumns(snapshot));
}

}  // namespace thalweg::delta
