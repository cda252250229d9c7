#include "columnar/group_table.h"

#include <cstring>

#include <arrow/api.h>

#include "columnar/key_hash.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

constexpr uint32_t kEmpty = GroupTable::kNoGroup;
constexpr size_t kFirstSlots = 1024;

std::vector<KeyColumn> ascending(const std::vector<DataTypePtr>& types) {
  std::vector<KeyColumn> columns;
  for (const DataTypePtr& type : types) columns.push_back({type});
  return columns;
}

}  // namespace

GroupTable::GroupTable(std::vector<DataTypePtr> keyTypes, arrow::MemoryPool* pool, bool keepKeys)
    : encoder_(ascending(keyTypes)), slots_(kFirstSlots, Slot{0, kEmpty}), offsets_{0} {
  if (!keepKeys) return;
  for (const DataTypePtr& type : keyTypes) {
    std::unique_ptr<arrow::ArrayBuilder> builder;
    throwIfFailed(arrow::MakeBuilder(pool, toArrowType(*type), &builder));
    builders_.push_back(std::move(builder));
  }
}

GroupTable::~GroupTable() = default;

std::string_view GroupTable::keyOf(uint32_t group) const {
  return std::string_view(arena_).substr(offsets_[group], offsets_[group + 1] - offsets_[group]);
}

void GroupTable::grow() {
  std::vector<Slot> old(slots_.size() * 2, Slot{0, kEmpty});
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.group == kEmpty) continue;
    size_t at = slot.hash & mask;
    while (slots_[at].group != kEmpty) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

uint32_t GroupTable::findOrAdd(std::string_view key, bool* added) {
  const uint64_t hash = hashKeyBytes(key);
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  for (; slots_[at].group != kEmpty; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && keyOf(slots_[at].group) == key) {
      *added = false;
      return slots_[at].group;
    }
  }
  const auto group = static_cast<uint32_t>(numGroups());
  slots_[at] = {hash, group};
  arena_.append(key);
  offsets_.push_back(arena_.size());
  *added = true;
  if (static_cast<size_t>(numGroups()) * 2 > slots_.size()) grow();
  return group;
}

void GroupTable::assign(const std::vector<std::shared_ptr<arrow::Array>>& keys, const std::vector<int32_t>& rows,
                        std::vector<uint32_t>* groups) {
  groups->resize(rows.size());
  std::string key;
  for (size_t i = 0; i < rows.size(); ++i) {
    key.clear();
    encoder_.append(keys, rows[i], &key);
    bool added = false;
    (*groups)[i] = findOrAdd(key, &added);
    if (!added) continue;
    for (size_t column = 0; column < builders_.size(); ++column) {
      throwIfFailed(builders_[column]->AppendArraySlice(arrow::ArraySpan(*keys[column]->data()), rows[i], 1));
    }
  }
}

void GroupTable::find(const std::vector<std::shared_ptr<arrow::Array>>& keys, const std::vector<int32_t>& rows,
                      std::vector<uint32_t>* groups) const {
  groups->resize(rows.size());
  const size_t mask = slots_.size() - 1;
  std::string key;
  for (size_t i = 0; i < rows.size(); ++i) {
    key.clear();
    encoder_.append(keys, rows[i], &key);
    const uint64_t hash = hashKeyBytes(key);
    size_t at = hash & mask;
    while (slots_[at].group != kEmpty && (slots_[at].hash != hash || keyOf(slots_[at].group) != key)) at = (at + 1) & mask;
    (*groups)[i] = slots_[at].group;
  }
}

std::vector<std::shared_ptr<arrow::Array>> GroupTable::finishKeys() {
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (auto& builder : builders_) columns.push_back(valueOrThrow(builder->Finish()));
  return columns;
}

}  // namespace thalweg
