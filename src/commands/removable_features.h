// The features that ALTER TABLE … DROP FEATURE can take from a Delta table, and what has to go before.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command_session.h"
#include "delta/commit/transaction.h"
#include "delta/log/log_segment.h"
#include "delta/snapshot/delta_log.h"

namespace thalweg {

// A table from which a feature is dropped.
struct DroppedFrom {
  std::shared_ptr<delta::DeltaLog> log;
  CommandSession* session = nullptr;
};

struct RemovableFeature {
  std::string_view name;
  // Readers must know it too: history may hold what they could not read.
  bool leavesHistory = false;
  // Whether nothing in this version uses it: its properties are off, no file and no column needs it.
  bool (*isClean)(const delta::Snapshot& snapshot) = nullptr;
  // Commits until the newest version is clean. True where it was in use until then, so that the history still
  // tells of it. Throws Error where that is the user's to do, and unsupported().
  bool (*clean)(const DroppedFrom& table) = nullptr;
  // Of features that leave history: whether a commit's or version's action uses it.
  bool (*isUsedBy)(const delta::Action& action) = nullptr;
  // What the commit that drops it removes besides.
  std::vector<std::string> properties = {};
  std::vector<std::string> domains = {};
  std::vector<std::string> neededBy = {};  // other features
};

// Null where a feature of this name cannot be dropped (or there is none).
const RemovableFeature* findRemovableFeature(std::string_view name);

// An empty commit, then a checkpoint of it: history up to here can be told from what follows. Throws the
// commit's errors.
void commitBarrier(const DroppedFrom& table);
// Throws the store's errors.
void writeBarrierCheckpoint(const DroppedFrom& table);

// By its name or its content.
bool isV2Checkpoint(FileSystem& fileSystem, const delta::CheckpointFiles& checkpoint);

// Whether no version below the one that the feature checkpointProtection protects is in the log.
bool isProtectedHistoryGone(const delta::Snapshot& snapshot);

}  // namespace thalweg
