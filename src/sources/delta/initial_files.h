// The files of a table at the version from which a stream started, in the order in which it takes them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "delta/snapshot/delta_log.h"
#include "delta/snapshot/file_record.h"

namespace thalweg {

// Sorted by modification time and path, as Delta does. Eight bytes a file beside the snapshot, which it
// keeps.
class InitialFiles {
 public:
  explicit InitialFiles(delta::SnapshotPtr snapshot);

  int64_t version() const { return snapshot_->version(); }
  int64_t timestampMs() const { return snapshot_->timestampMs(); }
  int64_t size() const { return static_cast<int64_t>(files_.size()); }
  const delta::FileRecord& at(int64_t index) const { return files_[static_cast<size_t>(index)]; }

 private:
  delta::SnapshotPtr snapshot_;
  std::vector<delta::FileRecord> files_;
};

}  // namespace thalweg
