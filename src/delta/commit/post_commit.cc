#include "delta/commit/post_commit.h"

#include "common/error.h"
#include "common/fault_points.h"
#include "common/logging.h"
#include "delta/checkpoint/checkpoint_writer.h"
#include "delta/checkpoint/log_clean_up.h"
#include "delta/log/log_files.h"
#include "delta/log/version_checksum.h"
#include "delta/snapshot/table_features.h"
#include "storage/temporary_names.h"

namespace thalweg::delta {
namespace {

template <typename Values>
auto valuesOf(const Values& map) {
  std::vector<typename Values::mapped_type> values;
  for (const auto& [key, value] : map) values.push_back(value);
  return values;
}

// A table that was dropped or moved since its commit gets no folder anew for the sake of what follows it.
bool isThere(const Snapshot& snapshot) {
  const std::string commit = snapshot.logPath() + "/" + commitFileName(snapshot.version());
  return snapshot.table().fileSystem->stat(commit).has_value();
}

void writeVersionChecksum(const Snapshot& snapshot) {
  if (!isThere(snapshot)) return;
  passFaultPoint(FaultPoint::DeltaChecksumBefore);
  VersionChecksum checksum;
  checksum.txnId = snapshot.txnId();
  checksum.tableSizeBytes = snapshot.sizeInBytes();
  checksum.numFiles = snapshot.numFiles();
  if (tableFlag(snapshot.metadata(), kEnableInCommitTimestamps))
    checksum.inCommitTimestamp = snapshot.state().inCommitTimestampMs;
  if (snapshot.transactions().size() <= kMaxChecksumTransactions) {
    checksum.setTransactions = valuesOf(snapshot.transactions());
  }
  if (snapshot.domainMetadata().size() <= kMaxChecksumDomains) {
    checksum.domainMetadata = valuesOf(snapshot.domainMetadata());
  }
  checksum.metadata = snapshot.metadata();
  checksum.protocol = snapshot.protocol();
  writeChecksum(*snapshot.table().fileSystem, snapshot.logPath(), snapshot.version(), checksum);
}

template <typename Work>
void bestEffort(const Snapshot& snapshot, const char* what, const Work& work) {
  try {
    work();
  } catch (...) {
    logWarn("The {} of version {} in {} was not written: {}", what, snapshot.version(), snapshot.logPath(),
            currentExceptionAsError().message());
  }
}

// A day's expired files are removed once; a log that grows by the second is not listed behind every
// checkpoint.
void cleanUp(DeltaLog& log, const Snapshot& snapshot, const CheckpointReport& checkpoint) {
  if (!cleansUpExpiredLog(snapshot.metadata())) return;
  const int64_t cutoffMs =
      cleanUpCutoffMs(log.clock().nowMillis(), logRetentionMs(snapshot.metadata()), CleanUpGranularity::Day);
  if (!log.startCleanUp(cutoffMs)) return;
  // Of writers that were killed before their commit had its name.
  FileSystem& files = *snapshot.table().fileSystem;
  removeAbandonedFiles(files, files.list(snapshot.logPath()), log.clock().nowMillis());
  const CleanUpReport report = cleanUpLog(snapshot, cutoffMs, &checkpoint);
  if (report.logFiles > 0) {
    logInfo("Removed {} expired log files and {} sidecars of {}", report.logFiles, report.sidecars,
            snapshot.logPath());
  }
}

void writeCheckpointAndCleanUp(DeltaLog& log, const Snapshot& snapshot) {
  if (!isThere(snapshot)) return;
  std::optional<CheckpointReport> checkpoint;
  bestEffort(snapshot, "checkpoint",
             [&] { checkpoint = writeCheckpoint(snapshot, log.clock(), log.checkpointSettings()); });
  if (!checkpoint) return;
  try {
    cleanUp(log, snapshot, *checkpoint);
  } catch (...) {
    logWarn("Expired files of {} were not removed: {}", snapshot.logPath(),
            currentExceptionAsError().message());
  }
}

}  // namespace

void runPostCommit(const std::shared_ptr<DeltaLog>& log, const SnapshotPtr& snapshot) {
  const int64_t version = snapshot->version();
  bestEffort(*snapshot, "checksum", [&] {
    log->runSoon([snapshot] { bestEffort(*snapshot, "checksum", [&] { writeVersionChecksum(*snapshot); }); });
  });
  if (version == 0 || version % checkpointInterval(snapshot->metadata()) != 0) return;
  bestEffort(*snapshot, "checkpoint", [&] {
    log->runLatest(DeltaLog::Background::Checkpoint,
                   [snapshot, log] { writeCheckpointAndCleanUp(*log, *snapshot); });
  });
}

}  // namespace thalweg::delta
