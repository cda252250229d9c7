#include "delta/snapshot/delta_log.h"

#include <ctime>

#include <chrono>
#include <limits>
#include <utility>

#include "common/error.h"
#include "common/logging.h"
#include "delta/actions/action_reader.h"
#include "delta/log/checkpoint_reader.h"
#include "delta/log/log_files.h"
#include "delta/log/log_segment.h"
#include "delta/log/version_checksum.h"

namespace thalweg::delta {
namespace {

std::string logPathOf(const Location& table) {
  return table.path + "/" + std::string(kLogFolder);
}

CommitStamp stampOf(const FileInfo& file) {
  return {file.modificationTimeMs, file.sizeBytes};
}

void applyCommit(SnapshotBuilder& builder, const std::string& text, const std::string& path) {
  readActions(text, path, [&](Action&& action) { builder.apply(action); });
}

// A checkpoint's failure, told apart from all others.
struct CheckpointFailure {
  Error error;
};

SnapshotPtr replay(const Location& table, const LogSegment& segment, const Clock& clock,
                   int64_t laterStatisticsBytes) {
  SnapshotBuilder builder(table);
  if (segment.checkpoint) {
    try {
      readCheckpoint(
          table.fileSystem, logPathOf(table), *segment.checkpoint,
          [&](Action&& action) { builder.apply(action); },
          [&](const FileFields& file) { builder.apply(file); }, laterStatisticsBytes);
      // Lines may be cut off anywhere and still parse. (A Parquet file that was written without them is the
      // table's fault, as in Delta.)
      if (segment.checkpoint->files.front().path.ends_with(".json"))
        builder.requireProtocolAndMetadata(segment.checkpoint->version);
    } catch (const Error& error) {
      throw CheckpointFailure{error};
    }
    builder.setCheckpointVersion(segment.checkpoint->version);
    builder.endVersion(segment.checkpoint->version, std::nullopt);
  }
  for (const FileInfo& commit : segment.commits) {
    applyCommit(builder, table.fileSystem->readAll(commit.path), commit.path);
    builder.endVersion(parseLogFileName(commit.name())->version, stampOf(commit));
  }
  if (segment.commits.empty() && segment.checkpoint) {
    // The checkpoint's own commit, where it still exists, carries the version's time.
    const std::string path = logPathOf(table) + "/" + commitFileName(segment.version);
    const auto commit = table.fileSystem->stat(path);
    builder.endVersion(segment.version, commit ? std::optional(stampOf(*commit)) : std::nullopt);
    if (const auto text = readCommitText(*table.fileSystem, path)) {
      for (Action& action : readActions(*text, path)) {
        if (std::holds_alternative<CommitInfo>(action)) builder.apply(action);
      }
    } else if (const auto checksum = readChecksum(*table.fileSystem, logPathOf(table), segment.version)) {
      builder.setInCommitTimestamp(checksum->inCommitTimestamp);
    }
  }
  return std::move(builder).finish(clock.nowMillis());
}

[[noreturn]] void throwTableNotFound(const Location& table) {
  throw Error(
      "DELTA_TABLE_NOT_FOUND",
      "There is no Delta table at " + table.uri() + ": its folder _delta_log has no commit. Check the path.",
      {{"tableName", table.uri()}});
}

}  // namespace

SnapshotPtr loadSnapshot(const Location& table, std::optional<int64_t> version, const Clock& clock,
                         int64_t laterStatisticsBytes) {
  BadCheckpoints bad;
  std::optional<Error> firstFailure;
  bool listedAgain = false;
  while (true) {
    std::optional<LogSegment> segment;
    try {
      segment = listLogSegment(*table.fileSystem, logPathOf(table), version, bad);
    } catch (const Error& error) {
      if (!firstFailure) throw;
      throw Error(error).withCause(*firstFailure);
    }
    if (!segment) {
      if (firstFailure) throw *firstFailure;
      return nullptr;
    }
    try {
      return replay(table, *segment, clock, laterStatisticsBytes);
    } catch (const CheckpointFailure& failure) {
      logWarn("The checkpoint of version {} in {} cannot be read and is passed over: {}",
              segment->checkpoint->version, logPathOf(table), failure.error.message());
      if (!firstFailure) firstFailure = failure.error;
      for (const FileInfo& file : segment->checkpoint->files) bad.insert(file.path);
    } catch (const Error& error) {
      // A clean-up of the log may have taken a commit between listing and reading.
      if (error.condition() != "PATH_NOT_FOUND" || listedAgain) throw;
      listedAgain = true;
    }
  }
}

SnapshotPtr reloadSnapshot(const Snapshot& snapshot, const Clock& clock) {
  SnapshotPtr again =
      loadSnapshot(snapshot.table(), snapshot.version(), clock, std::numeric_limits<int64_t>::max());
  // A table that was made anew in the same place has versions of its own.
  const bool isSame =
      again && again->version() == snapshot.version() && again->metadata().id == snapshot.metadata().id &&
      again->numFiles() == snapshot.numFiles() && again->sizeInBytes() == snapshot.sizeInBytes();
  if (isSame) return again;
  throw Error("DELTA_STATE_RECOVER_ERROR",
              "Version " + std::to_string(snapshot.version()) + " of the Delta table " +
                  snapshot.table().path +
                  " is no longer in its log as it was read: the table was made anew or its log cleaned. Run "
                  "the operation again.",
              {{"operation", "statistics"}, {"version", std::to_string(snapshot.version())}});
}

// One work runs, at most one waits.
struct DeltaLog::Lane {
  // Shorter works are not counted: rare ones after them would only come later.
  static constexpr std::chrono::milliseconds kLongWork{50};
  static constexpr int kRestPerWork = 19;

  std::mutex mutex;
  std::function<void()> waiting;
  bool running = false;
  std::chrono::steady_clock::time_point notBefore;

  static void run(const std::shared_ptr<Lane>& self) {
    while (true) {
      std::function<void()> work;
      {
        std::lock_guard lock(self->mutex);
        if (!self->waiting) {
          self->running = false;
          return;
        }
        work = std::exchange(self->waiting, nullptr);
      }
      const auto before = threadCpuTime();
      try {
        work();
      } catch (...) {
        logWarn("Work behind a commit failed: {}", currentExceptionAsError().message());
      }
      self->rest(threadCpuTime() - before);
    }
  }

  void rest(std::chrono::nanoseconds used) {
    if (used < kLongWork) return;
    std::lock_guard lock(mutex);
    notBefore = std::chrono::steady_clock::now() + kRestPerWork * used;
    waiting = nullptr;
  }

  static std::chrono::nanoseconds threadCpuTime() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }
};

DeltaLog::DeltaLog(Location table, const Clock& clock, Executor executor)
    : table_(std::move(table)),
      clock_(&clock),
      executor_(std::move(executor)),
      checkpoints_(std::make_shared<Lane>()),
      compactions_(std::make_shared<Lane>()) {}

std::string DeltaLog::logPath() const {
  return logPathOf(table_);
}

SnapshotPtr DeltaLog::cached() const {
  std::lock_guard lock(mutex_);
  return snapshot_;
}

void DeltaLog::offer(const SnapshotPtr& snapshot) {
  std::lock_guard lock(mutex_);
  if (!snapshot_ || snapshot_->version() < snapshot->version()) snapshot_ = snapshot;
}

void DeltaLog::setCheckpointSettings(const CheckpointSettings& settings) {
  std::lock_guard lock(mutex_);
  checkpointSettings_ = settings;
}

CheckpointSettings DeltaLog::checkpointSettings() const {
  std::lock_guard lock(mutex_);
  return checkpointSettings_;
}

bool DeltaLog::startCleanUp(int64_t cutoffMs) {
  std::lock_guard lock(mutex_);
  if (cleanedUpToMs_ == cutoffMs) return false;
  cleanedUpToMs_ = cutoffMs;
  return true;
}

// Null where the base's own commit is not what it was, or a later one goes: the log must be read anew.
SnapshotPtr DeltaLog::readNewCommits(const SnapshotPtr& base) {
  FileSystem& fileSystem = *table_.fileSystem;
  const auto newest = fileSystem.stat(logPath() + "/" + commitFileName(base->version()));
  // Both absent: a version of which only the checkpoint is left.
  const std::optional<CommitStamp> stamp = newest ? std::optional(stampOf(*newest)) : std::nullopt;
  if (stamp != base->state().stamp) return nullptr;
  std::optional<SnapshotBuilder> builder;
  for (int64_t version = base->version() + 1;; ++version) {
    const std::string path = logPath() + "/" + commitFileName(version);
    const auto file = fileSystem.stat(path);
    if (!file) break;
    const auto text = readCommitText(fileSystem, path);
    if (!text) return nullptr;
    if (!builder) builder.emplace(*base);
    applyCommit(*builder, *text, path);
    builder->endVersion(version, stampOf(*file));
  }
  return builder ? std::move(*builder).finish(clock_->nowMillis()) : base;
}

SnapshotPtr DeltaLog::update() {
  std::lock_guard updateLock(updateMutex_);
  const SnapshotPtr base = cached();
  const bool lostStatistics = base && base->files().hasLostStatistics();
  if (base && !lostStatistics) {
    if (const SnapshotPtr next = readNewCommits(base)) {
      offer(next);
      return cached();
    }
  }
  // Not left for later once more: where the checkpoint is damaged, that would go on for ever.
  SnapshotPtr loaded =
      loadSnapshot(table_, std::nullopt, *clock_,
                   lostStatistics ? std::numeric_limits<int64_t>::max() : laterStatisticsBytes_.load());
  // A listing may lag behind what was put: later commits are looked for by name.
  if (loaded) {
    if (const SnapshotPtr next = readNewCommits(loaded)) loaded = next;
  }
  std::lock_guard lock(mutex_);
  snapshot_ = loaded;
  return loaded;
}

SnapshotPtr DeltaLog::require() {
  SnapshotPtr snapshot = update();
  if (!snapshot) throwTableNotFound(table_);
  return snapshot;
}

SnapshotPtr DeltaLog::snapshotAt(int64_t version) {
  const SnapshotPtr newest = require();
  if (newest->version() == version) return newest;
  const auto earliest = earliestRecreatableVersion(*table_.fileSystem, logPath());
  if (version < 0 || version > newest->version() || (earliest && version < *earliest)) {
    const std::string first = std::to_string(earliest.value_or(0));
    const std::string last = std::to_string(newest->version());
    throw Error("DELTA_VERSION_NOT_FOUND",
                "Version " + std::to_string(version) + " of the Delta table " + table_.path +
                    " cannot be read; available are versions " + first + " to " + last + ".",
                {{"userVersion", std::to_string(version)}, {"earliest", first}, {"latest", last}});
  }
  SnapshotPtr snapshot = loadSnapshot(table_, version, *clock_, laterStatisticsBytes_);
  if (!snapshot) throwTableNotFound(table_);
  return snapshot;
}

SnapshotPtr DeltaLog::snapshotAtTimestamp(int64_t timestampMs, OutOfRange outOfRange) {
  return snapshotAt(versionAtTimestamp(*require(), timestampMs, outOfRange));
}

std::vector<HistoryEntry> DeltaLog::history(std::optional<size_t> limit) {
  require();
  return readHistory(*table_.fileSystem, logPath(), limit);
}

void DeltaLog::runSoon(std::function<void()> work) {
  if (!executor_) return work();
  executor_(std::move(work));
}

void DeltaLog::runLatest(Background kind, std::function<void()> work) {
  if (!executor_) return work();
  const auto& lane = kind == Background::Checkpoint ? checkpoints_ : compactions_;
  {
    std::lock_guard lock(lane->mutex);
    if (std::chrono::steady_clock::now() < lane->notBefore) return;
    lane->waiting = std::move(work);
    if (lane->running) return;
    lane->running = true;
  }
  try {
    executor_([lane] { Lane::run(lane); });
  } catch (...) {
    std::lock_guard lock(lane->mutex);
    lane->running = false;
    throw;
  }
}

}  // namespace thalweg::delta
