// A Parquet checkpoint's actions other than adds and removes.
#pragma once

#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "delta/actions/action_reader.h"

namespace thalweg::delta {

// Their columns.
const std::vector<std::string>& stateColumns();

// Delivers those of a batch of rows; a column that is missing has none. Empty sinks: such actions are passed
// over. Throws Error DELTA_STATE_RECOVER_ERROR where a column is of another type, or a number too large.
void readState(const arrow::RecordBatch& batch, const ActionSink& actions, const SidecarSink& sidecars,
               const CheckpointMetadataSink& checkpoints);

}  // namespace thalweg::delta
