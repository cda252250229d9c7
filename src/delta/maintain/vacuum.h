// VACUUM, without its SQL: takes files out of a table's folder that no retained version needs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/cancellation.h"
#include "delta/snapshot/delta_log.h"

namespace thalweg::delta {

struct VacuumRequest {
  std::optional<int64_t> retentionMs;  // absent: the table's delta.deletedFileRetentionDuration
  bool checkRetention = true;          // a retention shorter than the table's is refused
  bool dryRun = false;                 // nothing is deleted or committed
  // Only files that commits since the last vacuum removed are looked at; the folder is not listed.
  bool lite = false;
  bool logged = true;  // commits VACUUM START and VACUUM END
};

struct VacuumReport {
  int64_t numDeleted = 0;          // files and empty folders; in a dry run those that would go
  int64_t sizeBytes = 0;           // of them
  int64_t numDirectories = 0;      // that were looked at
  std::vector<std::string> paths;  // of a dry run, at most kMaxShownPaths, absolute
};
inline constexpr size_t kMaxShownPaths = 1000;

// Deletes what is older than the retention and needed by nothing: not by the newest version, not by a version
// that was the newest within the retention, nor as change data of that time. Files of writers that have not
// committed yet are safe while they are younger than the retention. Names that begin with '_' or '.' stay,
// but for partition folders and old change data; what links lead to stays. Two passes over the folder, which
// hold one folder's entry at a time: the first counts. Throws Error DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT
// and _NEGATIVE, DELTA_CANNOT_VACUUM_LITE, DELTA_UNSUPPORTED_FEATURES_FOR_WRITE, and the store's errors,
// after which VACUUM END says FAILED. `cancellation` outlives the call, null: none.
VacuumReport vacuumTable(const std::shared_ptr<DeltaLog>& log, const VacuumRequest& request,
                         const CancellationToken* cancellation);

}  // namespace thalweg::delta
