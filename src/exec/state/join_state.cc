#include "exec/state/join_state.h"

#include <algorithm>

#include <arrow/api.h>

#include "columnar/binary_row_layout.h"
#include "common/error.h"

namespace thalweg {
namespace {

std::vector<DataTypePtr> withType(std::vector<DataTypePtr> types, DataTypePtr last) {
  types.push_back(std::move(last));
  return types;
}

size_t matchedOffset(const std::vector<DataTypePtr>& rowTypes) {
  return binary_row::bitsetBytes(rowTypes.size()) + 8 * (rowTypes.size() - 1);
}

}  // namespace

JoinStateLayout::JoinStateLayout(std::array<Side, 2> sides, std::optional<EventTimeKey> keyExpiry)
    : sides_(std::move(sides)),
      keyExpiry_(keyExpiry),
      keyTypes_(fieldTypes(*DataType::structOf(sides_[0].keys))),
      rowTypes_{withType(fieldTypes(*DataType::structOf(sides_[0].columns)), booleanType()),
                withType(fieldTypes(*DataType::structOf(sides_[1].columns)), booleanType())},
      keyEncoder_(keyTypes_, BinaryRowEncoder::Floats::Normalize),
      rowEncoders_{BinaryRowEncoder(rowTypes_[0]), BinaryRowEncoder(rowTypes_[1])},
      indexedKeys_(withType(keyTypes_, longType()), keyTypes_.size()) {
  THALWEG_ASSERT(sides_[0].keys.size() == sides_[1].keys.size());
}

std::vector<StoreDefinition> JoinStateLayout::stores() const {
  std::vector<StoreDefinition> stores;
  const SchemaPtr count = DataType::structOf({{"value", longType()}});
  for (const JoinSide which : kJoinSides) {
    const std::string name = which == JoinSide::Left ? "left-" : "right-";
    std::vector<StructField> keys = side(which).keys;
    stores.push_back({name + "keyToNumValues", DataType::structOf(keys), count, 0});
    keys.push_back({"index", longType()});
    std::vector<StructField> values = side(which).columns;
    values.push_back({"matched", booleanType()});
    stores.push_back({name + "keyWithIndexToValue", DataType::structOf(std::move(keys)),
                      DataType::structOf(std::move(values)), 0, ValueCheck::TypesOnly});
  }
  return stores;
}

JoinState::JoinState(const JoinStateLayout& layout)
    : layout_(layout),
      sides_{JoinRows(matchedOffset(layout.rowTypes(JoinSide::Left))),
             JoinRows(matchedOffset(layout.rowTypes(JoinSide::Right)))} {}

void JoinState::clear() {
  keys_ = BinaryKeyTable();
  for (const JoinSide side : kJoinSides) {
    const auto i = static_cast<size_t>(side);
    sides_[i] = JoinRows(matchedOffset(layout_.rowTypes(side)));
    rowPanes_[i].clear();
  }
  keyPanes_.clear();
  isTimed_.clear();
  touched_.clear();
  isTouched_.clear();
}

void JoinState::touch(uint32_t key) {
  if (key >= isTouched_.size()) isTouched_.resize(key + 1);
  if (isTouched_[key]) return;
  isTouched_[key] = 1;
  touched_.push_back(key);
}

std::vector<uint32_t> JoinState::number(const BinaryRows& keys) {
  std::vector<uint32_t> numbers(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    bool added = false;
    numbers[i] = keys_.findOrAdd(keys[i], &added);
    if (added) touch(numbers[i]);  // it may be left without rows
  }
  return numbers;
}

void JoinState::noteTime(JoinSide side, uint32_t key, uint32_t row, std::optional<int64_t> time) {
  if (!time) return;
  if (!layout_.keyExpiry()) {
    rowPanes_[static_cast<size_t>(side)].add(*time, row);
    sides_[static_cast<size_t>(side)].setTimed(row);
    return;
  }
  if (key >= isTimed_.size()) isTimed_.resize(key + 1);
  if (isTimed_[key]) return;
  isTimed_[key] = 1;
  keyPanes_.add(*time, key);
}

void JoinState::append(JoinSide side, uint32_t key, std::string_view bytes, std::optional<int64_t> time) {
  const uint32_t row = sides_[static_cast<size_t>(side)].append(key, bytes);
  touch(key);
  noteTime(side, key, row, time);
}

std::vector<std::shared_ptr<arrow::Array>> JoinState::decode(JoinSide side,
                                                             std::span<const uint32_t> rows) const {
  const JoinRows& from = this->rows(side);
  std::vector<std::string_view> bytes;
  bytes.reserve(rows.size());
  for (const uint32_t row : rows) bytes.push_back(from.bytes(row));
  BinaryRowDecoder decoder(layout_.rowTypes(side), BinaryRowDecoder::Role::Value,
                           arrow::default_memory_pool());
  decoder.append(bytes);
  auto columns = decoder.finish();
  columns.pop_back();
  return columns;
}

std::array<std::vector<uint32_t>, 2> JoinState::takeExpiredKeys(int64_t watermarkMicros) {
  std::array<std::vector<uint32_t>, 2> expired;
  for (const uint32_t key : keyPanes_.take(watermarkMicros)) {
    for (size_t side = 0; side < 2; ++side) {
      for (uint32_t row = sides_[side].last(key); row != kNone; row = sides_[side].before(row))
        expired[side].push_back(row);
    }
    isTimed_[key] = 0;
    touch(key);
  }
  return expired;
}

std::vector<uint32_t> JoinState::takeExpiredRows(JoinSide side, int64_t watermarkMicros) {
  std::vector<uint32_t> rows = rowPanes_[static_cast<size_t>(side)].take(watermarkMicros);
  std::erase_if(rows, [&](uint32_t row) { return !sides_[static_cast<size_t>(side)].takeTimed(row); });
  return rows;
}

void JoinState::remove(JoinSide side, std::span<const uint32_t> rows) {
  JoinRows& from = sides_[static_cast<size_t>(side)];
  for (const uint32_t row : rows) {
    touch(from.keyOf(row));
    from.remove(row);
  }
  from.tidy();
}

void JoinState::finishChanges() {
  for (const uint32_t key : touched_) {
    isTouched_[key] = 0;
    for (JoinRows& side : sides_) side.written(key);
    const bool isTimed = key < isTimed_.size() && isTimed_[key];  // until then its number is taken
    if (!isTimed && sides_[0].count(key) == 0 && sides_[1].count(key) == 0) keys_.remove(key);
  }
  touched_.clear();
}

int64_t JoinState::tableBytes() const {
  return keys_.memoryBytes() + keyPanes_.memoryBytes() +
         static_cast<int64_t>(isTimed_.capacity() + isTouched_.capacity() +
                              touched_.capacity() * sizeof(uint32_t));
}

}  // namespace thalweg
