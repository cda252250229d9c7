// The adds and removes of a Parquet checkpoint, row by row, as views into its batches.
#pragma once

#include <cstdint>
#include <optional>

#include "delta/actions/actions.h"
#include "delta/actions/file_fields.h"
#include "delta/log/arrow_struct.h"

namespace thalweg::delta {

// A number of a checkpoint that has to fit into 32 bits; throws Error DELTA_STATE_RECOVER_ERROR where not.
std::optional<int32_t> narrowed(const std::optional<int64_t>& value);

class DeletionVectorColumn {
 public:
  explicit DeletionVectorColumn(const StructColumn& column);
  std::optional<DeletionVector> at(int64_t row) const;

 private:
  StructColumn column_;
  TextColumn storageType_;
  TextColumn path_;
  LongColumn offset_;
  LongColumn size_;
  LongColumn cardinality_;
  LongColumn maxRowIndex_;
};

class AddColumn {
 public:
  explicit AddColumn(const StructColumn& column);
  // False where the row has no add. The views are valid as long as the column's batch.
  bool read(int64_t row, FileFields& fields) const;

 private:
  void readTags(int64_t row, FileFields& fields) const;

  StructColumn column_;
  TextColumn path_;
  TextMapColumn partitionValues_;
  LongColumn size_;
  LongColumn modificationTime_;
  TextColumn stats_;
  TextMapColumn tags_;
  DeletionVectorColumn deletionVector_;
  LongColumn baseRowId_;
  LongColumn rowCommitVersion_;
  TextColumn clusteringProvider_;
};

class RemoveColumn {
 public:
  explicit RemoveColumn(const StructColumn& column);
  // False where the row has no remove. The views are valid as long as the column's batch.
  bool read(int64_t row, FileFields& fields) const;

 private:
  StructColumn column_;
  TextColumn path_;
  LongColumn deletionTimestamp_;
  BoolColumn extendedFileMetadata_;
  TextMapColumn partitionValues_;
  LongColumn size_;
  DeletionVectorColumn deletionVector_;
  LongColumn baseRowId_;
  LongColumn rowCommitVersion_;
};

}  // namespace thalweg::delta
