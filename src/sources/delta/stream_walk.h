// From a position on: how far a batch goes, and which files lie on the way.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "delta/changes/change_feed.h"
#include "delta/snapshot/delta_log.h"
#include "sources/delta/batch_admission.h"
#include "sources/delta/commit_feed.h"
#include "sources/delta/delta_source_offset.h"
#include "sources/delta/delta_stream_options.h"
#include "sources/delta/initial_files.h"
#include "sources/delta/schema_tracking.h"
#include "sources/delta/stream_guard.h"

namespace thalweg {

// Used by one thread. Both walks over the same stretch see the same files in the same order.
class StreamWalk {
 public:
  // `tracking`, which outlives it, is null where no schema log follows the schema; `reading` is what the
  // stream reads by.
  StreamWalk(std::shared_ptr<delta::DeltaLog> log, delta::SnapshotPtr opened, const StreamedMetadata& reading,
             SchemaTracking* tracking, const DeltaStreamOptions& options);

  const StreamGuard& guard() const { return guard_; }

  // The commit of a version, or the next one where failOnDataLoss lets it be passed over; null where there is
  // none yet.
  CommitPtr commitAt(int64_t version) { return feed_.at(version); }

  // Where a batch from `from` ends: as far as the admission lets it go, before the version `bound`, and at
  // the first commit that changes what a schema log follows; `from` itself where there is nothing new. Throws
  // Error as CommitFeed::at and StreamGuard::admits, and DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE where
  // the version with whose rows the stream began is gone.
  DeltaSourceOffset advance(const DeltaSourceOffset& from, BatchAdmission& admission,
                            std::optional<int64_t> bound);

  // The files after `from` up to `end`, files that the options exclude left out. Throws as advance, and Error
  // DELTA_STREAMING_TRAILING_COMMIT_MISSING.
  std::vector<delta::ChangedFile> filesBetween(const DeltaSourceOffset& from, const DeltaSourceOffset& end);

  // Versions before this one will not be asked for again.
  void forgetBefore(int64_t version) { feed_.forgetBefore(version); }

 private:
  const InitialFiles& initialFiles(int64_t version);
  int64_t initialTimeMs();
  bool isExcluded(const std::string& path) const {
    return options_.exclude && options_.exclude->matches(path);
  }
  bool isFollowed() const { return tracking_ && tracking_->isInitialized(); }
  bool isBarrier(const delta::CommitChanges& commit) const {
    return isFollowed() && tracking_->isChangedBy(commit);
  }
  bool isBeyondBound(int64_t version) const { return bound_ && version >= *bound_; }

  DeltaSourceOffset advanceRows(DeltaSourceOffset at, BatchAdmission& admission);
  DeltaSourceOffset advanceChanges(DeltaSourceOffset at, BatchAdmission& admission);
  DeltaSourceOffset takeInitialChanges(DeltaSourceOffset at, BatchAdmission& admission);
  DeltaSourceOffset takeChanges(const delta::CommitChanges& commit, bool takesFiles,
                                const DeltaSourceOffset& from, BatchAdmission& admission) const;
  void planInitial(const DeltaSourceOffset& start, const DeltaSourceOffset& end,
                   std::vector<delta::ChangedFile>& files);
  void planCommit(const delta::CommitChanges& commit, int64_t after, int64_t last,
                  std::vector<delta::ChangedFile>& files);

  std::shared_ptr<delta::DeltaLog> log_;
  DeltaStreamOptions options_;
  std::string tableId_;
  delta::Metadata metadata_;
  SchemaTracking* tracking_;
  StreamGuard guard_;
  CommitFeed feed_;
  delta::SnapshotPtr opened_;  // until it is known that its files are not needed
  std::optional<InitialFiles> initialFiles_;
  std::optional<int64_t> bound_;
};

}  // namespace thalweg
