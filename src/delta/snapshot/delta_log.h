// The handle of one table: its newest snapshot, kept and brought up to date by reading only what is new.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "delta/snapshot/checkpoint_settings.h"
#include "delta/snapshot/history.h"
#include "delta/snapshot/snapshot.h"
#include "storage/file_system.h"

namespace thalweg::delta {

// Smaller files of a checkpoint are read with their statistics: that costs less than opening them again.
inline constexpr int64_t kLaterStatisticsBytes = 4 << 20;

// Builds one version, or the newest, from the log's files. A checkpoint that cannot be read is passed over
// (and logged) for an older one or for the JSON commits. Null where there is no log at `table`. Throws as
// listLogSegment, readActions and SnapshotBuilder::finish. Statistics in Parquet files of at least
// `laterStatisticsBytes` stay there until they are asked for.
SnapshotPtr loadSnapshot(const Location& table, std::optional<int64_t> version = std::nullopt,
                         const Clock& clock = systemClock(),
                         int64_t laterStatisticsBytes = kLaterStatisticsBytes);

// The snapshot's version read anew with all statistics, for one who must not lose those that are lost in it.
// Throws as loadSnapshot, and Error DELTA_STATE_RECOVER_ERROR where the log no longer has that version.
SnapshotPtr reloadSnapshot(const Snapshot& snapshot, const Clock& clock = systemClock());

// Shared by all who read or write one table in this process. All methods may be called from any thread.
class DeltaLog {
 public:
  // Runs work off the critical path, in any thread; must be drained before the process ends. Empty: inline.
  using Executor = std::function<void(std::function<void()>)>;

  explicit DeltaLog(Location table, const Clock& clock = systemClock(), Executor executor = {});

  const Location& table() const { return table_; }
  const Clock& clock() const { return *clock_; }
  std::string logPath() const;

  // The newest version. Reads the commits after the cached one directly, without a listing; a log that was
  // replaced, truncated or recreated under us is noticed by its newest commit file and read anew, as is one
  // whose snapshot has lost statistics. Null where there is no table.
  SnapshotPtr update();
  // As update, but throws Error DELTA_TABLE_NOT_FOUND where there is no table.
  SnapshotPtr require();
  // The cached snapshot without any I/O; null before the first update.
  SnapshotPtr cached() const;

  // Time travel. Throws Error DELTA_VERSION_NOT_FOUND with the range that can be read, DELTA_TABLE_NOT_FOUND.
  SnapshotPtr snapshotAt(int64_t version);
  // See versionAtTimestamp.
  SnapshotPtr snapshotAtTimestamp(int64_t timestampMs, OutOfRange outOfRange = OutOfRange::Throw);

  // Of the checkpoints that follow commits through this handle; the last that were set count.
  void setCheckpointSettings(const CheckpointSettings& settings);
  CheckpointSettings checkpointSettings() const;

  // See loadSnapshot; of what is read through this handle from now on.
  void setLaterStatisticsBytes(int64_t bytes) { laterStatisticsBytes_ = bytes; }

  std::vector<HistoryEntry> history(std::optional<size_t> limit = std::nullopt);

  // For commit/: a snapshot that a commit of ours made; kept where it is newer than the cached one.
  void offer(const SnapshotPtr& snapshot);
  // For commit/: runs `work` on the executor.
  void runSoon(std::function<void()> work);
  // For commit/: whether the log's expired files up to this time are still to be removed; the asker then does
  // it.
  bool startCleanUp(int64_t cutoffMs);
  // Work that keeps a table fast and grows with it. Each kind runs for itself.
  enum class Background { Checkpoint, Compaction };
  // As runSoon, but at most one work of a kind waits behind the running one, and the latest wins. Where one
  // took long, the next of its kind is dropped until the kind's share of a core is back under a twentieth: a
  // later commit asks again.
  void runLatest(Background kind, std::function<void()> work);

 private:
  struct Lane;
  SnapshotPtr readNewCommits(const SnapshotPtr& base);

  Location table_;
  const Clock* clock_;
  Executor executor_;
  std::shared_ptr<Lane> checkpoints_;
  std::shared_ptr<Lane> compactions_;
  std::atomic<int64_t> laterStatisticsBytes_ = kLaterStatisticsBytes;
  std::mutex updateMutex_;  // one update at a time; taken before mutex_
  mutable std::mutex mutex_;
  SnapshotPtr snapshot_;
  CheckpointSettings checkpointSettings_;
  std::optional<int64_t> cleanedUpToMs_;
};

}  // namespace thalweg::delta
