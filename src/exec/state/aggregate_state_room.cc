// The groups of an aggregation that have no room in memory: their way to the cold tier and back.
#include <algorithm>

#include <arrow/api.h>

#include "exec/state/aggregate_state.h"
#include "exec/state/in_blocks.h"

namespace thalweg {
namespace {

using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

// A group's slots, flags, time and pane; and its running values, roughly, an aggregate.
constexpr int64_t kGroupBytes = 56;
constexpr int64_t kValueBytes = 16;
// While loading: less is not worth a visit to the disk.
constexpr int64_t kLeastLoaded = 1 << 20;

}  // namespace

void AggregateState::setRoom(ColdPartition* cold, int64_t bytes) {
  cold_ = cold;
  room_ = bytes;
}

int64_t AggregateState::bytesOf(uint32_t group) const {
  return static_cast<int64_t>(table_.key(group).size()) + kGroupBytes +
         kValueBytes * static_cast<int64_t>(layout_.valueFields.size());
}

int64_t AggregateState::bytesOfLive() const {
  return table_.keyBytes() + table_.size() * (kGroupBytes + kValueBytes * static_cast<int64_t>(layout_.valueFields.size()));
}

int64_t AggregateState::memoryBytes() const {
  return table_.memoryBytes() + panes_.memoryBytes() +
         table_.numbersEnd() * (11 + kValueBytes * static_cast<int64_t>(layout_.valueFields.size()));
}

void AggregateState::warmUp(std::span<const std::string_view> keys, std::span<const uint32_t> groups,
                            std::span<const uint32_t> added) {
  if (numCold() == 0) return;
  inBlocks<uint32_t>(added, [&](std::span<const uint32_t> block) {
    std::vector<uint32_t> found;
    std::vector<std::string> values;
    std::string value;
    for (const uint32_t i : block) {
      if (!cold_->take(keys[i], &value)) continue;
      found.push_back(groups[i]);
      values.push_back(std::move(value));
      isStored_[groups[i]] = 1;
    }
    loadValues(found, std::vector<std::string_view>(values.begin(), values.end()), aggregators_);
  });
}

void AggregateState::takeExpiredFromCold(int64_t watermarkMicros, std::vector<uint32_t>* expired) {
  std::vector<uint32_t> groups;
  std::vector<std::string> values;
  cold_->takeUntil(watermarkMicros, [&](std::string_view key, std::string_view value) {
    bool added = false;
    groups.push_back(table_.findOrAdd(key, &added));
    values.emplace_back(value);
  });
  resize();
  for (const uint32_t group : groups) {
    isStored_[group] = 1;
    times_[group] = watermarkMicros;  // it goes with this watermark, whichever its own time was
  }
  const std::vector<std::string_view> views(values.begin(), values.end());
  for (size_t at = 0; at < groups.size(); at += kBlockSize) {
    const size_t count = std::min(kBlockSize, groups.size() - at);
    loadValues(std::span(groups).subspan(at, count), std::span(views).subspan(at, count), aggregators_);
  }
  expired->insert(expired->end(), groups.begin(), groups.end());
}

// A clock goes over the groups: those that were used since it last came by get another round.
void AggregateState::coolDown() {
  if (bytesOfLive() <= room_) return;
  int64_t excess = bytesOfLive() - room_ / 4 * 3;
  const auto count = static_cast<uint32_t>(table_.numbersEnd());
  std::vector<uint32_t> cooled;
  for (int64_t steps = 2 * static_cast<int64_t>(count); steps > 0 && excess > 0; --steps) {
    hand_ = hand_ + 1 < count ? hand_ + 1 : 0;
    if (!table_.isLive(hand_)) continue;
    if (isRecent_[hand_]) {
      isRecent_[hand_] = 0;
      continue;
    }
    isRecent_[hand_] = 1;  // so that the second round does not take it again
    excess -= bytesOf(hand_);
    cooled.push_back(hand_);
  }
  inBlocks<uint32_t>(cooled, [&](std::span<const uint32_t> block) { moveToCold(block); });
  cold_->flush();
  if (panes_.size() > 2 * table_.size()) rebuildPanes();
}

void AggregateState::rebuildPanes() {
  panes_.clear();
  panesAreStale_ = false;
  for (const uint32_t group : table_.liveNumbers()) noteTime(timeOf(group), group);
}

std::optional<int64_t> AggregateState::timeOf(uint32_t group) const {
  return layout_.eventTime && times_[group] != kNoTime ? std::optional(times_[group]) : std::nullopt;
}

void AggregateState::moveToCold(std::span<const uint32_t> groups) {
  BinaryRows values;
  encodeValues(groups, &values);
  for (size_t i = 0; i < groups.size(); ++i) cold_->put(table_.key(groups[i]), values[i], timeOf(groups[i]));
  forget(groups);
  panesAreStale_ = layout_.eventTime.has_value();
}

void AggregateState::moveLoadedToCold() {
  if (loadedBytes_ <= std::max(room_, kLeastLoaded)) return;
  std::string ignored;
  inBlocks<uint32_t>(table_.liveNumbers(), [&](std::span<const uint32_t> groups) {
    std::vector<std::optional<int64_t>> times(groups.size());
    if (layout_.eventTime) times = layout_.eventTime->timesOf(decodeKeys(keysOf(groups)));
    for (size_t i = 0; i < groups.size(); ++i) {
      const std::string_view key = table_.key(groups[i]);
      cold_->take(key, &ignored);  // what an older file said
      cold_->put(key, loadedValues_[groups[i]], times[i]);
    }
  });
  cold_->flush();
  table_ = BinaryKeyTable();
  loadedValues_.clear();
  loadedBytes_ = 0;
}

Batches AggregateState::coldResults(const Schema& schema) const {
  Batches batches;
  std::vector<std::string> keys, values;
  const auto decode = [&] {
    if (keys.empty()) return;
    const Aggregators aggregators = makeAggregators(layout_.aggregates);
    const std::vector<uint32_t> groups = allGroups(static_cast<int64_t>(keys.size()));
    for (const auto& aggregator : aggregators) aggregator->resize(static_cast<int64_t>(keys.size()));
    loadValues(groups, std::vector<std::string_view>(values.begin(), values.end()), aggregators);
    for (auto& batch : resultBatches(schema, decodeKeys(std::vector<std::string_view>(keys.begin(), keys.end())), aggregators,
                                     groups, arrow::default_memory_pool()))
      batches.push_back(std::move(batch));
    keys.clear();
    values.clear();
  };
  if (cold_ == nullptr) return batches;
  cold_->forEach([&](std::string_view key, std::string_view value) {
    keys.emplace_back(key);
    values.emplace_back(value);
    if (keys.size() == kBlockSize) decode();
    return true;
  });
  decode();
  return batches;
}

}  // namespace thalweg
