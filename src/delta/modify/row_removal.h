// Takes rows out of data files: by deletion vectors, or by writing the files' other rows anew.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "delta/commit/transaction.h"
#include "delta/files/deletion_vector_writer.h"
#include "delta/files/file_rewrite.h"
#include "delta/modify/located_rows.h"

namespace thalweg::delta {

// As Delta names them in a commit's metrics.
struct RemovalMetrics {
  int64_t numDeletedRows = 0;
  int64_t numCopiedRows = 0;    // written anew, unchanged
  int64_t numRemovedFiles = 0;  // with all their rows, or written anew
  int64_t numRemovedBytes = 0;
  int64_t numAddedFiles = 0;  // written anew
  int64_t numAddedBytes = 0;
  int64_t numDeletionVectorsAdded = 0;    // all that the commit has
  int64_t numDeletionVectorsUpdated = 0;  // those of them in place of an earlier one
  int64_t numAddedChangeFiles = 0;
  int64_t numDeletionVectorsRemoved = 0;  // earlier ones that are replaced, or whose file is gone

  void add(const RemovalMetrics& other);
};

// One removal over one snapshot: made, filled, and kept until the commit is known. Its own files (vectors,
// rewritten data files) are durable when finish() returns, and are taken away again unless handed over. Used
// by one thread.
class RowRemoval {
 public:
  // Whether the table takes deletion vectors: its protocol has the feature and its property is on.
  static bool usesVectors(const Snapshot& snapshot);

  explicit RowRemoval(const Snapshot& snapshot);
  ~RowRemoval();
  RowRemoval(const RowRemoval&) = delete;
  RowRemoval& operator=(const RowRemoval&) = delete;

  // Appends the file's actions to `actions`; `nowMs` is the time of the removal. A file without live rows is
  // removed; each other one gets a vector over its earlier ones, or is replaced by one with its other rows
  // where the table takes none.
  void removeFrom(const LocatedRows& file, int64_t nowMs, std::vector<Action>* actions);
  // After the last file.
  void finish();
  // Both, for a transaction over the same snapshot, which gets the actions; the files count as read.
  void remove(Transaction& transaction, const std::vector<LocatedRows>& files, int64_t nowMs);

  const RemovalMetrics& metrics() const { return metrics_; }
  // From here on a commit may name our files: they stay.
  void handOver();
  // For files that are certainly in no commit.
  void discard() noexcept;

 private:
  bool vectors_;
  bool handedOver_ = false;
  DeletionVectorWriter vectorWriter_;
  FileRewrite rewrite_;
  RemovalMetrics metrics_;
};

}  // namespace thalweg::delta
