#include "exec/state/join_state.h"

#include <algorithm>

#include <arrow/api.h>

#include "columnar/binary_row_layout.h"
#include "common/error.h"
#include "exec/state/in_blocks.h"
#include "exec/state/join_load.h"

namespace thalweg {
namespace {

// Fewer row numbers are not worth to be given anew.
constexpr int64_t kLeastNumbers = 1024;

std::vector<DataTypePtr> withType(std::vector<DataTypePtr> types, DataTypePtr last) {
  types.push_back(std::move(last));
  return types;
}

// Indices are mostly small: they are counted where that is less work than to compare them.
void sortByIndexFromLast(const JoinRows& from, std::span<uint32_t> rows) {
  uint32_t most = 0;
  for (const uint32_t row : rows) most = std::max(most, from.indexOf(row));
  if (most > 2 * rows.size()) {
    std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(from.indexOf(a), a) > std::pair(from.indexOf(b), b);
    });
    return;
  }
  std::vector<uint32_t> ends(size_t{most} + 1);
  for (const uint32_t row : rows) ++ends[from.indexOf(row)];
  for (size_t index = most; index-- > 0;) ends[index] += ends[index + 1];
  std::vector<uint32_t> sorted(rows.size());
  for (const uint32_t row : rows) sorted[--ends[from.indexOf(row)]] = row;
  std::copy(sorted.begin(), sorted.end(), rows.begin());
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
      keys_(*this),
      sides_{JoinRows(matchedOffset(layout.rowTypes(JoinSide::Left))),
             JoinRows(matchedOffset(layout.rowTypes(JoinSide::Right)))} {}

JoinState::~JoinState() = default;

void JoinState::clear() {
  keys_.clear();
  for (const JoinSide side : kJoinSides) {
    const auto i = static_cast<size_t>(side);
    sides_[i] = JoinRows(matchedOffset(layout_.rowTypes(side)));
    rowPanes_[i].clear();
    if (coldTimes_[i] != nullptr) coldTimes_[i]->clear();
  }
  numColdRows_ = {0, 0};
  touched_.clear();
  isTouched_.clear();
  load_.reset();
}

void JoinState::restart(JoinSide side, bool ofRows) {
  if (!load_) clear();
  loading().restart(side, ofRows);
}

JoinLoad& JoinState::loading() {
  if (!load_) load_ = std::make_unique<JoinLoad>(*this);
  return *load_;
}

void JoinState::finishLoad() {
  const std::unique_ptr<JoinLoad> load = std::move(load_);
  if (load) load->finish();
}

void JoinState::touch(uint32_t key) {
  if (key >= isTouched_.size()) isTouched_.resize(key + 1);
  if (isTouched_[key]) return;
  isTouched_[key] = 1;
  touched_.push_back(key);
}

std::vector<uint32_t> JoinState::number(const BinaryRows& rows) {
  std::vector<std::string_view> keys;
  keys.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) keys.push_back(rows[i]);
  std::vector<uint32_t> numbers, added;
  keys_.findOrAdd(keys, &numbers, &added);
  for (const uint32_t i : added) touch(numbers[i]);  // it may be left without rows
  for (const uint32_t number : numbers) keys_.use(number);
  return numbers;
}

void JoinState::noteTime(JoinSide side, uint32_t key, uint32_t row, std::optional<int64_t> time) {
  if (!time) return;
  if (layout_.keyExpiry()) return keys_.setEnd(key, *time);
  rowPanes_[static_cast<size_t>(side)].add(*time, row);
  sides_[static_cast<size_t>(side)].setTimed(row);
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

void JoinState::takeExpiredKeys(int64_t watermarkMicros,
                                const std::function<void(const std::array<Rows, 2>&)>& visit) {
  const auto visitRows = [&](std::span<const uint32_t> keys) {
    std::array<Rows, 2> expired;
    for (const uint32_t key : keys) {
      for (size_t side = 0; side < 2; ++side) {
        for (uint32_t row = sides_[side].last(key); row != kNone; row = sides_[side].before(row))
          expired[side].push_back(row);
      }
      touch(key);
    }
    visit(expired);
  };
  visitRows(keys_.takeEnded(watermarkMicros));
  keys_.takeEndedCold(watermarkMicros, visitRows);
}

void JoinState::takeExpiredRows(JoinSide side, int64_t watermarkMicros,
                                const std::function<void(const Rows&)>& visit) {
  visit(takeExpiredHot(side, watermarkMicros));
  ColdPartition* cold = coldTimes_[static_cast<size_t>(side)];
  if (cold == nullptr || cold->numKeys() == 0) return;
  std::vector<std::string> keys;
  std::vector<uint32_t> numbers;
  const auto bringIn = [&] {
    if (keys.empty()) return;
    keys_.moveIn(keys, &numbers);
    visit(takeExpiredHot(side, watermarkMicros));
    keys.clear();
  };
  cold->removeUntil(watermarkMicros, [&](std::string_view key) {
    keys.emplace_back(key);
    if (keys.size() == kBlockSize) bringIn();
  });
  bringIn();
}

// A key's rows leave from its last one on: the fewest take the place of others, and which do does not depend
// on where the key was.
JoinState::Rows JoinState::takeExpiredHot(JoinSide side, int64_t watermarkMicros) {
  JoinRows& from = sides_[static_cast<size_t>(side)];
  Rows rows = rowPanes_[static_cast<size_t>(side)].take(watermarkMicros);
  std::erase_if(rows, [&](uint32_t row) { return !from.takeTimed(row); });
  const auto several = std::partition(rows.begin(), rows.end(),
                                      [&](uint32_t row) { return from.count(from.keyOf(row)) == 1; });
  sortByIndexFromLast(from, {several, rows.end()});
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
    if (sides_[0].count(key) == 0 && sides_[1].count(key) == 0) keys_.remove(key);
  }
  touched_.clear();
  keys_.settle();
  for (const JoinSide side : kJoinSides) {
    const JoinRows& rows = this->rows(side);
    if (rows.numbersEnd() > kLeastNumbers && rows.numRows() < rows.numbersEnd() / 4)
      rebuild(side, allGroups(keys_.table().numbersEnd()));
    if (ColdPartition* cold = coldTimes_[static_cast<size_t>(side)]) cold->flush();
  }
}

int64_t JoinState::tableBytes() const {
  return keys_.memoryBytes() +
         static_cast<int64_t>(isTouched_.capacity() + touched_.capacity() * sizeof(uint32_t));
}

}  // namespace thalweg
