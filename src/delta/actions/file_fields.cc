#include "delta/actions/file_fields.h"

#include <string>

namespace thalweg::delta {
namespace {

std::optional<std::string> textOf(const std::optional<std::string_view>& text) {
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

void viewValues(const PartitionValues& values, FileFields& fields) {
  fields.partitionValues.reserve(values.size());
  for (const auto& [column, value] : values) {
    fields.partitionValues.emplace_back(column,
                                        value ? std::optional<std::string_view>(*value) : std::nullopt);
  }
}

PartitionValues valuesOf(const FileFields& fields) {
  PartitionValues values;
  for (const auto& [column, value] : fields.partitionValues)
    values.emplace_hint(values.end(), column, textOf(value));
  return values;
}

}  // namespace

void FileFields::clear() {
  isAdd = true;
  path = {};
  deletionVector.reset();
  hasPartitionValues = true;
  partitionValues.clear();
  size.reset();
  time.reset();
  extendedFileMetadata.reset();
  baseRowId.reset();
  defaultRowCommitVersion.reset();
  clusteringProvider.reset();
  stats.reset();
  laterStats.reset();
  tags.clear();
}

FileFields fieldsOf(const AddFile& add) {
  FileFields fields;
  fields.path = add.path;
  fields.deletionVector = add.deletionVector;
  viewValues(add.partitionValues, fields);
  fields.size = add.size;
  fields.time = add.modificationTime;
  fields.baseRowId = add.baseRowId;
  fields.defaultRowCommitVersion = add.defaultRowCommitVersion;
  if (add.clusteringProvider) fields.clusteringProvider = *add.clusteringProvider;
  if (add.stats) fields.stats = *add.stats;
  for (const auto& [key, value] : add.tags) fields.tags.emplace_back(key, value);
  return fields;
}

FileFields fieldsOf(const RemoveFile& remove) {
  FileFields fields;
  fields.isAdd = false;
  fields.path = remove.path;
  fields.deletionVector = remove.deletionVector;
  fields.hasPartitionValues = remove.partitionValues.has_value();
  if (remove.partitionValues) viewValues(*remove.partitionValues, fields);
  fields.size = remove.size;
  fields.time = remove.deletionTimestamp;
  fields.extendedFileMetadata = remove.extendedFileMetadata;
  fields.baseRowId = remove.baseRowId;
  fields.defaultRowCommitVersion = remove.defaultRowCommitVersion;
  return fields;
}

AddFile addOf(const FileFields& fields) {
  AddFile add;
  add.path = fields.path;
  add.partitionValues = valuesOf(fields);
  add.size = fields.size.value_or(0);
  add.modificationTime = fields.time.value_or(0);
  add.dataChange = false;
  add.stats = textOf(fields.stats);
  for (const auto& [key, value] : fields.tags) add.tags.emplace_hint(add.tags.end(), key, value);
  add.deletionVector = fields.deletionVector;
  add.baseRowId = fields.baseRowId;
  add.defaultRowCommitVersion = fields.defaultRowCommitVersion;
  add.clusteringProvider = textOf(fields.clusteringProvider);
  return add;
}

RemoveFile removeOf(const FileFields& fields) {
  RemoveFile remove;
  remove.path = fields.path;
  remove.deletionTimestamp = fields.time;
  remove.dataChange = false;
  remove.extendedFileMetadata = fields.extendedFileMetadata;
  if (fields.hasPartitionValues) remove.partitionValues = valuesOf(fields);
  remove.size = fields.size;
  remove.deletionVector = fields.deletionVector;
  remove.baseRowId = fields.baseRowId;
  remove.defaultRowCommitVersion = fields.defaultRowCommitVersion;
  return remove;
}

}  // namespace thalweg::delta
