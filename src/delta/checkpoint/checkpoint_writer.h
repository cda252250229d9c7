// Writes a snapshot back into the log: classic, multi-part and V2 checkpoints, and the hint that points to
// them.
#pragma once

#include <cstdint>
#include <memory>

#include "common/clock.h"
#include "delta/snapshot/checkpoint_settings.h"
#include "delta/snapshot/snapshot.h"

namespace thalweg::delta {

struct TopLevel;

struct CheckpointReport {
  int64_t version = 0;
  int64_t size = 0;  // actions written
  int64_t sizeInBytes = 0;
  int64_t numOfAddFiles = 0;
  int32_t parts = 0;                         // of a multi-part checkpoint, else 0
  std::shared_ptr<const TopLevel> topLevel;  // of a V2 checkpoint, else null
};

// Writes live files, unexpired tombstones, protocol, metadata, transactions and domains, and then
// _last_checkpoint:
//   - V2 (<version>.checkpoint.<uuid>.json or .parquet, and sidecars of at most `settings.partSize` rows
//     under _sidecars) where delta.checkpointPolicy is v2;
//   - else <version>.checkpoint.parquet, or, where `settings` sets a smaller part size, parts of that many
//     rows. Parts are not written where the table supports v2Checkpoint, which forbids them, nor beside
//     another checkpoint of the version, whose parts could be taken for ours.
// Readers see a whole checkpoint or none. May run on any thread while the table goes on; memory: one row
// group, and of a classic checkpoint the compressed file. Statistics that the snapshot left in an older
// checkpoint come from there, or, where that is gone, from the version read anew: none is lost. The hint is
// left alone where it names a newer version. Passes the fault points DeltaCheckpointBefore,
// DeltaCheckpointAfter and LastCheckpointBefore. Throws Error where the store fails (callers after a commit
// log that and go on), for tables whose protocol we may not write, and as reloadSnapshot.
CheckpointReport writeCheckpoint(const Snapshot& snapshot, const Clock& clock = systemClock(),
                                 const CheckpointSettings& settings = {});

// Whether delta.checkpointPolicy is v2.
bool hasV2Policy(const Metadata& metadata);

// Gives the V2 checkpoint `report`, just written of `snapshot`, the classic name too, so that readers that
// know no V2 checkpoints find the protocol, which names the feature that they lack, when the log's first
// commits are gone.
void writeCompatibilityCheckpoint(const Snapshot& snapshot, const CheckpointReport& report);

}  // namespace thalweg::delta
