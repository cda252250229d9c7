#include "exec/state/dedup_state.h"

#include <algorithm>

#include <arrow/api.h>

#include "exec/state/in_blocks.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

using Keep = DedupStateLayout::Keep;

SchemaPtr valueSchema(Keep keep) {
  if (keep == Keep::UntilExpiry) return DataType::structOf({{"expiresAtMicros", longType(), false}});
  return DataType::structOf({{"__dummy__", voidType(), true}});
}

}  // namespace

DedupStateLayout::DedupStateLayout(std::vector<StructField> keyFields, Keep keepUntil,
                                   std::optional<EventTimeKey> eventTimeKey)
    : key(DataType::structOf(std::move(keyFields))),
      value(valueSchema(keepUntil)),
      keep(keepUntil),
      eventTime(eventTimeKey),
      keyEncoder(fieldTypes(*key), BinaryRowEncoder::Floats::Normalize) {}

void DedupState::restart() {
  table_ = BinaryKeyTable();
  ends_.clear();
  panes_.clear();
  isAdded_.clear();
  added_.clear();
  removedKeys_.clear();
  loadedValues_.clear();
}

void DedupState::apply(const StateChange& change) {
  bool added = false;
  const uint32_t number = table_.findOrAdd(change.key, &added);
  if (change.kind == StateChange::Kind::Remove) {
    table_.remove(number);
    return;
  }
  if (layout_.keep != Keep::UntilExpiry) return;
  if (number >= loadedValues_.size()) loadedValues_.resize(number + 1);
  loadedValues_[number].assign(change.value);
}

void DedupState::finishLoad() {
  resize();
  if (layout_.keep != Keep::Always) noteLoadedEnds();
  loadedValues_ = {};
}

void DedupState::noteLoadedEnds() {
  const bool inValue = layout_.keep == Keep::UntilExpiry;
  BinaryRowDecoder decoder(fieldTypes(inValue ? *layout_.value : *layout_.key),
                           inValue ? BinaryRowDecoder::Role::Value : BinaryRowDecoder::Role::Key,
                           arrow::default_memory_pool());
  inBlocks(std::span<const uint32_t>(table_.liveNumbers()), [&](std::span<const uint32_t> numbers) {
    std::vector<std::string_view> rows;
    for (const uint32_t number : numbers)
      rows.push_back(inValue ? std::string_view(loadedValues_[number]) : table_.key(number));
    decoder.append(rows);
    const auto columns = decoder.finish();
    if (inValue) {
      const auto& ends = static_cast<const arrow::Int64Array&>(*columns[0]);
      for (size_t i = 0; i < numbers.size(); ++i) {
        if (ends.IsValid(static_cast<int64_t>(i))) noteEnd(numbers[i], ends.Value(static_cast<int64_t>(i)));
      }
      return;
    }
    const auto times = layout_.eventTime->timesOf(columns);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (times[i]) noteEnd(numbers[i], *times[i]);
    }
  });
}

void DedupState::resize() {
  const auto count = static_cast<size_t>(table_.numbersEnd());
  if (isAdded_.size() < count) isAdded_.resize(count);
  if (layout_.keep == Keep::UntilExpiry && ends_.size() < count) ends_.resize(count);
}

void DedupState::noteEnd(uint32_t number, int64_t endMicros) {
  if (layout_.keep == Keep::UntilExpiry) ends_[number] = endMicros;
  panes_.add(endMicros, number);
}

void DedupState::add(std::span<const std::string_view> keys, std::span<const std::optional<int64_t>> ends,
                     std::vector<uint32_t>* added) {
  std::vector<uint32_t> numbers;
  table_.findOrAdd(keys, &numbers, added);
  resize();
  for (const uint32_t i : *added) {
    isAdded_[numbers[i]] = 1;
    added_.push_back(numbers[i]);
    if (ends[i]) noteEnd(numbers[i], *ends[i]);
  }
}

int64_t DedupState::removeEnded(int64_t watermarkMicros) {
  const std::vector<uint32_t> ended = panes_.take(watermarkMicros);
  for (const uint32_t number : ended) remove(number);
  return static_cast<int64_t>(ended.size());
}

void DedupState::remove(uint32_t number) {
  if (!isAdded_[number]) removedKeys_.emplace_back(table_.key(number));
  table_.remove(number);
}

void DedupState::encodeValues(std::span<const uint32_t> numbers, BinaryRows* out) const {
  std::shared_ptr<arrow::Array> column;
  if (layout_.keep == Keep::UntilExpiry) {
    arrow::Int64Builder ends;
    for (const uint32_t number : numbers) throwIfFailed(ends.Append(ends_[number]));
    column = valueOrThrow(ends.Finish());
  } else {
    column = std::make_shared<arrow::NullArray>(static_cast<int64_t>(numbers.size()));
  }
  BinaryRowEncoder(fieldTypes(*layout_.value)).encode({column}, 0, static_cast<int64_t>(numbers.size()), out);
}

std::vector<StateChange> DedupState::changes() {
  std::vector<StateChange> changes;
  for (const std::string& key : removedKeys_) changes.push_back({StateChange::Kind::Remove, key, {}});
  // What this batch brought and let go again, no file needs to know.
  std::vector<uint32_t> kept;
  for (const uint32_t number : added_) {
    if (table_.isLive(number)) kept.push_back(number);
  }
  addedValues_.clear();
  encodeValues(kept, &addedValues_);
  for (size_t i = 0; i < kept.size(); ++i)
    changes.push_back({StateChange::Kind::Put, table_.key(kept[i]), addedValues_[i]});
  return changes;
}

void DedupState::changesWritten() {
  for (const uint32_t number : added_) isAdded_[number] = 0;
  added_.clear();
  removedKeys_.clear();
  addedValues_.clear();
}

StateEntries DedupState::entries() const {
  return [this](const std::function<void(std::string_view, std::string_view)>& put) {
    BinaryRows values;
    inBlocks(std::span<const uint32_t>(table_.sortedNumbers()), [&](std::span<const uint32_t> block) {
      values.clear();
      encodeValues(block, &values);
      for (size_t i = 0; i < block.size(); ++i) put(table_.key(block[i]), values[i]);
    });
  };
}

int64_t DedupState::memoryBytes() const {
  return table_.memoryBytes() + panes_.memoryBytes() +
         static_cast<int64_t>(ends_.capacity() * sizeof(int64_t) + isAdded_.capacity());
}

}  // namespace thalweg
