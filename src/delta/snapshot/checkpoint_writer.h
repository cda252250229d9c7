// Writes a snapshot as a classic V1 checkpoint, in Spark's columns, and the hint that points to it.
#pragma once

#include <cstdint>

#include "common/clock.h"
#include "delta/snapshot/snapshot.h"

namespace thalweg::delta {

struct CheckpointReport {
  int64_t version = 0;
  int64_t size = 0;  // actions written
  int64_t sizeInBytes = 0;
  int64_t numOfAddFiles = 0;
};

// Writes V.checkpoint.parquet (live files, unexpired tombstones, protocol, metadata, transactions, domains; statistics as
// JSON) and then _last_checkpoint. Readers see the whole file or none. May run on any thread while the table goes on;
// memory: the compressed checkpoint and one row group. The hint is left alone where it names a newer version.
// Passes the fault points DeltaCheckpointBefore, DeltaCheckpointAfter and LastCheckpointBefore. Throws Error where the
// store fails: callers after a commit log that and go on. Throws Error for tables whose protocol we may not write.
CheckpointReport writeCheckpoint(const Snapshot& snapshot, const Clock& clock = systemClock());

}  // namespace thalweg::delta
