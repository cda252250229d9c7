// What follows a commit: files that only make reading faster, and files that nobody needs any more.
#pragma once

#include <memory>

#include "delta/snapshot/delta_log.h"

namespace thalweg::delta {

// Writes V.crc, and where delta.checkpointInterval says so a checkpoint, after which the log's expired files
// are removed (see log_clean_up.h; at most once for each day's cutoff and handle). All of it on the log's
// executor, and nothing where the table is gone by then. Never throws: a failure is logged, and a later version
// tries again.
void runPostCommit(const std::shared_ptr<DeltaLog>& log, const SnapshotPtr& snapshot);

}  // namespace thalweg::delta
