// Reads checkpoints: classic, multi-part, and V2 (JSON or Parquet top level, file actions inline or in sidecars).
#pragma once

#include <string>

#include "delta/actions/action_reader.h"
#include "delta/log/log_segment.h"
#include "storage/file_system.h"

namespace thalweg::delta {

// Delivers the checkpoint's actions in file order; columns that no action has are not read. Statistics come as JSON text,
// built from `stats_parsed` where the checkpoint has only that. Throws Error where a file is missing, damaged or lacks
// what an action needs; some actions may have been delivered by then.
void readCheckpoint(FileSystem& fileSystem, const std::string& logPath, const CheckpointFiles& checkpoint,
                    const ActionSink& sink);

}  // namespace thalweg::delta
