#include "exec/state/dedup_state.h"

#include <algorithm>

#include <arrow/api.h>

#include "exec/state/hot_and_cold.h"
#include "exec/state/in_blocks.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

using Keep = DedupStateLayout::Keep;

// Of a key, beside its bytes: its slots, flag, end and pane.
constexpr int64_t kKeyBytes = 52;
// While loading: less is not worth a visit to the disk.
constexpr int64_t kLeastLoaded = 1 << 20;

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

void DedupState::setRoom(ColdPartition* cold, int64_t bytes) {
  cold_ = cold;
  room_ = bytes;
}

int64_t DedupState::bytesOfLive() const {
  return table_.keyBytes() + table_.size() * kKeyBytes;
}

void DedupState::restart() {
  table_ = BinaryKeyTable();
  ends_.clear();
  panes_.clear();
  panesAreStale_ = false;
  isAdded_.clear();
  added_.clear();
  removedKeys_.clear();
  loadedValues_.clear();
  if (cold_ != nullptr) cold_->clear();
}

void DedupState::apply(const StateChange& change) {
  bool added = false;
  const uint32_t number = table_.findOrAdd(change.key, &added);
  if (change.kind == StateChange::Kind::Remove) {
    table_.remove(number);
    std::string ignored;
    if (cold_ != nullptr) cold_->take(change.key, &ignored);
    return;
  }
  if (layout_.keep == Keep::UntilExpiry) {
    if (number >= loadedValues_.size()) loadedValues_.resize(number + 1);
    loadedValues_[number].assign(change.value);
  }
  if (added && bytesOfLive() > std::max(room_, kLeastLoaded)) moveLoadedToCold();
}

void DedupState::finishLoad() {
  resize();
  if (layout_.keep != Keep::Always) noteLoadedEnds();
  loadedValues_ = std::vector<std::string>();
  if (numCold() == 0) return;
  // What the change files say is newer than what went to the cold tier before them.
  std::string ignored;
  for (const uint32_t number : table_.liveNumbers()) cold_->take(table_.key(number), &ignored);
  cold_->flush();
}

// Of a key that older files had too, what they said goes.
void DedupState::moveLoadedToCold() {
  resize();
  if (layout_.keep != Keep::Always) noteLoadedEnds();
  const std::vector<uint32_t> numbers = table_.liveNumbers();
  std::string ignored;
  for (const uint32_t number : numbers) cold_->take(table_.key(number), &ignored);
  cold_->flush();
  moveToCold(numbers);
  table_ = BinaryKeyTable();
  ends_.clear();
  panes_.clear();
  panesAreStale_ = false;
  loadedValues_.clear();
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
  if (layout_.keep != Keep::Always && ends_.size() < count) ends_.resize(count, kNoEnd);
}

void DedupState::noteEnd(uint32_t number, int64_t endMicros) {
  ends_[number] = endMicros;
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
    if (ends[i])
      noteEnd(numbers[i], *ends[i]);
    else if (layout_.keep != Keep::Always)
      ends_[numbers[i]] = kNoEnd;
  }
}

void DedupState::lookUp(std::span<const std::string_view> keys, std::vector<uint8_t>* known) const {
  table_.contains(keys, known);
  if (numCold() == 0) return;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!(*known)[i]) (*known)[i] = cold_->contains(keys[i]);
  }
}

int64_t DedupState::removeEnded(int64_t watermarkMicros) {
  int64_t numRemoved = 0;
  for (const uint32_t number : panes_.take(watermarkMicros)) {
    if (panesAreStale_ && (!table_.isLive(number) || ends_[number] > watermarkMicros)) continue;
    remove(number);
    ++numRemoved;
  }
  if (numCold() == 0) return numRemoved;
  cold_->takeUntil(watermarkMicros, [&](std::string_view key, std::string_view) {
    removedKeys_.emplace_back(key);
    ++numRemoved;
  });
  return numRemoved;
}

void DedupState::coolDown() {
  if (bytesOfLive() <= room_) return;
  int64_t excess = bytesOfLive() - room_ / 4 * 3;
  std::vector<uint32_t> numbers;
  for (int64_t left = table_.numbersEnd(); left > 0 && excess > 0; --left) {
    hand_ = hand_ + 1 < table_.numbersEnd() ? hand_ + 1 : 0;
    if (!table_.isLive(hand_)) continue;
    excess -= kKeyBytes + static_cast<int64_t>(table_.key(hand_).size());
    numbers.push_back(hand_);
  }
  moveToCold(numbers);
  for (const uint32_t number : numbers) table_.remove(number);
  panesAreStale_ = true;
  if (panes_.size() > 2 * table_.size()) rebuildPanes();
}

void DedupState::rebuildPanes() {
  panes_.clear();
  panesAreStale_ = false;
  if (layout_.keep == Keep::Always) return;
  for (const uint32_t number : table_.liveNumbers()) {
    if (ends_[number] != kNoEnd) panes_.add(ends_[number], number);
  }
}

void DedupState::moveToCold(std::span<const uint32_t> numbers) {
  BinaryRows values;
  inBlocks(numbers, [&](std::span<const uint32_t> block) {
    values.clear();
    encodeValues(block, &values);
    for (size_t i = 0; i < block.size(); ++i) {
      const bool ends = layout_.keep != Keep::Always && ends_[block[i]] != kNoEnd;
      cold_->put(table_.key(block[i]), values[i], ends ? std::optional(ends_[block[i]]) : std::nullopt);
    }
  });
  cold_->flush();
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
  coolDown();
}

StateEntries DedupState::entries() const {
  return hotAndCold(table_, cold_, [this](std::span<const uint32_t> numbers, BinaryRows* out) { encodeValues(numbers, out); });
}

int64_t DedupState::memoryBytes() const {
  return table_.memoryBytes() + panes_.memoryBytes() +
         static_cast<int64_t>(ends_.capacity() * sizeof(int64_t) + isAdded_.capacity());
}

}  // namespace thalweg
