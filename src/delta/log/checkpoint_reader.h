// Reads checkpoints: classic, multi-part, and V2 (JSON or Parquet top level, file actions inline or in
// sidecars).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "delta/actions/action_reader.h"
#include "delta/actions/file_fields.h"
#include "delta/log/log_segment.h"
#include "storage/file_system.h"

namespace thalweg {
struct ParquetRowGroup;
}

namespace thalweg::delta {

// Called for each add and remove; the views are valid during the call.
using FileSink = std::function<void(const FileFields&)>;

// Delivers the checkpoint's actions in file order, adds and removes of Parquet files to `files` and all else
// to `actions`; columns that no action has are not read. Statistics come as JSON text, built from
// `stats_parsed` where the checkpoint has only that. Memory: a batch of rows. Throws Error where a file is
// missing, damaged or lacks what an action needs, or where a V2 checkpoint has no checkpointMetadata or its
// sidecars have not as many actions as it says (one cut off between its lines may still lack others: no line
// says how many there are); some actions may have been delivered by then.
// Statistics in Parquet files of at least `laterStatisticsBytes` are not read: their adds have laterStats
// instead, of a source that the sink must share if it keeps them.
void readCheckpoint(const std::shared_ptr<FileSystem>& fileSystem, const std::string& logPath,
                    const CheckpointFiles& checkpoint, const ActionSink& actions, const FileSink& files,
                    int64_t laterStatisticsBytes = std::numeric_limits<int64_t>::max());

// All but the adds and removes of Parquet files.
void readCheckpointState(FileSystem& fileSystem, const CheckpointFiles& checkpoint,
                         const ActionSink& actions);

// The adds of Parquet files, sidecars among them, but for row groups that `keepRowGroup` leaves out (by the
// bounds of add.partitionValues_parsed, where the file has them). Throws as readCheckpoint.
void readCheckpointAdds(FileSystem& fileSystem, const std::string& logPath, const CheckpointFiles& checkpoint,
                        const FileSink& files,
                        const std::function<bool(const ParquetRowGroup&)>& keepRowGroup);

// The file names of the sidecars that a checkpoint's top level names; none where it names none. Reads
// nothing else.
std::vector<std::string> sidecarNames(FileSystem& fileSystem, const CheckpointFiles& checkpoint);

}  // namespace thalweg::delta
