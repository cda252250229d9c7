// The change data feed over a range of versions, as a batch reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "delta/changes/change_feed.h"
#include "delta/snapshot/delta_log.h"

namespace thalweg::delta {

// Both ends are part of it.
struct ChangeRange {
  int64_t first = 0;
  int64_t last = 0;
};

// The metadata of a version without building it where its checksum has it. Throws as DeltaLog::snapshotAt.
Metadata metadataAt(DeltaLog& log, int64_t version);

// What the commits of the range changed, oldest first, for a reader with the schema of `reading`. Throws
// Error DELTA_MISSING_FILES_UNEXPECTED_VERSION where the log has no commit of a version in the range,
// DELTA_MISSING_CHANGE_DATA where the feed was not kept all along,
// DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE and DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA where
// rows of the range do not fit the schema, and as changedFiles.
std::vector<ChangedFile> readChanges(DeltaLog& log, const ChangeRange& range, const Snapshot& reading);

}  // namespace thalweg::delta
