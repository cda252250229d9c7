// What follows a commit: files that only make reading faster.
#pragma once

#include "delta/snapshot/delta_log.h"

namespace thalweg::delta {

// Writes V.crc, and a checkpoint where delta.checkpointInterval says so, on the log's executor. Never throws: a failure is
// logged, and the next version tries again.
void runPostCommit(DeltaLog& log, const SnapshotPtr& snapshot);

}  // namespace thalweg::delta
