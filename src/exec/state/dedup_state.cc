#include "exec/state/dedup_state.h"

#include <algorithm>

#include <arrow/api.h>

#include "exec/state/hot_and_cold.h"
#include "exec/state/in_blocks.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

using Keep = DedupStateLayout::Keep;

SchemaPtr valueSchema(Keep keep) {
  if (keep == Keep::UntilExpiry) return DataType::structOf({{"expiresAtMicros", longType(), false}});
  return DataType::structOf({{"__dummy__", voidType(), true}});
}

void encodeValue(const DataType& schema, const std::shared_ptr<arrow::Array>& column, BinaryRows* out) {
  BinaryRowEncoder(fieldTypes(schema)).encode({column}, 0, column->length(), out);
}

std::string sameValueOf(const DataType& schema, Keep keep) {
  BinaryRows rows;
  if (keep != Keep::UntilExpiry) encodeValue(schema, std::make_shared<arrow::NullArray>(1), &rows);
  return rows.bytes();
}

}  // namespace

DedupStateLayout::DedupStateLayout(std::vector<StructField> keyFields, Keep keepUntil,
                                   std::optional<EventTimeKey> eventTimeKey)
    : key(DataType::structOf(std::move(keyFields))),
      value(valueSchema(keepUntil)),
      keep(keepUntil),
      eventTime(eventTimeKey),
      keyEncoder(fieldTypes(*key), BinaryRowEncoder::Floats::Normalize),
      sameValue(sameValueOf(*value, keep)) {}

DedupState::DedupState(const DedupStateLayout& layout)
    : layout_(layout),
      keys_(*this),
      loader_(
          keys_, *this, [this](auto keys, auto values, auto ends) { endsOf(keys, values, ends); },
          layout.sameValue) {}

void DedupState::restart() {
  keys_.clear();
  loader_.clear();
  isAdded_.clear();
  added_.clear();
  removedKeys_.clear();
}

void DedupState::endsOf(std::span<const std::string_view> keys, std::span<const std::string_view> values,
                        std::span<int64_t> ends) const {
  if (layout_.keep == Keep::Always) return;
  const bool inValue = layout_.keep == Keep::UntilExpiry;
  BinaryRowDecoder decoder(fieldTypes(inValue ? *layout_.value : *layout_.key),
                           inValue ? BinaryRowDecoder::Role::Value : BinaryRowDecoder::Role::Key,
                           arrow::default_memory_pool());
  decoder.append(inValue ? values : keys);
  const auto columns = decoder.finish();
  if (inValue) {
    const auto& saved = static_cast<const arrow::Int64Array&>(*columns[0]);
    for (int64_t i = 0; i < saved.length(); ++i) {
      if (saved.IsValid(i)) ends[static_cast<size_t>(i)] = saved.Value(i);
    }
    return;
  }
  const auto times = layout_.eventTime->timesOf(columns);
  for (size_t i = 0; i < times.size(); ++i) ends[i] = times[i].value_or(StateKeys::kNever);
}

void DedupState::add(std::span<const std::string_view> keys, std::span<const std::optional<int64_t>> ends,
                     std::vector<uint32_t>* added) {
  std::vector<uint32_t> numbers;
  keys_.findOrAddHot(keys, &numbers, added);
  isAdded_.resize(static_cast<size_t>(keys_.table().numbersEnd()));
  for (const uint32_t i : *added) {
    isAdded_[numbers[i]] = 1;
    added_.push_back(numbers[i]);
    if (ends[i]) keys_.setEnd(numbers[i], *ends[i]);
  }
}

void DedupState::lookUp(std::span<const std::string_view> keys, std::vector<uint8_t>* known) const {
  keys_.table().contains(keys, known);
  if (keys_.numCold() == 0) return;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!(*known)[i]) (*known)[i] = keys_.isCold(keys[i]);
  }
}

int64_t DedupState::removeEnded(int64_t watermarkMicros) {
  const std::vector<uint32_t> ended = keys_.takeEnded(watermarkMicros);
  for (const uint32_t number : ended) {
    if (!isAdded_[number]) removedKeys_.emplace_back(keys_.table().key(number));
    keys_.remove(number);
  }
  auto numRemoved = static_cast<int64_t>(ended.size());
  keys_.removeEndedCold(watermarkMicros, [&](std::string_view key) {
    removedKeys_.emplace_back(key);
    ++numRemoved;
  });
  return numRemoved;
}

void DedupState::moveOut(Numbers numbers, ByteStrings* values, std::span<int64_t>) {
  BinaryRows rows;
  encodeValues(numbers, &rows);
  for (size_t i = 0; i < rows.size(); ++i) values->add(rows[i]);
}

void DedupState::moveIn(Numbers numbers, std::span<const std::string_view>, std::span<const int64_t> ends) {
  isAdded_.resize(static_cast<size_t>(keys_.table().numbersEnd()));
  for (size_t i = 0; i < numbers.size(); ++i) keys_.setEnd(numbers[i], ends[i]);
}

// At the end of a batch all are in the files.
void DedupState::renumber(Numbers numbers) {
  isAdded_ = std::vector<uint8_t>(numbers.size());
}

void DedupState::encodeValues(Numbers numbers, BinaryRows* out) const {
  std::shared_ptr<arrow::Array> column;
  if (layout_.keep == Keep::UntilExpiry) {
    arrow::Int64Builder ends;
    for (const uint32_t number : numbers) throwIfFailed(ends.Append(keys_.end(number)));
    column = valueOrThrow(ends.Finish());
  } else {
    column = std::make_shared<arrow::NullArray>(static_cast<int64_t>(numbers.size()));
  }
  encodeValue(*layout_.value, column, out);
}

std::vector<StateChange> DedupState::changes() {
  std::vector<StateChange> changes;
  for (const std::string& key : removedKeys_) changes.push_back({StateChange::Kind::Remove, key, {}});
  // What this batch brought and let go again, no file needs to know.
  std::vector<uint32_t> kept;
  for (const uint32_t number : added_) {
    if (keys_.table().isLive(number)) kept.push_back(number);
  }
  addedValues_.clear();
  encodeValues(kept, &addedValues_);
  for (size_t i = 0; i < kept.size(); ++i)
    changes.push_back({StateChange::Kind::Put, keys_.table().key(kept[i]), addedValues_[i]});
  return changes;
}

void DedupState::changesWritten() {
  for (const uint32_t number : added_) isAdded_[number] = 0;
  added_.clear();
  removedKeys_.clear();
  addedValues_.clear();
  keys_.settle();
}

StateEntries DedupState::entries() const {
  return hotAndCold(keys_.table(), keys_.cold(),
                    [this](Numbers numbers, BinaryRows* out) { encodeValues(numbers, out); });
}

int64_t DedupState::memoryBytes() const {
  return keys_.memoryBytes() + static_cast<int64_t>(isAdded_.capacity());
}

}  // namespace thalweg
