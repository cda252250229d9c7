#include "exec/state/aggregate_state.h"

#include <algorithm>

#include <arrow/api.h>


namespace thalweg {
namespace {

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;

constexpr size_t kRowsAtOnce = 8192;
// Of a group's running values, roughly, an aggregate.
constexpr int64_t kValueBytes = 16;

// Calls f with spans of at most kRowsAtOnce groups.
template <typename F>
void inBlocks(std::span<const uint32_t> groups, F&& f) {
  for (size_t at = 0; at < groups.size(); at += kRowsAtOnce)
    f(groups.subspan(at, std::min(kRowsAtOnce, groups.size() - at)));
}

}  // namespace

AggregateState::AggregateState(const AggregateStateLayout& layout)
    : layout_(layout), aggregators_(makeAggregators(layout.aggregates)) {}

void AggregateState::restart() {
  table_ = BinaryKeyTable();
  aggregators_ = makeAggregators(layout_.aggregates);
  panes_.clear();
  isStored_.clear();
  isTouched_.clear();
  touched_.clear();
  removedKeys_.clear();
  loadedValues_.clear();
}

void AggregateState::apply(const StateChange& change) {
  bool added = false;
  const uint32_t group = table_.findOrAdd(change.key, &added);
  if (change.kind == StateChange::Kind::Remove) {
    table_.remove(group);
    return;
  }
  if (group >= loadedValues_.size()) loadedValues_.resize(group + 1);
  loadedValues_[group].assign(change.value);
}

void AggregateState::finishLoad() {
  resize();
  BinaryRowDecoder decoder(layout_.valueTypes, BinaryRowDecoder::Role::Value,
                           arrow::default_memory_pool());
  const std::vector<uint32_t> live = table_.liveNumbers();
  inBlocks(live, [&](std::span<const uint32_t> groups) {
    std::vector<std::string_view> rows;
    for (const uint32_t group : groups) rows.push_back(loadedValues_[group]);
    decoder.append(rows);
    const Arrays columns = decoder.finish();
    size_t at = 0;
    for (auto& aggregator : aggregators_) {
      const size_t width = aggregator->bufferFields().size();
      aggregator->loadBuffers(groups, Arrays(columns.begin() + static_cast<int64_t>(at),
                                             columns.begin() + static_cast<int64_t>(at + width)));
      at += width;
    }
    if (layout_.eventTime) {
      const auto times = layout_.eventTime->timesOf(decodeKeys(groups));
      for (size_t i = 0; i < groups.size(); ++i) noteTime(times[i], groups[i]);
    }
    for (const uint32_t group : groups) isStored_[group] = 1;
  });
  loadedValues_ = {};
}

void AggregateState::resize() {
  const int64_t count = table_.numbersEnd();
  for (auto& aggregator : aggregators_) aggregator->resize(count);
  isStored_.resize(static_cast<size_t>(count));
  isTouched_.resize(static_cast<size_t>(count));
}

void AggregateState::noteTime(std::optional<int64_t> time, uint32_t group) {
  if (time) panes_[*time].push_back(group);
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
  for (const uint32_t i : added) noteTime(part.time(entries[i]), to[i]);
  resize();
  for (const uint32_t group : to) {
    if (isTouched_[group]) continue;
    isTouched_[group] = 1;
    touched_.push_back(group);
  }
  for (size_t i = 0; i < aggregators_.size(); ++i) aggregators_[i]->merge(from, to, *part.aggregators()[i]);
}

std::vector<uint32_t> AggregateState::takeExpired(int64_t watermarkMicros) {
  std::vector<uint32_t> expired;
  const auto end = panes_.upper_bound(watermarkMicros);
  for (auto pane = panes_.begin(); pane != end; ++pane)
    expired.insert(expired.end(), pane->second.begin(), pane->second.end());
  panes_.erase(panes_.begin(), end);
  return expired;
}

void AggregateState::remove(std::span<const uint32_t> groups) {
  for (const uint32_t group : groups) {
    if (isStored_[group]) removedKeys_.emplace_back(table_.key(group));
    isStored_[group] = 0;
    table_.remove(group);
  }
  for (auto& aggregator : aggregators_) aggregator->reset(groups);
}

std::vector<std::shared_ptr<arrow::RecordBatch>> AggregateState::results(
    const Schema& schema, std::span<const uint32_t> groups) const {
  if (groups.empty()) return {};
  return resultBatches(schema, decodeKeys(groups), aggregators_, groups, arrow::default_memory_pool());
}

Arrays AggregateState::decodeKeys(std::span<const uint32_t> groups) const {
  BinaryRowDecoder decoder(layout_.keyTypes, BinaryRowDecoder::Role::Key,
                           arrow::default_memory_pool());
  std::vector<std::string_view> rows;
  rows.reserve(groups.size());
  for (const uint32_t group : groups) rows.push_back(table_.key(group));
  decoder.append(rows);
  return decoder.finish();
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
  inBlocks(changed, [&](std::span<const uint32_t> groups) { encodeValues(groups, &changedValues_); });
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
}

StateEntries AggregateState::entries() const {
  return [this](const std::function<void(std::string_view, std::string_view)>& put) {
    const std::vector<uint32_t> groups = table_.sortedNumbers();
    BinaryRows values;
    inBlocks(groups, [&](std::span<const uint32_t> block) {
      values.clear();
      encodeValues(block, &values);
      for (size_t i = 0; i < block.size(); ++i) put(table_.key(block[i]), values[i]);
    });
  };
}

int64_t AggregateState::memoryBytes() const {
  return table_.memoryBytes() +
         table_.numbersEnd() * (2 + kValueBytes * static_cast<int64_t>(aggregators_.size()));
}

}  // namespace thalweg
