// OPTIMIZE and REORG … APPLY (PURGE), without their SQL: a table's rows in better files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/cancellation.h"
#include "delta/commit/transaction.h"
#include "delta/maintain/file_replacement.h"
#include "delta/modify/table_edit.h"
#include "delta/snapshot/delta_log.h"

namespace thalweg::delta {

struct OptimizeRequest {
  enum class Kind {
    Compact,  // small files of a partition become larger ones; so do files of which many rows are deleted
    Curve,    // the rows of each partition are written anew along a curve through `columns`
    Cluster,  // as Curve, for the table's clustering columns: what is not clustered by them yet, or all
              // (full)
    Purge,    // files with deletion vectors are written anew
  };
  Kind kind = Kind::Compact;
  std::function<bool(const AddFile&)> selects;    // by partition values; empty: every file
  std::vector<std::vector<std::string>> columns;  // of Curve: paths of logical names, as they were written
  bool checkStatistics = true;                    // of Curve: columns without statistics are refused
  bool full = false;                              // of Cluster
  int64_t minFileBytes = int64_t{1} << 30;        // a smaller file is small
  int64_t maxFileBytes = int64_t{1} << 30;        // none is made larger, by the sizes of what it is made of
  double maxDeletedShare = 0.05;                  // of a file's rows
  // The commit, without its metrics: "OPTIMIZE" or "REORG".
  Operation operation;
};

struct FileCount {
  int64_t num = 0;
  int64_t bytes = 0;
};

// As Delta's metrics have it.
struct OptimizeReport {
  ReplacementReport files;  // version 0 and no files where nothing was to be done
  int64_t partitionsOptimized = 0;
  int64_t numGroups = 0;  // of files that became one, or were sorted together
  int64_t numConsidered = 0;
  int64_t numVectorRowsRemoved = 0;
  // Of Curve and Cluster: the files that were in a cube (a group that was clustered before) and others.
  FileCount cubeInput;
  FileCount otherInput;
  int64_t numInputCubes = 0;
  int64_t startMs = 0;
  int64_t endMs = 0;
};

// On the newest version, in one commit; nothing is committed where nothing is to be done. Groups are worked
// on by `runTasks`, each streams: memory does not grow with the table, but for its files' actions. Others may
// write all the time: appends are no conflict, nor are rows that they delete by vectors from files which are
// merged; a file that they remove, or change while it is sorted, is (DELTA_CONCURRENT_DELETE_DELETE). Throws
// Error DELTA_ZORDERING_…, DELTA_CLUSTERING_…, DELTA_UNSUPPORTED_FEATURES_FOR_WRITE, and those of
// movedRowsLayout. `cancellation` outlives the call, null: none.
OptimizeReport optimizeTable(const std::shared_ptr<DeltaLog>& log, const SnapshotPtr& snapshot,
                             const OptimizeRequest& request, int numTasks, const RunTasks& runTasks,
                             const CancellationToken* cancellation);

// Number of a table's top-level columns, and of those at the front that have statistics.
int64_t numColumnsWithStatistics(const Snapshot& snapshot);

}  // namespace thalweg::delta
