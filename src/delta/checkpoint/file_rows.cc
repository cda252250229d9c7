#include "delta/checkpoint/file_rows.h"

#include <arrow/array.h>
#include <arrow/builder.h>

#include "delta/checkpoint/struct_writer.h"
#include "types/arrow_types.h"

namespace thalweg::delta {
namespace {

std::unique_ptr<arrow::ArrayBuilder> builderOf(const DataType& type) {
  return valueOrThrow(arrow::MakeBuilder(toArrowType(type), arrow::default_memory_pool()));
}

arrow::StructBuilder& structOf(arrow::ArrayBuilder& builder) {
  return static_cast<arrow::StructBuilder&>(builder);
}

arrow::StructBuilder& memberOf(arrow::ArrayBuilder& builder, const DataType& type, std::string_view name) {
  for (size_t i = 0; i < type.fields().size(); ++i) {
    if (type.fields()[i].name == name) return structOf(*structOf(builder).field_builder(static_cast<int>(i)));
  }
  throw internalError("a checkpoint without the column " + std::string(name));
}

}  // namespace

AddRows::AddRows(const CheckpointColumns& columns) : statsAsJson_(columns.statsAsJson) {
  const DataTypePtr type = columns.addType();
  rows_ = builderOf(*type);
  if (columns.partitionValues)
    partitionValues_.emplace(columns.partitionValues, memberOf(*rows_, *type, "partitionValues_parsed"));
  if (columns.stats) stats_.emplace(columns.stats, memberOf(*rows_, *type, "stats_parsed"));
}

AddRows::~AddRows() = default;

void AddRows::append(const FileFields& add) {
  StructWriter row(structOf(*rows_));
  row.text(add.path);
  row.textMap(add.partitionValues);
  row.number(add.size);
  row.number(add.time);
  row.flag(false);
  add.tags.empty() ? row.null() : row.textMap(add.tags);
  row.deletionVector(add.deletionVector);
  row.number(add.baseRowId);
  row.number(add.defaultRowCommitVersion);
  row.text(add.clusteringProvider);
  if (statsAsJson_) row.text(add.stats);
  if (partitionValues_) partitionValues_->append(add);
  if (stats_) stats_->append(add.stats);
}

int64_t AddRows::length() const {
  return rows_->length();
}

std::shared_ptr<arrow::Array> AddRows::take() {
  return valueOrThrow(rows_->Finish());
}

RemoveRows::RemoveRows() : rows_(builderOf(*CheckpointColumns::removeType())) {}
RemoveRows::~RemoveRows() = default;

void RemoveRows::append(const FileFields& remove) {
  StructWriter row(structOf(*rows_));
  row.text(remove.path);
  row.number(remove.time);
  row.flag(false);
  row.flag(remove.extendedFileMetadata);
  remove.hasPartitionValues ? row.textMap(remove.partitionValues) : row.null();
  row.number(remove.size);
  row.deletionVector(remove.deletionVector);
  row.number(remove.baseRowId);
  row.number(remove.defaultRowCommitVersion);
}

int64_t RemoveRows::length() const {
  return rows_->length();
}

std::shared_ptr<arrow::Array> RemoveRows::take() {
  return valueOrThrow(rows_->Finish());
}

}  // namespace thalweg::delta
