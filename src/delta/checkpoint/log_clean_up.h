// Expired files of the log go: what time travel past the retention would need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/clock.h"
#include "delta/checkpoint/checkpoint_writer.h"
#include "delta/snapshot/snapshot.h"

namespace thalweg::delta {

enum class CleanUpGranularity { Day, Minute };

// Files that were written at or before this time are expired: `retentionMs` ago, cut down to the day (of UTC)
// or minute.
int64_t cleanUpCutoffMs(int64_t nowMs, int64_t retentionMs, CleanUpGranularity granularity);

// delta.enableExpiredLogCleanup, true unless set.
bool cleansUpExpiredLog(const Metadata& metadata);

struct CleanUpReport {
  int64_t logFiles = 0;  // commits, checksums, checkpoints, compacted files
  int64_t sidecars = 0;
};

// Removes what Delta's clean-up does: commits, checksums and checkpoints from the log's beginning up to a
// checkpoint, where the file before that checkpoint is expired and older than the newest checkpoint that
// _last_checkpoint names. So all versions from that checkpoint on can still be built. A file that seems no
// younger than the version before it counts as a millisecond younger. Then compacted files that begin in
// removed versions, and, where the table supports v2Checkpoint and a checkpoint went, expired sidecars that
// no remaining checkpoint names. Before anything of a table with V2 checkpoints goes, `newest` (just written
// of `snapshot`) gets its classic name too. The feature checkpointProtection is kept: what is removed ends at
// a checkpoint that was there before. Throws Error where the store fails; what is removed by then is a
// beginning of what would be.
CleanUpReport cleanUpLog(const Snapshot& snapshot, int64_t cutoffMs,
                         const CheckpointReport* newest = nullptr);

// The oldest version with a complete checkpoint and its own commit, whose later commits are all there;
// nothing where there is none. Its history can be relied on.
std::optional<int64_t> earliestReliableCheckpoint(FileSystem& fileSystem, const std::string& logPath);

}  // namespace thalweg::delta
