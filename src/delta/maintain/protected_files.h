// Which files of a table's folder some version still needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "delta/actions/actions.h"
#include "delta/snapshot/snapshot.h"

namespace thalweg::delta {

// Names as hashes: eight bytes a file. Two that collide, and an absolute path of the log that ends like a
// file of the folder, keep a file that could go; none goes that is needed.
class ProtectedFiles {
 public:
  explicit ProtectedFiles(std::string tablePath);

  // What the version needs: its live files, what was removed at or after `cutoffMs`, the files of their
  // vectors.
  void addSnapshot(const Snapshot& snapshot, int64_t cutoffMs);
  // What commits at or after `cutoffMs` removed, and their change files, as far as the log still has them: a
  // snapshot has forgotten removals that are older than the table's own retention.
  void addCommits(const Snapshot& newest, int64_t cutoffMs);
  // After the last file, before contains().
  void finish();

  // By the path below the table, decoded.
  bool contains(std::string_view relativePath) const;

 private:
  void addPath(const std::string& logPath);
  void addVector(const DeletionVector& vector);

  std::string tablePath_;
  std::vector<uint64_t> paths_;
  std::vector<uint64_t> outsideNames_;  // last parts of absolute paths that lie elsewhere
};

}  // namespace thalweg::delta
