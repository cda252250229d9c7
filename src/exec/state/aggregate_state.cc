#include "exec/state/aggregate_state.h"

#include <algorithm>

#include <arrow/api.h>

#include "exec/state/hot_and_cold.h"
#include "exec/state/in_blocks.h"

namespace thalweg {
namespace {

using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

}  // namespace

AggregateState::AggregateState(const AggregateStateLayout& layout)
    : layout_(layout), aggregators_(makeAggregators(layout.aggregates)) {}

void AggregateState::restart() {
  table_ = BinaryKeyTable();
  aggregators_ = makeAggregators(layout_.aggregates);
  panes_.clear();
  panesAreStale_ = false;
  times_.clear();
  isStored_.clear();
  isTouched_.clear();
  isRecent_.clear();
  touched_.clear();
  removedKeys_.clear();
  loadedValues_.clear();
  loadedBytes_ = 0;
  if (cold_ != nullptr) cold_->clear();
}

void AggregateState::apply(const StateChange& change) {
  bool added = false;
  const uint32_t group = table_.findOrAdd(change.key, &added);
  if (change.kind == StateChange::Kind::Remove) {
    table_.remove(group);
    std::string ignored;
    if (cold_ != nullptr) cold_->take(change.key, &ignored);
    return;
  }
  if (group >= loadedValues_.size()) loadedValues_.resize(group + 1);
  loadedValues_[group].assign(change.value);
  if (!added) return;
  loadedBytes_ += bytesOf(group) + static_cast<int64_t>(change.value.size());
  moveLoadedToCold();
}

void AggregateState::finishLoad() {
  resize();
  const std::vector<uint32_t> live = table_.liveNumbers();
  std::string ignored;
  inBlocks<uint32_t>(live, [&](std::span<const uint32_t> groups) {
    std::vector<std::string_view> values;
    for (const uint32_t group : groups) {
      values.push_back(loadedValues_[group]);
      isStored_[group] = 1;
      // What the change files say is newer than what went to the cold tier before them.
      if (numCold() > 0) cold_->take(table_.key(group), &ignored);
    }
    loadValues(groups, values, aggregators_);
    if (!layout_.eventTime) return;
    const auto times = layout_.eventTime->timesOf(decodeKeys(keysOf(groups)));
    for (size_t i = 0; i < groups.size(); ++i) noteTime(times[i], groups[i]);
  });
  if (cold_ != nullptr) cold_->flush();
  loadedValues_ = std::vector<std::string>();
}

void AggregateState::resize() {
  const auto count = static_cast<size_t>(table_.numbersEnd());
  for (auto& aggregator : aggregators_) aggregator->resize(static_cast<int64_t>(count));
  isStored_.resize(count);
  isTouched_.resize(count);
  isRecent_.resize(count);
  if (layout_.eventTime) times_.resize(count, kNoTime);
}

void AggregateState::noteTime(std::optional<int64_t> time, uint32_t group) {
  if (!layout_.eventTime) return;
  times_[group] = time.value_or(kNoTime);
  if (!time) return;
  panes_.add(*time, group);
}

void AggregateState::merge(const GroupEntries& part, std::span<const uint32_t> entries) {
  std::vector<std::string_view> keys;
  std::vector<uint32_t> from, to, added;
  keys.reserve(entries.size());
  from.reserve(entries.size());
  for (const uint32_t entry : entries) {
    keys.push_back(part.key(entry));
    from.push_back(part.group(entry));
  }
  table_.findOrAdd(keys, &to, &added);
  resize();
  warmUp(keys, to, added);
  for (const uint32_t i : added) noteTime(part.time(entries[i]), to[i]);
  for (const uint32_t group : to) {
    isRecent_[group] = 1;
    if (isTouched_[group]) continue;
    isTouched_[group] = 1;
    touched_.push_back(group);
  }
  for (size_t i = 0; i < aggregators_.size(); ++i) aggregators_[i]->merge(from, to, *part.aggregators()[i]);
}

std::vector<uint32_t> AggregateState::takeExpired(int64_t watermarkMicros) {
  std::vector<uint32_t> expired = panes_.take(watermarkMicros);
  if (panesAreStale_) {
    std::sort(expired.begin(), expired.end());
    expired.erase(std::unique(expired.begin(), expired.end()), expired.end());
    std::erase_if(expired, [&](uint32_t group) { return !table_.isLive(group) || times_[group] > watermarkMicros; });
  }
  if (numCold() > 0) takeExpiredFromCold(watermarkMicros, &expired);
  return expired;
}

void AggregateState::remove(std::span<const uint32_t> groups) {
  for (const uint32_t group : groups) {
    if (isStored_[group]) removedKeys_.emplace_back(table_.key(group));
  }
  forget(groups);
}

void AggregateState::forget(std::span<const uint32_t> groups) {
  for (const uint32_t group : groups) {
    isStored_[group] = 0;
    table_.remove(group);
  }
  for (auto& aggregator : aggregators_) aggregator->reset(groups);
}

Batches AggregateState::results(const Schema& schema, std::span<const uint32_t> groups) const {
  if (groups.empty()) return {};
  return resultBatches(schema, decodeKeys(keysOf(groups)), aggregators_, groups, arrow::default_memory_pool());
}

Batches AggregateState::allResults(const Schema& schema) const {
  Batches batches = results(schema, table_.liveNumbers());
  const Batches cold = coldResults(schema);
  batches.insert(batches.end(), cold.begin(), cold.end());
  return batches;
}

std::vector<std::string_view> AggregateState::keysOf(std::span<const uint32_t> groups) const {
  std::vector<std::string_view> keys;
  keys.reserve(groups.size());
  for (const uint32_t group : groups) keys.push_back(table_.key(group));
  return keys;
}

AggregateState::Arrays AggregateState::decodeKeys(std::span<const std::string_view> keys) const {
  BinaryRowDecoder decoder(layout_.keyTypes, BinaryRowDecoder::Role::Key, arrow::default_memory_pool());
  decoder.append(keys);
  return decoder.finish();
}

void AggregateState::loadValues(std::span<const uint32_t> groups, std::span<const std::string_view> values,
                                const Aggregators& aggregators) const {
  BinaryRowDecoder decoder(layout_.valueTypes, BinaryRowDecoder::Role::Value, arrow::default_memory_pool());
  decoder.append(values);
  const Arrays columns = decoder.finish();
  auto column = columns.begin();
  for (const auto& aggregator : aggregators) {
    const auto next = column + static_cast<int64_t>(aggregator->bufferFields().size());
    aggregator->loadBuffers(groups, Arrays(column, next));
    column = next;
  }
}

void AggregateState::encodeValues(std::span<const uint32_t> groups, BinaryRows* out) const {
  Arrays columns;
  for (const auto& aggregator : aggregators_) {
    for (auto& column : aggregator->saveBuffers(groups, arrow::default_memory_pool()))
      columns.push_back(std::move(column));
  }
  layout_.valueEncoder.encode(columns, 0, static_cast<int64_t>(groups.size()), out);
}

std::vector<StateChange> AggregateState::changes() {
  // What this batch made and removed again, no file needs to know.
  std::vector<uint32_t> changed;
  for (const uint32_t group : touched_) {
    if (table_.isLive(group)) changed.push_back(group);
  }
  changedValues_.clear();
  inBlocks<uint32_t>(changed, [&](std::span<const uint32_t> groups) { encodeValues(groups, &changedValues_); });
  std::vector<StateChange> changes;
  changes.reserve(changed.size() + removedKeys_.size());
  for (const std::string& key : removedKeys_) changes.push_back({StateChange::Kind::Remove, key, {}});
  for (size_t i = 0; i < changed.size(); ++i) {
    changes.push_back({StateChange::Kind::Put, table_.key(changed[i]), changedValues_[i]});
    isStored_[changed[i]] = 1;
  }
  return changes;
}

void AggregateState::changesWritten() {
  for (const uint32_t group : touched_) isTouched_[group] = 0;
  touched_.clear();
  removedKeys_.clear();
  changedValues_.clear();
  coolDown();
}

StateEntries AggregateState::entries() const {
  return hotAndCold(table_, cold_, [this](std::span<const uint32_t> groups, BinaryRows* out) { encodeValues(groups, out); });
}

}  // namespace thalweg
