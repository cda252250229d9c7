#include "exec/state/aggregate_state.h"

#include <algorithm>

#include <arrow/api.h>

#include "exec/state/aggregate_buffers.h"
#include "exec/state/hot_and_cold.h"
#include "exec/state/in_blocks.h"

namespace thalweg {
namespace {

using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;
using Views = std::vector<std::string_view>;

constexpr int64_t kFlagBytes = 2;  // of a group

}  // namespace

AggregateState::AggregateState(const AggregateStateLayout& layout)
    : layout_(layout),
      keys_(*this),
      loader_(keys_, *this,
              [this](std::span<const std::string_view> keys, std::span<const std::string_view>,
                     std::span<int64_t> ends) {
                if (!layout_.eventTime) return;
                const auto times = layout_.eventTime->timesOf(decodeKeys(keys));
                for (size_t i = 0; i < times.size(); ++i) ends[i] = times[i].value_or(StateKeys::kNever);
              }),
      aggregators_(makeAggregators(layout.aggregates)) {}

void AggregateState::restart() {
  keys_.clear();
  loader_.clear();
  aggregators_ = makeAggregators(layout_.aggregates);
  isStored_.clear();
  isTouched_.clear();
  touched_.clear();
  removedKeys_.clear();
}

void AggregateState::resize() {
  const auto count = static_cast<size_t>(keys_.table().numbersEnd());
  for (auto& aggregator : aggregators_) aggregator->resize(static_cast<int64_t>(count));
  isStored_.resize(count);
  isTouched_.resize(count);
}

void AggregateState::merge(const GroupEntries& part, std::span<const uint32_t> entries) {
  Views keys;
  std::vector<uint32_t> from, to, added;
  keys.reserve(entries.size());
  from.reserve(entries.size());
  for (const uint32_t entry : entries) {
    keys.push_back(part.key(entry));
    from.push_back(part.group(entry));
  }
  keys_.findOrAdd(keys, &to, &added);
  resize();
  if (layout_.eventTime) {
    for (const uint32_t i : added) keys_.setEnd(to[i], part.time(entries[i]).value_or(StateKeys::kNever));
  }
  for (const uint32_t group : to) {
    keys_.use(group);
    if (isTouched_[group]) continue;
    isTouched_[group] = 1;
    touched_.push_back(group);
  }
  for (size_t i = 0; i < aggregators_.size(); ++i) aggregators_[i]->merge(from, to, *part.aggregators()[i]);
}

int64_t AggregateState::removeEnded(int64_t watermarkMicros, const std::function<void(Groups)>& leave) {
  int64_t numRemoved = 0;
  const auto remove = [&](Groups groups) {
    if (leave) leave(groups);
    this->remove(groups);
    numRemoved += static_cast<int64_t>(groups.size());
  };
  remove(keys_.takeEnded(watermarkMicros));
  if (leave) {
    keys_.takeEndedCold(watermarkMicros, remove);
  } else {
    keys_.removeEndedCold(watermarkMicros, [&](std::string_view key) {
      removedKeys_.emplace_back(key);
      ++numRemoved;
    });
  }
  return numRemoved;
}

void AggregateState::remove(Groups groups) {
  for (const uint32_t group : groups) {
    if (isStored_[group]) removedKeys_.emplace_back(keys_.table().key(group));
    keys_.remove(group);
  }
  forget(groups);
}

void AggregateState::forget(Groups groups) {
  for (const uint32_t group : groups) isStored_[group] = 0;
  for (auto& aggregator : aggregators_) aggregator->reset(groups);
}

int64_t AggregateState::liveBytes() const {
  const Aggregator::Bytes bytes = bytesOf(aggregators_);
  return keys_.table().size() * (kFlagBytes + bytes.each) + bytes.values;
}

int64_t AggregateState::memoryBytes() const {
  const Aggregator::Bytes bytes = bytesOf(aggregators_);
  return keys_.memoryBytes() + keys_.table().numbersEnd() * (kFlagBytes + bytes.each) + bytes.values;
}

void AggregateState::moveOut(Groups groups, ByteStrings* values, std::span<int64_t>) {
  BinaryRows rows;
  encodeValues(groups, &rows);
  for (size_t i = 0; i < rows.size(); ++i) values->add(rows[i]);
  forget(groups);
}

void AggregateState::moveIn(Groups groups, std::span<const std::string_view> values,
                            std::span<const int64_t> ends) {
  resize();
  loadValues(groups, values, aggregators_);
  for (size_t i = 0; i < groups.size(); ++i) {
    isStored_[groups[i]] = 1;
    keys_.setEnd(groups[i], ends[i]);
  }
}

void AggregateState::renumber(Groups groups) {
  aggregators_ = renumbered(layout_.aggregates, aggregators_, groups);
  std::vector<uint8_t> isStored;
  for (const uint32_t group : groups) isStored.push_back(isStored_[group]);
  isStored_ = std::move(isStored);
  isTouched_ = std::vector<uint8_t>(groups.size());
}

Batches AggregateState::results(const Schema& schema, Groups groups) const {
  if (groups.empty()) return {};
  return resultBatches(schema, decodeKeys(keysOf(groups)), aggregators_, groups,
                       arrow::default_memory_pool());
}

Batches AggregateState::allResults(const Schema& schema) const {
  Batches batches = results(schema, keys_.table().liveNumbers());
  const Batches cold = coldResults(schema);
  batches.insert(batches.end(), cold.begin(), cold.end());
  return batches;
}

// They do not come into memory for it, but for a block of them.
Batches AggregateState::coldResults(const Schema& schema) const {
  Batches batches;
  std::vector<std::string> keys, values;
  const auto decode = [&] {
    if (keys.empty()) return;
    const Aggregators aggregators = makeAggregators(layout_.aggregates);
    const std::vector<uint32_t> groups = allGroups(static_cast<int64_t>(keys.size()));
    for (const auto& aggregator : aggregators) aggregator->resize(static_cast<int64_t>(keys.size()));
    loadValues(groups, Views(values.begin(), values.end()), aggregators);
    for (auto& batch : resultBatches(schema, decodeKeys(Views(keys.begin(), keys.end())), aggregators, groups,
                                     arrow::default_memory_pool()))
      batches.push_back(std::move(batch));
    keys.clear();
    values.clear();
  };
  if (keys_.numCold() == 0) return batches;
  keys_.cold()->forEach([&](std::string_view key, std::string_view value) {
    keys.emplace_back(key);
    values.emplace_back(value);
    if (keys.size() == kBlockSize) decode();
    return true;
  });
  decode();
  return batches;
}

std::vector<std::string_view> AggregateState::keysOf(Groups groups) const {
  Views keys;
  keys.reserve(groups.size());
  for (const uint32_t group : groups) keys.push_back(keys_.table().key(group));
  return keys;
}

AggregateState::Arrays AggregateState::decodeKeys(std::span<const std::string_view> keys) const {
  BinaryRowDecoder decoder(layout_.keyTypes, BinaryRowDecoder::Role::Key, arrow::default_memory_pool());
  decoder.append(keys);
  return decoder.finish();
}

void AggregateState::loadValues(Groups groups, std::span<const std::string_view> values,
                                const Aggregators& aggregators) const {
  BinaryRowDecoder decoder(layout_.valueTypes, BinaryRowDecoder::Role::Value, arrow::default_memory_pool());
  decoder.append(values);
  loadBuffers(aggregators, groups, decoder.finish());
}

void AggregateState::encodeValues(Groups groups, BinaryRows* out) const {
  Arrays columns;
  saveBuffers(aggregators_, groups, &columns);
  layout_.valueEncoder.encode(columns, 0, static_cast<int64_t>(groups.size()), out);
}

std::vector<StateChange> AggregateState::changes() {
  // What this batch made and removed again, no file needs to know.
  std::vector<uint32_t> changed;
  for (const uint32_t group : touched_) {
    if (keys_.table().isLive(group)) changed.push_back(group);
  }
  changedValues_.clear();
  inBlocks<uint32_t>(changed, [&](Groups groups) { encodeValues(groups, &changedValues_); });
  std::vector<StateChange> changes;
  changes.reserve(changed.size() + removedKeys_.size());
  for (const std::string& key : removedKeys_) changes.push_back({StateChange::Kind::Remove, key, {}});
  for (size_t i = 0; i < changed.size(); ++i) {
    changes.push_back({StateChange::Kind::Put, keys_.table().key(changed[i]), changedValues_[i]});
    isStored_[changed[i]] = 1;
  }
  return changes;
}

void AggregateState::changesWritten() {
  for (const uint32_t group : touched_) isTouched_[group] = 0;
  touched_.clear();
  removedKeys_.clear();
  changedValues_.clear();
  keys_.settle();
}

StateEntries AggregateState::entries() const {
  return hotAndCold(keys_.table(), keys_.cold(),
                    [this](Groups groups, BinaryRows* out) { encodeValues(groups, out); });
}

}  // namespace thalweg
