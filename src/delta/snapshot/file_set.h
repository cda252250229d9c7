// The files of a snapshot: live ones and the tombstones that checkpoints must carry, keyed by (path, deletion
// vector). Immutable layers, base first, newer hiding older; neighbours are merged when the newer has grown
// to half of the older, so that a version costs what its commit changed (times the logarithm of the table,
// over time), snapshots share all that they have in common, and a look-up asks few layers. Within memory an
// entry is its packed record and 32 bytes. Statistics of large checkpoints are in none, but read on demand.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "delta/actions/actions.h"
#include "delta/snapshot/file_record.h"

namespace thalweg::delta {

class FileLayer;

struct FileTotals {
  int64_t numFiles = 0;     // live
  int64_t sizeInBytes = 0;  // of live files
  int64_t numTombstones = 0;
  int64_t numDeletionVectors = 0;  // live files with one
};

// A value: cheap to copy. Safe to read from any thread.
class FileSet {
 public:
  // `tablePath` is what absolute paths are compared against (see canonicalFilePath).
  explicit FileSet(std::string tablePath);

  const FileTotals& totals() const { return totals_; }
  const std::string& tablePath() const { return tablePath_; }

  // Calls for each live file, in the order of the log (older first).
  void forEachLive(const std::function<void(const FileRecord&)>& visit) const;
  // Calls for each tombstone whose deletion is not before `cutoffMs`.
  void forEachTombstone(int64_t cutoffMs, const std::function<void(const FileRecord&)>& visit) const;

  // Reads the statistics that are still in checkpoints. False: some are lost (see Statistics).
  bool loadStatistics() const;
  // Whether some were found to be lost; reads nothing.
  bool hasLostStatistics() const;

  // The live file of this path (any spelling) and vector id (empty: none), with statistics where they are
  // known.
  std::optional<AddFile> findLive(std::string_view logPath, std::string_view dvUniqueId) const;
  bool containsLive(std::string_view logPath, std::string_view dvUniqueId) const;
  // Whether there is a live file or a tombstone of this key.
  bool knows(std::string_view logPath, std::string_view dvUniqueId) const;

 private:
  friend class FileSetBuilder;
  std::optional<FileRecord> find(uint64_t hash, std::string_view key) const;
  bool hiddenAbove(size_t layer, uint64_t hash, const FileRecord& record) const;

  std::string tablePath_;
  std::vector<std::shared_ptr<const FileLayer>> layers_;
  FileTotals totals_;
};

// Makes the next FileSet from one and the actions of later commits, oldest first; the last of a key wins.
class FileSetBuilder {
 public:
  explicit FileSetBuilder(FileSet base);
  ~FileSetBuilder();

  void add(const AddFile& file);
  void remove(const RemoveFile& file);
  void put(const FileFields& file);
  // Tombstones older than this are dropped where layers are merged into the base (they are expired anyway).
  FileSet finish(int64_t tombstoneCutoffMs) &&;

 private:
  FileSet base_;
  std::unique_ptr<FileLayer> layer_;
  std::string packed_;
  std::string key_;
};

}  // namespace thalweg::delta
