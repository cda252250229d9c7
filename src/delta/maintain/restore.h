// RESTORE, without its SQL: a table becomes again what it was at an earlier version, as a new version.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "common/cancellation.h"
#include "delta/modify/table_edit.h"
#include "delta/snapshot/delta_log.h"

namespace thalweg::delta {

struct RestoreRequest {
  std::optional<int64_t> version;      // one of the two
  std::optional<int64_t> timestampMs;  // the version that was the newest then
  bool ignoreMissingFiles = false;     // files that were vacuumed are no error: their rows cannot be read
  std::optional<std::string> timestampText;  // as the statement has it, for the log
};

// As Delta names them.
struct RestoreReport {
  int64_t tableSizeAfterRestore = 0;
  int64_t numOfFilesAfterRestore = 0;
  int64_t numRemovedFiles = 0;
  int64_t numRestoredFiles = 0;
  int64_t removedFilesSize = 0;
  int64_t restoredFilesSize = 0;
};

// Commits the files of that version that are live no more, removes those that came since, and takes back the
// schema, the properties and the clustering columns. The protocol keeps every feature that it has got,
// streams' transactions, row ids and identity columns go on. A file whose deletion vector differs is removed
// and added. Any commit of another writer meanwhile that touches data is a conflict. Throws Error
// DELTA_CANNOT_RESTORE_TABLE_VERSION, DELTA_CANNOT_RESTORE_TIMESTAMP_EARLIER and _GREATER,
// DELTA_FILE_NOT_FOUND naming missing files, and the conflict's. `cancellation` outlives the call, null:
// none.
RestoreReport restoreTable(const std::shared_ptr<DeltaLog>& log, const RestoreRequest& request,
                           const RunTasks& runTasks, const CancellationToken* cancellation);

}  // namespace thalweg::delta
