// Which batches of a checkpoint are committed, by the names in commits/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "connector/registry.h"

namespace thalweg {

struct CommittedBatches {
  int64_t first = 0;
  int64_t last = 0;
};

// Throws Error STDS_COMMITTED_BATCH_UNAVAILABLE where there is none.
CommittedBatches committedBatches(const Location& checkpoint);

// The one path of a reader of state. Throws Error STDS_REQUIRED_OPTION_UNSPECIFIED where there is not exactly
// one.
Location checkpointOf(const ReadDefinition& read, const FileSystemRegistry& files);

}  // namespace thalweg
