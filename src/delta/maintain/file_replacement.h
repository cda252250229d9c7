// One commit that puts new files in the place of others which hold the same rows: what all maintenance of a
// table's files ends in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/cancellation.h"
#include "delta/commit/transaction.h"
#include "delta/files/deletion_vector_writer.h"
#include "delta/files/file_rewrite.h"
#include "delta/maintain/merged_file.h"
#include "delta/modify/table_edit.h"
#include "delta/scan/table_layout.h"

namespace thalweg::delta {

// What a replacement did to the table.
struct ReplacementReport {
  int64_t version = 0;
  std::vector<int64_t> addedSizes;    // bytes, ascending
  std::vector<int64_t> removedSizes;  // likewise
  int64_t numVectorsRemoved = 0;      // deletion vectors of the files that went

  int64_t addedBytes() const;
  int64_t removedBytes() const;
};

// The metrics of a commit OPTIMIZE: numbers of files and vectors, and the sizes of the files made at their
// quantiles.
std::vector<std::pair<std::string, int64_t>> replacementMetrics(const ReplacementReport& report);

// What becomes of files whose place others took when one of them was removed meanwhile.
enum class LostFiles {
  LeaveOut,  // its group stays as the others left it
  Conflict,  // the commit ends in DELTA_CONCURRENT_DELETE_DELETE
};

// Made over one version, filled, committed on top of whatever was committed since: others may append and,
// in merged groups, delete rows by vectors all the time. All changes carry dataChange false. Files of its own
// are taken away again unless a commit may name them. Used by one thread.
class FileReplacement {
 public:
  // `cancellation` outlives it, null: none.
  FileReplacement(std::shared_ptr<DeltaLog> log, SnapshotPtr snapshot, const CancellationToken* cancellation);
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  // Makes one file of each group's live rows, in their order, groups in parallel. A group's files are of one
  // partition.
  void merge(std::vector<std::vector<AddFile>> groups, const RunTasks& runTasks);
  // `outputs`, durable, hold the live rows of `inputs` in another order. They are this object's from here on.
  void replace(std::vector<AddFile> inputs, std::vector<AddFile> outputs);

  // Commits; nullopt where nothing is left to do. `operation` makes the commit's name, parameters and metrics
  // of what it does. Throws the conflict's Error.
  std::optional<ReplacementReport> commit(
      LostFiles lost, const std::function<Operation(const ReplacementReport&)>& operation);

 private:
  struct Sorted {
    std::vector<AddFile> inputs;
    std::vector<AddFile> outputs;
  };
  LiveFiles inputsOver(const Snapshot& snapshot) const;
  void plan(Transaction& transaction, LostFiles lost);
  bool planMerged(Transaction& transaction, const MergedFile& merged, const LiveFiles& live);
  bool planSorted(Transaction& transaction, const Sorted& sorted, const LiveFiles& live);
  void remove(Transaction& transaction, const AddFile& file);
  void add(Transaction& transaction, AddFile file);
  void markDeleted(AddFile* file, const DeletedRows& deleted);
  void handOver();
  void discardUnused() noexcept;

  std::shared_ptr<DeltaLog> log_;
  SnapshotPtr snapshot_;
  const CancellationToken* cancellation_;
  TableLayoutPtr layout_;
  std::vector<std::unique_ptr<FileRewrite>> rewrites_;  // of merged_
  std::vector<std::unique_ptr<MergedFile>> merged_;
  std::vector<Sorted> sorted_;
  bool handedOver_ = false;
  std::unique_ptr<DeletionVectorWriter> vectors_;
  ReplacementReport report_;         // of the last plan
  std::set<std::string> committed_;  // files of ours that it names
  int64_t nowMs_ = 0;
};

}  // namespace thalweg::delta
