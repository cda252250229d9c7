// DELETE and UPDATE, without their SQL: rows that a function picks leave their files, or change.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include <arrow/type_fwd.h>

#include "common/cancellation.h"
#include "delta/commit/transaction.h"
#include "delta/files/data_file_writer.h"
#include "delta/modify/row_condition.h"
#include "delta/modify/row_removal.h"
#include "delta/scan/table_layout.h"

namespace thalweg::delta {

// What is done to which rows.
struct RowEdit {
  std::shared_ptr<RowCondition> condition;  // null: all rows
  // The rows, of all the table's columns in its order and types, as they are to be; empty: they are deleted.
  // Called by several threads at once.
  std::function<std::shared_ptr<arrow::RecordBatch>(const std::shared_ptr<arrow::RecordBatch>& rows)> change;
  TimeZone timeZone = {};  // see TableLayout
};

struct EditMetrics {
  RemovalMetrics removal;  // its numAddedFiles and numAddedBytes count the changed rows' files too
  int64_t numTouchedRows = 0;
  bool rowsKnown = true;  // false: files went whole whose statistics say nothing of their rows
  int64_t scanMs = 0;     // of looking for rows, over all threads
  int64_t rewriteMs = 0;  // of writing
};

// Runs task(0) … task(count − 1), on any threads, and waits; rethrows the first exception.
using RunTasks = std::function<void(int count, const std::function<void(int)>& task)>;

// One edit over one snapshot. Files that go whole, and are known to by their partitions, are not read. Any
// other is read in batches, its condition's columns first, and only a file with rows to edit is read again or
// written; what is held is a bitmap a touched file and the actions. With deletion vectors no row is copied
// that does not change; without them a touched file's rows are written anew, in their order. Where the table
// tracks rows, they keep their ids, and those that do not change the version that changed them last. The
// change feed is written where its property is on. The edit's own files are taken away again unless a commit
// may name them.
class TableEdit {
 public:
  // `cancellation` outlives the edit, null: none. Throws as movedRowsLayout where rows are to change.
  TableEdit(const Snapshot& snapshot, RowEdit edit, const CancellationToken* cancellation);
  ~TableEdit();
  TableEdit(const TableEdit&) = delete;
  TableEdit& operator=(const TableEdit&) = delete;

  // Edits the snapshot's files, with up to `numTasks` tasks, and adds to the transaction, over the same
  // snapshot, what was read and what becomes of it. `nowMs` is the time of removals. Called once. False: no
  // row matches.
  bool run(Transaction& transaction, int numTasks, const RunTasks& runTasks, int64_t nowMs);

  const EditMetrics& metrics() const { return metrics_; }
  // Those that get new files, or files that got vectors.
  const std::set<PartitionValues>& touchedPartitions() const { return touchedPartitions_; }
  // False where files go whole, by their partitions.
  bool readsRows() const { return edit_.change || (edit_.condition && !edit_.condition->partitionsOnly()); }
  // Commits what run() added. The edit's files stay unless the outcome is a conflict: a commit that throws
  // may be in the log all the same.
  CommitOutcome commit(Transaction& transaction);
  // For files that are certainly in no commit.
  void discard() noexcept;

 private:
  class Worker;
  std::vector<AddFile> candidates() const;
  void handOver();
  void removeFiles(Transaction& transaction, const std::vector<AddFile>& files, int64_t nowMs);

  const Snapshot& snapshot_;
  RowEdit edit_;
  const CancellationToken* cancellation_;
  TableLayoutPtr readLayout_;
  DataFileLayout tableFiles_;    // the table's own columns
  DataFileLayout changedFiles_;  // with row ids where the table tracks rows
  bool vectors_;
  bool changeFeed_;
  std::vector<std::unique_ptr<Worker>> workers_;
  EditMetrics metrics_;
  std::set<PartitionValues> touchedPartitions_;
};

}  // namespace thalweg::delta
