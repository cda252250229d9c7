// Merges small files of a table into larger ones: the same rows in fewer files, in one commit OPTIMIZE.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "delta/snapshot/delta_log.h"

namespace thalweg::delta {

// Which files are merged. Files of like size are merged with each other only (a class spans a factor of 16),
// so that a row that trickles in is written again once a class and not with every merge.
struct CompactionRules {
  int64_t smallBelowBytes = int64_t{64} << 20;
  int64_t targetBytes = int64_t{128} << 20;  // a file made is not larger, by the sizes of what it is made of
  int minFiles = 32;                         // fewer of one partition and class are left alone
  double maxDeletedShare = 0.5;              // of a larger file's rows: beyond, it is written anew alone
  // No merge is begun in a commit that has so much: the rest waits for the next one, and a conflict costs
  // little.
  int64_t bytesPerCommit = int64_t{256} << 20;
};

// The groups of live files that the rules call for, each to become one file.
std::vector<std::vector<AddFile>> chooseSmallFiles(const Snapshot& snapshot, const CompactionRules& rules);

struct CompactionReport {
  int64_t version = 0;
  int64_t numAddedFiles = 0;
  int64_t numRemovedFiles = 0;
  int64_t numAddedBytes = 0;
  int64_t numRemovedBytes = 0;
};

// Merges what the rules call for in the newest version, on the caller's thread; nullopt where there is
// nothing to do, or where other writers removed files of every group meanwhile (the table is as those writers
// left it). Others may read, append and delete rows by vectors all the time: what they delete of a file that
// is being merged is deleted in the result. Throws Error for a table that we may not write, a conflict's, and the store's
// errors; files that were made are removed where they are certainly in no commit.
std::optional<CompactionReport> compactSmallFiles(const std::shared_ptr<DeltaLog>& log,
                                                  const CompactionRules& rules = {});

// After a commit: merges in the background where the commit's table calls for it, one merge a table at a
// time; failures are logged. Not where the table's property delta.autoOptimize.autoCompact is false.
void compactSoon(const std::shared_ptr<DeltaLog>& log, const SnapshotPtr& committed);

}  // namespace thalweg::delta
