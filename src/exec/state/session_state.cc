#include "exec/state/session_state.h"

#include <algorithm>

#include <arrow/api.h>

#include "columnar/row_hash.h"
#include "exec/state/in_blocks.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

// Of a session's running values, roughly, an aggregate.
constexpr int64_t kValueBytes = 16;

std::vector<StructField> otherFields(const std::vector<StructField>& grouping, size_t session) {
  std::vector<StructField> fields = grouping;
  fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(session));
  return fields;
}

SchemaPtr storedKeyOf(const std::vector<StructField>& grouping, size_t session) {
  std::vector<StructField> fields = otherFields(grouping, session);
  fields.push_back({"sessionStartTime", timestampType(), false});
  return DataType::structOf(std::move(fields));
}

SchemaPtr storedValueOf(std::vector<StructField> fields, size_t session, const Aggregates& aggregates) {
  fields[session].name = "session_window";
  for (const auto& aggregator : makeAggregators(aggregates)) {
    for (const StructField& field : aggregator->bufferFields()) fields.push_back(field);
  }
  return DataType::structOf(std::move(fields));
}

}  // namespace

SessionStateLayout::SessionStateLayout(std::vector<StructField> groupingFields, size_t sessionColumn,
                                       Aggregates calls)
    : grouping(std::move(groupingFields)),
      session(sessionColumn),
      aggregates(std::move(calls)),
      keys(DataType::structOf(otherFields(grouping, session))),
      storedKey(storedKeyOf(grouping, session)),
      storedValue(storedValueOf(grouping, session, aggregates)),
      keysEncoder(fieldTypes(*keys), BinaryRowEncoder::Floats::Normalize),
      storedKeyEncoder(fieldTypes(*storedKey)),
      storedValueEncoder(fieldTypes(*storedValue)) {}

PartialSessions::PartialSessions(const SessionStateLayout& layout, Groups& groups, int numPartitions)
    : aggregators(groups.aggregators()), ofPartition(static_cast<size_t>(numPartitions)) {
  const int64_t count = groups.numGroups();
  auto columns = groups.takeKeys();
  sessions.append(*columns[layout.session]);
  columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(layout.session));
  layout.keysEncoder.encode(columns, 0, count, &keys);
  const std::vector<int32_t> partitions =
      partitionIds(fieldTypes(*layout.keys), columns, count, numPartitions);
  for (size_t session = 0; session < partitions.size(); ++session)
    ofPartition[static_cast<size_t>(partitions[session])].push_back(static_cast<uint32_t>(session));
}

SessionState::SessionState(const SessionStateLayout& layout)
    : layout_(layout), aggregators_(makeAggregators(layout.aggregates)) {}

void SessionState::restart() {
  keys_ = BinaryKeyTable();
  loadedKeys_ = BinaryKeyTable();
  sessions_ = Sessions();
  aggregators_ = makeAggregators(layout_.aggregates);
  panes_.clear();
  paneEnds_.clear();
  ofKey_.clear();
  keyOf_.clear();
  slots_.clear();
  isChanged_.clear();
  freeSessions_.clear();
  grownKeys_.clear();
  changed_.clear();
  removedKeys_.clear();
  loadedValues_.clear();
  numLive_ = 0;
}

void SessionState::apply(const StateChange& change) {
  bool added = false;
  const uint32_t number = loadedKeys_.findOrAdd(change.key, &added);
  if (change.kind == StateChange::Kind::Remove) {
    loadedKeys_.remove(number);
    return;
  }
  if (number >= loadedValues_.size()) loadedValues_.resize(number + 1);
  loadedValues_[number].assign(change.value);
}

void SessionState::finishLoad() {
  inBlocks(std::span<const uint32_t>(loadedKeys_.liveNumbers()),
           [&](std::span<const uint32_t> block) { loadBlock(block); });
  for (auto& sessions : ofKey_) {
    std::sort(sessions.begin(), sessions.end(),
              [&](uint32_t a, uint32_t b) { return sessions_.starts[a] < sessions_.starts[b]; });
  }
  loadedKeys_ = BinaryKeyTable();
  loadedValues_ = {};
}

void SessionState::loadBlock(std::span<const uint32_t> loaded) {
  BinaryRowDecoder keyDecoder(fieldTypes(*layout_.storedKey), BinaryRowDecoder::Role::Key,
                              arrow::default_memory_pool());
  BinaryRowDecoder valueDecoder(fieldTypes(*layout_.storedValue), BinaryRowDecoder::Role::Value,
                                arrow::default_memory_pool());
  std::vector<std::string_view> keyRows, valueRows;
  for (const uint32_t number : loaded) {
    keyRows.push_back(loadedKeys_.key(number));
    valueRows.push_back(loadedValues_[number]);
  }
  keyDecoder.append(keyRows);
  valueDecoder.append(valueRows);
  Arrays keys = keyDecoder.finish();
  const auto count = static_cast<int64_t>(loaded.size());
  keys.pop_back();
  BinaryRows keyBytes;
  layout_.keysEncoder.encode(keys, 0, count, &keyBytes);
  const Arrays values = valueDecoder.finish();
  Sessions windows;
  windows.append(*values[layout_.session]);

  std::vector<uint32_t> sessions;
  for (size_t i = 0; i < loaded.size(); ++i) {
    bool added = false;
    const uint32_t key = keys_.findOrAdd(keyBytes[i], &added);
    sessions.push_back(newSession(key, windows.starts[i], windows.ends[i]));
    slots_[sessions.back()] = Slot::Stored;
    noteEnd(sessions.back());
  }
  resize();
  auto column = values.begin() + static_cast<std::ptrdiff_t>(layout_.grouping.size());
  for (auto& aggregator : aggregators_) {
    const auto width = static_cast<std::ptrdiff_t>(aggregator->bufferFields().size());
    aggregator->loadBuffers(sessions, Arrays(column, column + width));
    column += width;
  }
}

uint32_t SessionState::newSession(uint32_t key, int64_t start, int64_t end) {
  uint32_t session;
  if (freeSessions_.empty()) {
    session = static_cast<uint32_t>(slots_.size());
    sessions_.starts.push_back(start);
    sessions_.ends.push_back(end);
    keyOf_.push_back(key);
    slots_.push_back(Slot::New);
    isChanged_.push_back(0);
    paneEnds_.push_back(kNoPane);
  } else {
    session = freeSessions_.back();
    freeSessions_.pop_back();
    sessions_.starts[session] = start;
    sessions_.ends[session] = end;
    keyOf_[session] = key;
    slots_[session] = Slot::New;
  }
  if (key >= ofKey_.size()) ofKey_.resize(key + 1);
  ofKey_[key].push_back(session);
  ++numLive_;
  return session;
}

void SessionState::resize() {
  for (auto& aggregator : aggregators_) aggregator->resize(static_cast<int64_t>(slots_.size()));
}

// Its key and its values are given up by the caller.
void SessionState::free(uint32_t session) {
  slots_[session] = Slot::Free;
  freeSessions_.push_back(session);
  --numLive_;
}

void SessionState::noteEnd(uint32_t session) {
  if (paneEnds_[session] <= sessions_.ends[session]) return;
  paneEnds_[session] = sessions_.ends[session];
  panes_.add(paneEnds_[session], session);
}

void SessionState::noteChanged(uint32_t session) {
  if (isChanged_[session]) return;
  isChanged_[session] = 1;
  changed_.push_back(session);
}

// Of these, the files lose those that they have.
void SessionState::noteRemoved(std::span<const uint32_t> sessions) {
  std::vector<uint32_t> stored;
  for (const uint32_t session : sessions) {
    if (slots_[session] == Slot::Stored) stored.push_back(session);
  }
  inBlocks(std::span<const uint32_t>(stored),
           [&](std::span<const uint32_t> block) { encodeKeys(block, &removedKeys_); });
}

void SessionState::add(const PartialSessions& part, std::span<const uint32_t> partial) {
  std::vector<uint32_t> to(partial.size());
  for (size_t i = 0; i < partial.size(); ++i) {
    bool added = false;
    const uint32_t key = keys_.findOrAdd(part.keys[partial[i]], &added);
    to[i] = newSession(key, part.sessions.starts[partial[i]], part.sessions.ends[partial[i]]);
    grownKeys_.push_back(key);
  }
  resize();
  for (size_t i = 0; i < aggregators_.size(); ++i) aggregators_[i]->merge(partial, to, *part.aggregators[i]);
}

SessionState::Merged SessionState::merge() {
  std::sort(grownKeys_.begin(), grownKeys_.end());
  grownKeys_.erase(std::unique(grownKeys_.begin(), grownKeys_.end()), grownKeys_.end());
  Merged merged;
  SessionMerges merges;
  for (const uint32_t key : grownKeys_) {
    std::vector<uint32_t>& sessions = ofKey_[key];
    // Of equal starts, the one that has been there longer is first.
    std::stable_sort(sessions.begin(), sessions.end(),
                     [&](uint32_t a, uint32_t b) { return sessions_.starts[a] < sessions_.starts[b]; });
    std::vector<uint32_t> left;
    const size_t before = merges.to.size();
    mergeTouching(sessions, &sessions_, &merges, &left);
    for (const uint32_t session : left) {
      if (slots_[session] == Slot::New) noteChanged(session);
    }
    for (size_t i = before; i < merges.to.size(); ++i) noteChanged(merges.to[i]);
    merged.updated += static_cast<int64_t>(left.size());
    sessions = std::move(left);
  }
  grownKeys_.clear();
  for (const uint32_t session : changed_) noteEnd(session);
  merged.removed = std::count_if(merges.from.begin(), merges.from.end(),
                                 [&](uint32_t session) { return slots_[session] == Slot::Stored; });
  noteRemoved(merges.from);
  for (auto& aggregator : aggregators_) {
    aggregator->merge(merges.from, merges.to, *aggregator);
    aggregator->reset(merges.from);
  }
  for (const uint32_t session : merges.from) free(session);
  return merged;
}

std::vector<uint32_t> SessionState::all() const {
  std::vector<uint32_t> sessions;
  for (uint32_t session = 0; session < slots_.size(); ++session) {
    if (slots_[session] != Slot::Free) sessions.push_back(session);
  }
  return sessions;
}

std::vector<uint32_t> SessionState::takeExpired(int64_t watermarkMicros) {
  std::vector<uint32_t> expired;
  for (const uint32_t session : panes_.take(watermarkMicros)) {
    if (paneEnds_[session] > watermarkMicros) continue;
    paneEnds_[session] = kNoPane;
    if (slots_[session] == Slot::Free) continue;
    if (sessions_.ends[session] <= watermarkMicros)
      expired.push_back(session);
    else
      noteEnd(session);
  }
  return expired;
}

void SessionState::remove(std::span<const uint32_t> sessions) {
  noteRemoved(sessions);
  for (const uint32_t session : sessions) {
    const uint32_t key = keyOf_[session];
    std::erase(ofKey_[key], session);
    if (ofKey_[key].empty()) keys_.remove(key);
    free(session);
  }
  for (auto& aggregator : aggregators_) aggregator->reset(sessions);
}

std::vector<std::shared_ptr<arrow::RecordBatch>> SessionState::results(
    const Schema& schema, std::span<const uint32_t> sessions) const {
  if (sessions.empty()) return {};
  return resultBatches(schema, groupingColumns(sessions), aggregators_, sessions,
                       arrow::default_memory_pool());
}

SessionState::Arrays SessionState::keyColumns(std::span<const uint32_t> sessions) const {
  BinaryRowDecoder decoder(fieldTypes(*layout_.keys), BinaryRowDecoder::Role::Key,
                           arrow::default_memory_pool());
  std::vector<std::string_view> rows;
  rows.reserve(sessions.size());
  for (const uint32_t session : sessions) rows.push_back(keys_.key(keyOf_[session]));
  decoder.append(rows);
  return decoder.finish();
}

SessionState::Arrays SessionState::groupingColumns(std::span<const uint32_t> sessions) const {
  Arrays columns = keyColumns(sessions);
  columns.insert(columns.begin() + static_cast<std::ptrdiff_t>(layout_.session),
                 sessions_.column(*layout_.grouping[layout_.session].type, sessions));
  return columns;
}

void SessionState::encodeKeys(std::span<const uint32_t> sessions, BinaryRows* out) const {
  Arrays columns = keyColumns(sessions);
  arrow::TimestampBuilder starts(toArrowType(*timestampType()), arrow::default_memory_pool());
  for (const uint32_t session : sessions) throwIfFailed(starts.Append(sessions_.starts[session]));
  columns.push_back(valueOrThrow(starts.Finish()));
  layout_.storedKeyEncoder.encode(columns, 0, static_cast<int64_t>(sessions.size()), out);
}

void SessionState::encodeValues(std::span<const uint32_t> sessions, BinaryRows* out) const {
  Arrays columns = groupingColumns(sessions);
  for (const auto& aggregator : aggregators_) {
    for (auto& column : aggregator->saveBuffers(sessions, arrow::default_memory_pool()))
      columns.push_back(std::move(column));
  }
  layout_.storedValueEncoder.encode(columns, 0, static_cast<int64_t>(sessions.size()), out);
}

std::vector<StateChange> SessionState::changes() {
  // What this batch made and removed again, no file needs to know.
  std::vector<uint32_t> kept;
  for (const uint32_t session : changed_) {
    if (slots_[session] != Slot::Free) kept.push_back(session);
  }
  changedKeys_.clear();
  changedValues_.clear();
  inBlocks(std::span<const uint32_t>(kept), [&](std::span<const uint32_t> block) {
    encodeKeys(block, &changedKeys_);
    encodeValues(block, &changedValues_);
  });
  std::vector<StateChange> changes;
  changes.reserve(kept.size() + removedKeys_.size());
  for (size_t i = 0; i < removedKeys_.size(); ++i)
    changes.push_back({StateChange::Kind::Remove, removedKeys_[i], {}});
  for (size_t i = 0; i < kept.size(); ++i) {
    changes.push_back({StateChange::Kind::Put, changedKeys_[i], changedValues_[i]});
    slots_[kept[i]] = Slot::Stored;
  }
  return changes;
}

void SessionState::changesWritten() {
  for (const uint32_t session : changed_) isChanged_[session] = 0;
  changed_.clear();
  removedKeys_.clear();
  changedKeys_.clear();
  changedValues_.clear();
}

StateEntries SessionState::entries() const {
  return [this](const std::function<void(std::string_view, std::string_view)>& put) {
    const std::vector<uint32_t> sessions = all();
    BinaryRows keys;
    inBlocks(std::span<const uint32_t>(sessions),
             [&](std::span<const uint32_t> block) { encodeKeys(block, &keys); });
    std::vector<uint32_t> order = allGroups(static_cast<int64_t>(sessions.size()));
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
    BinaryRows values;
    inBlocks(std::span<const uint32_t>(order), [&](std::span<const uint32_t> block) {
      std::vector<uint32_t> ofBlock;
      for (const uint32_t i : block) ofBlock.push_back(sessions[i]);
      values.clear();
      encodeValues(ofBlock, &values);
      for (size_t i = 0; i < block.size(); ++i) put(keys[block[i]], values[i]);
    });
  };
}

int64_t SessionState::memoryBytes() const {
  constexpr int64_t kSessionBytes =
      2 * sizeof(int64_t) + 4 * sizeof(uint32_t) + 2 + sizeof(std::vector<uint32_t>);
  return keys_.memoryBytes() + panes_.memoryBytes() +
         static_cast<int64_t>(slots_.size()) *
             (kSessionBytes + kValueBytes * static_cast<int64_t>(aggregators_.size()));
}

}  // namespace thalweg
