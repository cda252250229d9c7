// A table's commits in their order, as a stream asks for them: polled without listing, kept for the batch
// that reads them again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "delta/changes/commit_changes.h"
#include "delta/snapshot/delta_log.h"

namespace thalweg {

using CommitPtr = std::shared_ptr<const delta::CommitChanges>;

// Used by one thread.
class CommitFeed {
 public:
  // `failOnDataLoss`: whether commits that are gone end the stream or are passed over.
  CommitFeed(std::shared_ptr<delta::DeltaLog> log, std::string tableId, bool failOnDataLoss);

  // The commit of `version`, or where it is gone and may be passed over the next one; null while there is
  // none. Two stats where nothing is new. Throws Error DELTA_MISSING_FILES_UNEXPECTED_VERSION,
  // DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE and DELTA_TABLE_NOT_FOUND where the table was replaced or
  // dropped under the stream, DELTA_STATE_RECOVER_ERROR.
  CommitPtr at(int64_t version);

  // The commit's time: its own, else its file's, made to rise over the commits before it.
  int64_t timestampMs(const delta::CommitChanges& commit);

  // Versions before this one will not be asked for again.
  void forgetBefore(int64_t version);

 private:
  std::optional<delta::CommitStamp> stampOf(int64_t version) const;
  CommitPtr load(int64_t version);
  CommitPtr lookAgain(int64_t version);

  std::shared_ptr<delta::DeltaLog> log_;
  std::string tableId_;
  bool failOnDataLoss_;
  std::map<int64_t, CommitPtr> kept_;
  size_t keptFiles_ = 0;
  // The version that was not there, and the commit before it at that time.
  struct End {
    int64_t version = 0;
    std::optional<delta::CommitStamp> before;
  };
  std::optional<End> end_;
  std::optional<delta::CommitTime> lastTime_;
};

}  // namespace thalweg
