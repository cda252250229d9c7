#include "delta/upsert/changed_keys.h"

#include <algorithm>
#include <iterator>

#include <arrow/array.h>
#include <arrow/scalar.h>

#include "common/error.h"
#include "delta/files/partition_values.h"
#include "delta/scan/file_skipping.h"
#include "types/arrow_result.h"

namespace thalweg::delta {
namespace {

constexpr size_t kMaxValues = 4096;  // of a leaf; beyond, their range must do

void appendLeaves(const DataType& type, const DataType& physical, const KeyLeaf& above,
                  std::vector<KeyLeaf>* leaves) {
  if (type.id() != TypeId::Struct) {
    leaves->push_back(above);
    return;
  }
  for (size_t i = 0; i < type.fields().size(); ++i) {
    KeyLeaf leaf = above;
    leaf.members.push_back(static_cast<int>(i));
    leaf.physicalPath.push_back(physical.fields()[i].name);
    leaf.type = type.fields()[i].type;
    appendLeaves(*leaf.type, *physical.fields()[i].type, leaf, leaves);
  }
}

// The leaf's values, null where a struct above is.
std::shared_ptr<arrow::Array> leafColumn(std::shared_ptr<arrow::Array> column, const KeyLeaf& leaf) {
  for (const int member : leaf.members) {
    column = valueOrThrow(static_cast<const arrow::StructArray&>(*column).GetFlattenedField(member));
  }
  return column;
}

ValueBounds partitionBounds(const KeyLeaf& leaf, const AddFile& file) {
  const auto it = file.partitionValues.find(leaf.physicalPath.front());
  const auto text = it == file.partitionValues.end() ? std::nullopt : it->second;
  return boundsOfOne(*parsePartitionValue(text, *leaf.type, leaf.name, leaf.timeZone));
}

}  // namespace

std::vector<KeyLeaf> keyLeaves(const TableLayout& layout, const std::vector<int>& keyColumns) {
  std::vector<KeyLeaf> leaves;
  for (size_t i = 0; i < keyColumns.size(); ++i) {
    const StructField& field = layout.schema->fields()[static_cast<size_t>(keyColumns[i])];
    const StructField& physical = layout.physicalSchema->fields()[static_cast<size_t>(keyColumns[i])];
    KeyLeaf leaf;
    leaf.keyColumn = static_cast<int>(i);
    leaf.physicalPath = {physical.name};
    leaf.name = field.name;
    leaf.type = field.type;
    leaf.isPartitionColumn = layout.isPartitionColumn(keyColumns[i]);
    leaf.timeZone = layout.timeZone;
    appendLeaves(*field.type, *physical.type, leaf, &leaves);
  }
  return leaves;
}

std::vector<ValueBounds> leafBounds(const std::vector<KeyLeaf>& leaves, const AddFile& file) {
  std::vector<ValueBounds> bounds(leaves.size());
  const bool asksStatistics =
      std::any_of(leaves.begin(), leaves.end(), [](const KeyLeaf& leaf) { return !leaf.isPartitionColumn; });
  std::optional<StatisticsView> statistics;
  if (file.stats && asksStatistics) statistics.emplace(*file.stats);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].isPartitionColumn)
      bounds[i] = partitionBounds(leaves[i], file);
    else if (statistics)
      bounds[i] = statistics->boundsOf(leaves[i].physicalPath, *leaves[i].type);
  }
  return bounds;
}

void ChangedKeys::Values::add(OrderedValue value) {
  values.push_back(std::move(value));
  if (values.size() >= 2 * kMaxValues) compact();
}

void ChangedKeys::Values::compact() {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (!isRange && values.size() <= kMaxValues) return;
  isRange = true;
  if (values.size() > 2) values = {values.front(), values.back()};
}

bool ChangedKeys::Values::mayBeIn(const ValueBounds& bounds) const {
  if (hasUnordered || (hasNull && bounds.mayHaveNulls())) return true;
  if (values.empty() || bounds.allNull()) return false;
  if (isRange) return !isLess(values.back(), bounds.min) && !isLess(bounds.max, values.front());
  const auto first = std::partition_point(
      values.begin(), values.end(), [&](const OrderedValue& value) { return isLess(value, bounds.min); });
  return first != values.end() && !isLess(bounds.max, *first);
}

ChangedKeys::ChangedKeys(std::vector<KeyLeaf> leaves) : leaves_(std::move(leaves)), values_(leaves_.size()) {}

void ChangedKeys::add(const std::vector<std::shared_ptr<arrow::Array>>& keyColumns,
                      std::span<const KeyHash> hashes) {
  hashes_.insert(hashes_.end(), hashes.begin(), hashes.end());
  for (size_t i = 0; i < leaves_.size(); ++i) {
    Values& values = values_[i];
    const auto column = leafColumn(keyColumns[static_cast<size_t>(leaves_[i].keyColumn)], leaves_[i]);
    for (int64_t row = 0; row < column->length(); ++row) {
      if (column->IsNull(row)) {
        values.hasNull = true;
        continue;
      }
      OrderedValue value = orderedValue(*column, row);
      if (isSet(value))
        values.add(std::move(value));
      else
        values.hasUnordered = true;
    }
  }
}

void ChangedKeys::merge(ChangedKeys other) {
  hashes_.insert(hashes_.end(), other.hashes_.begin(), other.hashes_.end());
  for (size_t i = 0; i < values_.size(); ++i) {
    Values& theirs = other.values_[i];
    values_[i].hasNull |= theirs.hasNull;
    values_[i].hasUnordered |= theirs.hasUnordered;
    values_[i].isRange |= theirs.isRange;
    std::move(theirs.values.begin(), theirs.values.end(), std::back_inserter(values_[i].values));
    values_[i].compact();
  }
}

void ChangedKeys::finish() {
  std::sort(hashes_.begin(), hashes_.end());
  if (std::adjacent_find(hashes_.begin(), hashes_.end()) != hashes_.end()) {
    throw internalError(
        "A batch has two rows of one group: which of them is to stay in the Delta table is not known.");
  }
  for (Values& values : values_) values.compact();
}

bool ChangedKeys::mayBeIn(std::span<const ValueBounds> bounds) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!values_[i].mayBeIn(bounds[i])) return false;
  }
  return !hashes_.empty();
}

}  // namespace thalweg::delta
