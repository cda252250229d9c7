#include "delta/log/file_columns.h"

#include <limits>
#include <utility>
#include <vector>

#include "common/error.h"

namespace thalweg::delta {

std::optional<int32_t> narrowed(const std::optional<int64_t>& value) {
  if (!value) return std::nullopt;
  if (*value < std::numeric_limits<int32_t>::min() || *value > std::numeric_limits<int32_t>::max()) {
    throw Error("DELTA_STATE_RECOVER_ERROR", "A number of the checkpoint does not fit into 32 bits.");
  }
  return static_cast<int32_t>(*value);
}

DeletionVectorColumn::DeletionVectorColumn(const StructColumn& column)
    : column_(column),
      storageType_(column.text("storageType")),
      path_(column.text("pathOrInlineDv")),
      offset_(column.number("offset")),
      size_(column.number("sizeInBytes")),
      cardinality_(column.number("cardinality")),
      maxRowIndex_(column.number("maxRowIndex")) {}

std::optional<DeletionVector> DeletionVectorColumn::at(int64_t row) const {
  auto storageType = storageType_.at(row);
  // Some writers fill the struct with nulls instead of leaving it out.
  if (column_.isNull(row) || !storageType) return std::nullopt;
  DeletionVector vector;
  vector.storageType = std::move(*storageType);
  vector.pathOrInlineDv = path_.at(row).value_or("");
  vector.offset = narrowed(offset_.at(row));
  vector.sizeInBytes = narrowed(size_.at(row)).value_or(0);
  vector.cardinality = cardinality_.at(row).value_or(0);
  vector.maxRowIndex = maxRowIndex_.at(row);
  return vector;
}

AddColumn::AddColumn(const StructColumn& column)
    : column_(column),
      path_(column.text("path")),
      partitionValues_(column.textMap("partitionValues")),
      size_(column.number("size")),
      modificationTime_(column.number("modificationTime")),
      stats_(column.text("stats")),
      tags_(column.textMap("tags")),
      deletionVector_(column.structure("deletionVector")),
      baseRowId_(column.number("baseRowId")),
      rowCommitVersion_(column.number("defaultRowCommitVersion")),
      clusteringProvider_(column.text("clusteringProvider")) {}

bool AddColumn::read(int64_t row, FileFields& fields) const {
  const auto path = path_.viewAt(row);
  if (column_.isNull(row) || !path) return false;
  fields.clear();
  fields.path = *path;
  partitionValues_.viewAt(row, fields.partitionValues);
  fields.size = size_.at(row).value_or(0);
  fields.time = modificationTime_.at(row).value_or(0);
  fields.stats = stats_.viewAt(row);
  readTags(row, fields);
  fields.deletionVector = deletionVector_.at(row);
  fields.baseRowId = baseRowId_.at(row);
  fields.defaultRowCommitVersion = rowCommitVersion_.at(row);
  fields.clusteringProvider = clusteringProvider_.viewAt(row);
  return true;
}

void AddColumn::readTags(int64_t row, FileFields& fields) const {
  if (tags_.isNull(row)) return;
  std::vector<std::pair<std::string_view, std::optional<std::string_view>>> tags;
  tags_.viewAt(row, tags);
  for (const auto& [key, value] : tags) fields.tags.emplace_back(key, value.value_or(""));
}

RemoveColumn::RemoveColumn(const StructColumn& column)
    : column_(column),
      path_(column.text("path")),
      deletionTimestamp_(column.number("deletionTimestamp")),
      extendedFileMetadata_(column.flag("extendedFileMetadata")),
      partitionValues_(column.textMap("partitionValues")),
      size_(column.number("size")),
      deletionVector_(column.structure("deletionVector")),
      baseRowId_(column.number("baseRowId")),
      rowCommitVersion_(column.number("defaultRowCommitVersion")) {}

bool RemoveColumn::read(int64_t row, FileFields& fields) const {
  const auto path = path_.viewAt(row);
  if (column_.isNull(row) || !path) return false;
  fields.clear();
  fields.isAdd = false;
  fields.path = *path;
  fields.time = deletionTimestamp_.at(row);
  fields.extendedFileMetadata = extendedFileMetadata_.at(row);
  fields.hasPartitionValues = !partitionValues_.isNull(row);
  partitionValues_.viewAt(row, fields.partitionValues);
  fields.size = size_.at(row);
  fields.deletionVector = deletionVector_.at(row);
  fields.baseRowId = baseRowId_.at(row);
  fields.defaultRowCommitVersion = rowCommitVersion_.at(row);
  return true;
}

}  // namespace thalweg::delta
