// One Parquet file of a checkpoint: a part, a top level or a sidecar.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <arrow/type_fwd.h>

#include "delta/actions/action_reader.h"
#include "delta/actions/file_fields.h"
#include "delta/log/checkpoint_reader.h"
#include "delta/log/checkpoint_statistics.h"
#include "delta/log/statistics_stream.h"
#include "formats/parquet/column_stream.h"
#include "storage/file_system.h"

namespace thalweg::delta {

// Where a checkpoint's actions go; the last two may be empty.
struct CheckpointSinks {
  ActionSink actions;
  FileSink files;
  SidecarSink sidecars;
  CheckpointMetadataSink checkpoints = {};
};

// Used by one thread, for one of its calls; file system and sinks outlive it. The calls throw Error as
// readCheckpoint, without the file's name where a column is at fault.
class ParquetCheckpointFile {
 public:
  ParquetCheckpointFile(FileSystem& fileSystem, std::string path, const CheckpointSinks& sinks);

  void readAll();
  // As readAll, but statistics stay in the file: adds have their places instead (FileFields::laterStats).
  void readAllButStatistics(const std::shared_ptr<FileSystem>& fileSystem);
  // All but adds and removes: row groups of files alone are passed over.
  void readStateOnly();
  // `keepRowGroup` false: its adds are left out; by the bounds of add.partitionValues_parsed, where the file
  // has them. Returns the number of the file's rows, those left out among them.
  int64_t readAdds(const std::function<bool(const ParquetRowGroup&)>& keepRowGroup);

 private:
  void read(ParquetColumnStream& stream);
  void readBatch(const arrow::RecordBatch& batch, int64_t firstRow);
  void passAdd(int64_t row);
  std::optional<std::string> parsedStats(int64_t row);  // of the add in fields_

  FileSystem& fileSystem_;
  std::string path_;
  const CheckpointSinks& sinks_;
  std::optional<ParsedStatistics> parsedStats_;
  std::shared_ptr<CheckpointStatistics> later_;  // null: statistics are read with the files
  FileFields fields_;
};

}  // namespace thalweg::delta
