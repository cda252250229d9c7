// The hidden column _metadata of a Delta table's rows: which file a row is of, and its id.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include <arrow/type_fwd.h>

#include "delta/actions/actions.h"
#include "storage/file_system.h"
#include "types/data_type.h"

namespace thalweg {

inline constexpr std::string_view kDeltaMetadataColumn = "_metadata";

// struct<file_path, file_name, file_size, file_block_start, file_block_length, file_modification_time[,
// row_index, row_id, base_row_id, default_row_commit_version, row_commit_version]>: Spark's fields in its
// order, nothing nullable, the bracketed ones of tables with row tracking.
DataTypePtr deltaMetadataType(bool rowTracking);

// What is known of each of a batch's rows (long).
struct TrackedRows {
  std::shared_ptr<arrow::Array> rowIds;
  std::shared_ptr<arrow::Array> rowCommitVersions;
};

// Of rows of one file. `positions` are their places in it (long); `tracked` of tables with row tracking.
std::shared_ptr<arrow::Array> deltaMetadataArray(const Location& location, const delta::AddFile& file,
                                                 const std::shared_ptr<arrow::Array>& positions,
                                                 const std::optional<TrackedRows>& tracked);

}  // namespace thalweg
