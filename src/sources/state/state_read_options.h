// The options of format("statestore"), checked as Spark checks them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/options.h"
#include "storage/file_system.h"

namespace thalweg {

struct StateReadOptions {
  int64_t operatorId = 0;
  std::string storeName;
  std::string joinSide;  // "left", "right" or none
  // Whose state it is; of changes, the last one.
  int64_t batchId = 0;
  std::optional<int64_t> firstChangedBatch;  // changes are read
  // The batch behind whose snapshot the state is built, and the one partition that is then read.
  struct Snapshot {
    int64_t batchId = 0;
    int64_t partition = 0;
  };
  std::optional<Snapshot> snapshot;
};

// Throws Error STDS_INVALID_OPTION_VALUE.*, STDS_CONFLICT_OPTIONS or STDS_REQUIRED_OPTION_UNSPECIFIED where
// options are wrong or do not go together, STDS_COMMITTED_BATCH_UNAVAILABLE where the checkpoint has no such
// batch, and UNSUPPORTED_FEATURE for options of operators that are not built.
StateReadOptions readStateOptions(const Options& options, const Location& checkpoint);

}  // namespace thalweg
