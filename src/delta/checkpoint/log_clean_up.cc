#include "delta/checkpoint/log_clean_up.h"

#include <algorithm>
#include <map>
#include <set>

#include "delta/checkpoint/top_level.h"
#include "delta/log/checkpoint_hint.h"
#include "delta/log/checkpoint_reader.h"
#include "delta/log/log_files.h"
#include "delta/snapshot/table_features.h"

namespace thalweg::delta {
namespace {

constexpr std::string_view kEnableExpiredLogCleanup = "delta.enableExpiredLogCleanup";

struct LogFile {
  FileInfo info;
  LogFileName name;
};

std::vector<LogFile> listLog(const Snapshot& snapshot) {
  std::vector<LogFile> files;
  for (FileInfo& info : snapshot.table().fileSystem->list(snapshot.logPath())) {
    const auto name = parseLogFileName(info.name());
    if (name && !info.isDirectory) files.push_back({std::move(info), *name});
  }
  return files;
}

// Chooses, among files in the order of their names, a front of whole segments. A segment begins with a
// checkpoint; it goes where its last file may go.
class ExpiredFront {
 public:
  ExpiredFront(int64_t cutoffMs, int64_t maxVersion) : cutoffMs_(cutoffMs), maxVersion_(maxVersion) {}

  // False when no later file can go.
  bool add(LogFile file) {
    if (last_ && last_->version < file.name.version && lastMs_ >= file.info.modificationTimeMs) {
      file.info.modificationTimeMs = lastMs_ + 1;
    } else if (file.name.isCheckpoint() && file.info.sizeBytes > 0 && last_) {
      note(file);
      return addCheckpoint(std::move(file));
    }
    note(file);
    segment_.push_back(std::move(file));
    return true;
  }

  std::vector<LogFile> take() { return std::move(expired_); }

 private:
  void note(const LogFile& file) {
    last_ = file.name;
    lastMs_ = file.info.modificationTimeMs;
  }

  bool addCheckpoint(LogFile file) {
    if (file.name.kind != LogFileKind::MultiPartCheckpoint) {
      const bool goesOn = endSegment();
      segment_.push_back(std::move(file));
      return goesOn;
    }
    const auto key = std::pair(file.name.version, file.name.parts);
    std::vector<LogFile>& parts = parts_[key];
    parts.push_back(std::move(file));
    if (static_cast<int32_t>(parts.size()) != key.second) return true;
    const bool goesOn = endSegment();
    std::move(parts.begin(), parts.end(), std::back_inserter(segment_));
    parts_.erase(key);
    return goesOn;
  }

  bool endSegment() {
    const bool goes = !segment_.empty() && segment_.back().info.modificationTimeMs <= cutoffMs_ &&
                      segment_.back().name.version <= maxVersion_;
    if (goes) std::move(segment_.begin(), segment_.end(), std::back_inserter(expired_));
    segment_.clear();
    return goes;
  }

  int64_t cutoffMs_;
  int64_t maxVersion_;
  std::optional<LogFileName> last_;
  int64_t lastMs_ = 0;
  std::vector<LogFile> segment_;
  std::map<std::pair<int64_t, int32_t>, std::vector<LogFile>> parts_;
  std::vector<LogFile> expired_;
};

std::vector<LogFile> expiredFiles(const Snapshot& snapshot, const std::vector<LogFile>& files,
                                  int64_t cutoffMs) {
  const auto hint = readCheckpointHint(*snapshot.table().fileSystem, snapshot.logPath());
  if (!hint) return {};
  ExpiredFront front(cutoffMs, hint->version - 1);
  for (const LogFile& file : files) {
    if (file.name.kind == LogFileKind::Compacted) continue;
    if (!front.add(file)) break;
  }
  return front.take();
}

bool hasCompleteCheckpoint(const std::vector<LogFile>& files, int64_t version) {
  std::map<int32_t, int32_t> parts;
  for (const LogFile& file : files) {
    if (!file.name.isCheckpoint() || file.name.version != version || file.info.sizeBytes == 0) continue;
    if (file.name.kind != LogFileKind::MultiPartCheckpoint) return true;
    if (++parts[file.name.parts] == file.name.parts) return true;
  }
  return false;
}

int64_t removeCompacted(const Snapshot& snapshot, const std::vector<LogFile>& files,
                        const std::vector<LogFile>& expired) {
  int64_t newestGone = -1;
  for (const LogFile& file : expired) {
    if (file.name.kind == LogFileKind::Commit) newestGone = std::max(newestGone, file.name.version);
  }
  int64_t removed = 0;
  for (const LogFile& file : files) {
    if (file.name.kind != LogFileKind::Compacted || file.name.version > newestGone) continue;
    snapshot.table().fileSystem->remove(file.info.path);
    ++removed;
  }
  return removed;
}

// Sidecars as old as the cutoff alone: younger ones may belong to a checkpoint that is being written.
int64_t removeSidecars(const Snapshot& snapshot, int64_t cutoffMs) {
  FileSystem& fileSystem = *snapshot.table().fileSystem;
  const auto sidecars = fileSystem.list(snapshot.logPath() + "/" + std::string(kSidecarFolder));
  if (sidecars.empty()) return 0;
  std::set<std::string> used;
  for (const LogFile& file : listLog(snapshot)) {
    if (!file.name.isCheckpoint() || file.name.kind == LogFileKind::MultiPartCheckpoint) continue;
    for (std::string& name : sidecarNames(fileSystem, {file.name.version, {file.info}}))
      used.insert(std::move(name));
  }
  int64_t removed = 0;
  for (const FileInfo& sidecar : sidecars) {
    if (sidecar.isDirectory || sidecar.modificationTimeMs >= cutoffMs ||
        used.contains(std::string(sidecar.name())))
      continue;
    fileSystem.remove(sidecar.path);
    ++removed;
  }
  return removed;
}

void keepClassicName(const Snapshot& snapshot, const std::vector<LogFile>& files,
                     const CheckpointReport* newest) {
  if (!newest || !newest->topLevel) return;
  const bool there = std::any_of(files.begin(), files.end(), [&](const LogFile& file) {
    return file.name.version == newest->version && file.name.kind == LogFileKind::ClassicCheckpoint;
  });
  if (!there) writeCompatibilityCheckpoint(snapshot, *newest);
}

}  // namespace

int64_t cleanUpCutoffMs(int64_t nowMs, int64_t retentionMs, CleanUpGranularity granularity) {
  const int64_t unitMs = granularity == CleanUpGranularity::Day ? 24LL * 3600 * 1000 : 60'000;
  const int64_t cutoffMs = nowMs - retentionMs;
  const int64_t rest = cutoffMs % unitMs;
  return cutoffMs - (rest < 0 ? rest + unitMs : rest);
}

bool cleansUpExpiredLog(const Metadata& metadata) {
  return tableFlag(metadata, kEnableExpiredLogCleanup, true);
}

CleanUpReport cleanUpLog(const Snapshot& snapshot, int64_t cutoffMs, const CheckpointReport* newest) {
  CleanUpReport report;
  const std::vector<LogFile> files = listLog(snapshot);
  const std::vector<LogFile> expired = expiredFiles(snapshot, files, cutoffMs);
  if (expired.empty()) return report;
  keepClassicName(snapshot, files, newest);
  bool checkpointGone = false;
  // Oldest first: whoever stops half way leaves a log that begins later.
  for (const LogFile& file : expired) {
    snapshot.table().fileSystem->remove(file.info.path);
    checkpointGone |= file.name.isCheckpoint();
    ++report.logFiles;
  }
  report.logFiles += removeCompacted(snapshot, files, expired);
  if (checkpointGone && supportsFeature(snapshot.protocol(), "v2Checkpoint"))
    report.sidecars = removeSidecars(snapshot, cutoffMs);
  return report;
}

std::optional<int64_t> earliestReliableCheckpoint(FileSystem& fileSystem, const std::string& logPath) {
  std::vector<LogFile> files;
  std::set<int64_t> commits;
  std::set<int64_t> checkpoints;
  for (FileInfo& info : fileSystem.list(logPath)) {
    const auto name = parseLogFileName(info.name());
    if (!name || info.isDirectory) continue;
    if (name->kind == LogFileKind::Commit) commits.insert(name->version);
    if (name->isCheckpoint()) checkpoints.insert(name->version);
    files.push_back({std::move(info), *name});
  }
  if (commits.empty()) return std::nullopt;
  // The oldest version from which on no commit is missing.
  int64_t unbroken = *commits.rbegin();
  while (commits.contains(unbroken - 1)) --unbroken;
  for (auto it = checkpoints.lower_bound(unbroken); it != checkpoints.end(); ++it) {
    if (commits.contains(*it) && hasCompleteCheckpoint(files, *it)) return *it;
  }
  return std::nullopt;
}

}  // namespace thalweg::delta
