#include "delta/maintain/protected_files.h"

#include <algorithm>
#include <functional>

#include "delta/actions/action_reader.h"
#include "delta/log/file_paths.h"
#include "delta/log/log_files.h"
#include "delta/log/log_segment.h"
#include "delta/scan/vector_files.h"
#include "delta/snapshot/history.h"

namespace thalweg::delta {
namespace {

uint64_t hashOf(std::string_view text) {
  return std::hash<std::string_view>()(text);
}

std::string_view lastPart(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

void sortAndUnite(std::vector<uint64_t>* hashes) {
  std::sort(hashes->begin(), hashes->end());
  hashes->erase(std::unique(hashes->begin(), hashes->end()), hashes->end());
}

}  // namespace

ProtectedFiles::ProtectedFiles(std::string tablePath) : tablePath_(std::move(tablePath)) {}

void ProtectedFiles::addPath(const std::string& logPath) {
  const std::string path = canonicalFilePath(logPath, tablePath_);
  paths_.push_back(hashOf(path));
  // The folder may have another name there: by a link, say.
  if (path.starts_with('/') || path.find(':') != std::string::npos)
    outsideNames_.push_back(hashOf(lastPart(path)));
}

void ProtectedFiles::addVector(const DeletionVector& vector) {
  if (vector.storageType == "u") paths_.push_back(hashOf(relativeVectorPath(vector.pathOrInlineDv)));
  if (vector.storageType == "p") addPath(vector.pathOrInlineDv);
}

void ProtectedFiles::addSnapshot(const Snapshot& snapshot, int64_t cutoffMs) {
  snapshot.files().forEachLive([&](const FileRecord& record) {
    addPath(std::string(record.logPath()));
    if (record.hasDeletionVector()) addVector(*record.toAdd(Statistics::LeftOut).deletionVector);
  });
  snapshot.files().forEachTombstone(cutoffMs, [&](const FileRecord& record) {
    addPath(std::string(record.logPath()));
    if (record.hasDeletionVector()) addVector(*record.toRemove().deletionVector);
  });
}

void ProtectedFiles::addCommits(const Snapshot& newest, int64_t cutoffMs) {
  FileSystem& fileSystem = *newest.table().fileSystem;
  for (const FileInfo& commit : listCommits(fileSystem, newest.logPath())) {
    // A commit's file is not older than the time that it gives its removals, but for clocks that differ.
    constexpr int64_t kClockSlackMs = 24LL * 3600 * 1000;
    if (commit.modificationTimeMs < cutoffMs - kClockSlackMs) continue;
    // No version that a commit leads to outlives it: what is cleaned up by now protects nothing.
    const auto text = readCommitText(fileSystem, commit.path);
    if (!text) continue;
    readActions(*text, commit.path, [&](Action&& action) {
      if (const auto* change = std::get_if<AddCdcFile>(&action);
          change && commit.modificationTimeMs >= cutoffMs)
        addPath(change->path);
      const auto* remove = std::get_if<RemoveFile>(&action);
      if (!remove || remove->deletionTimestamp.value_or(0) < cutoffMs) return;
      addPath(remove->path);
      if (remove->deletionVector) addVector(*remove->deletionVector);
    });
  }
}

void ProtectedFiles::finish() {
  sortAndUnite(&paths_);
  sortAndUnite(&outsideNames_);
}

bool ProtectedFiles::contains(std::string_view relativePath) const {
  return std::binary_search(paths_.begin(), paths_.end(), hashOf(relativePath)) ||
         (!outsideNames_.empty() &&
          std::binary_search(outsideNames_.begin(), outsideNames_.end(), hashOf(lastPart(relativePath))));
}

}  // namespace thalweg::delta
