#include "sources/delta/initial_files.h"

#include <algorithm>

namespace thalweg {

InitialFiles::InitialFiles(delta::SnapshotPtr snapshot) : snapshot_(std::move(snapshot)) {
  files_.reserve(static_cast<size_t>(snapshot_->numFiles()));
  snapshot_->files().forEachLive([&](const delta::FileRecord& file) { files_.push_back(file); });
  std::sort(files_.begin(), files_.end(), [](const delta::FileRecord& a, const delta::FileRecord& b) {
    if (a.modificationTime() != b.modificationTime()) return a.modificationTime() < b.modificationTime();
    return a.logPath() < b.logPath();
  });
}

}  // namespace thalweg
