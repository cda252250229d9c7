#include "exec/state/session_state.h"

#include <algorithm>

#include <arrow/api.h>

#include "columnar/binary_row_layout.h"
#include "columnar/row_hash.h"
#include "common/error.h"
#include "exec/state/aggregate_buffers.h"
#include "exec/state/in_blocks.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

// Of a session beside its running values.
constexpr int64_t kSessionBytes =
    2 * sizeof(int64_t) + 4 * sizeof(uint32_t) + 2 + sizeof(std::vector<uint32_t>);
// Of one that a load has in memory, beside its bytes.
constexpr int64_t kLoadedBytes = 64;

using Numbers = std::span<const uint32_t>;

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
      storedKeyEncoder(fieldTypes(*storedKey), BinaryRowEncoder::Floats::Normalize),
      storedValueEncoder(fieldTypes(*storedValue)),
      storedKeys(fieldTypes(*storedKey), keys->fields().size()) {}

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
    : layout_(layout), keys_(*this), aggregators_(makeAggregators(layout.aggregates)) {}

void SessionState::restart() {
  keys_.clear();
  loadedKeys_ = BinaryKeyTable();
  sessions_ = Sessions();
  aggregators_ = makeAggregators(layout_.aggregates);
  ofKey_.clear();
  keyOf_.clear();
  slots_.clear();
  isChanged_.clear();
  freeSessions_.clear();
  grownKeys_.clear();
  changed_.clear();
  removedKeys_.clear();
  loadedValues_.clear();
  loadedBytes_ = 0;
  parts_.reset();
  numLive_ = 0;
  numCold_ = 0;
}

void SessionState::apply(const StateChange& change) {
  if (parts_) return part(change);
  bool added = false;
  const uint32_t number = loadedKeys_.findOrAdd(change.key, &added);
  if (change.kind == StateChange::Kind::Remove) {
    loadedKeys_.remove(number);
    return;
  }
  if (number >= loadedValues_.size()) loadedValues_.resize(number + 1);
  loadedValues_[number].assign(change.value);
  if (added) loadedBytes_ += kLoadedBytes + static_cast<int64_t>(change.key.size() + change.value.size());
  if (loadedBytes_ <= std::max(keys_.room().bytes, keys_.room().leastLoaded)) return;
  parts_ = std::make_unique<KeyParts>(*keys_.cold());
  for (const uint32_t loaded : loadedKeys_.liveNumbers())
    part({StateChange::Kind::Put, loadedKeys_.key(loaded), loadedValues_[loaded]});
  loadedKeys_ = BinaryKeyTable();
  loadedValues_ = {};
}

// A change of a load without room in memory.
void SessionState::part(const StateChange& change) {
  std::string key, start;
  layout_.storedKeys.appendPrefix(change.key, &key);
  layout_.storedKeys.appendRest(change.key, &start);
  const auto number = binary_row::load<uint64_t>(start.data() + binary_row::bitsetBytes(1));
  if (change.kind == StateChange::Kind::Remove)
    parts_->remove(key, number);
  else
    parts_->put(key, number, change.value);
}

void SessionState::finishLoad() {
  if (parts_) {
    parts_->takeAll([this](const std::vector<std::string>& keys, std::span<const KeyPart> parts) {
      addParts(keys, parts);
    });
    keys_.flushCold();
    parts_.reset();
    return;
  }
  inBlocks(Numbers(loadedKeys_.liveNumbers()), [&](Numbers block) { loadBlock(block); });
  for (uint32_t key = 0; key < ofKey_.size(); ++key) {
    auto& sessions = ofKey_[key];
    std::sort(sessions.begin(), sessions.end(),
              [&](uint32_t a, uint32_t b) { return sessions_.starts[a] < sessions_.starts[b]; });
    noteEnd(key);
  }
  loadedKeys_ = BinaryKeyTable();
  loadedValues_ = {};
}

void SessionState::loadBlock(Numbers loaded) {
  BinaryRowDecoder decoder(fieldTypes(*layout_.storedKey), BinaryRowDecoder::Role::Key,
                           arrow::default_memory_pool());
  std::vector<std::string_view> keyRows, valueRows;
  for (const uint32_t number : loaded) {
    keyRows.push_back(loadedKeys_.key(number));
    valueRows.push_back(loadedValues_[number]);
  }
  decoder.append(keyRows);
  Arrays keys = decoder.finish();
  keys.pop_back();
  BinaryRows keyBytes;
  layout_.keysEncoder.encode(keys, 0, static_cast<int64_t>(loaded.size()), &keyBytes);
  std::vector<uint32_t> keyOf;
  for (size_t i = 0; i < loaded.size(); ++i) {
    bool added = false;
    keyOf.push_back(keys_.findOrAddHot(keyBytes[i], &added));
  }
  addStored(keyOf, valueRows);
}

// Their keys go where there is no room for them.
void SessionState::addParts(const std::vector<std::string>& keys, std::span<const KeyPart> parts) {
  std::vector<std::string_view> rows;
  for (const KeyPart& part : parts) rows.push_back(part.value);
  const Sessions windows = windowsOf(decodeValues(rows));
  std::vector<std::string> values(keys.size());
  std::vector<int64_t> ends(keys.size(), StateKeys::kNever);
  // Numbers are starts, of which those before 1970 would be last.
  std::vector<uint32_t> order = allGroups(static_cast<int64_t>(parts.size()));
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(parts[a].key, windows.starts[a]) < std::pair(parts[b].key, windows.starts[b]);
  });
  for (const uint32_t i : order) {
    appendSized(parts[i].value, &values[parts[i].key]);
    ends[parts[i].key] = std::min(ends[parts[i].key], windows.ends[i]);
  }
  for (size_t key = 0; key < keys.size(); ++key) keys_.addCold(keys[key], values[key], ends[key]);
  numCold_ += static_cast<int64_t>(parts.size());
}

SessionState::Arrays SessionState::decodeValues(Views values) const {
  BinaryRowDecoder decoder(fieldTypes(*layout_.storedValue), BinaryRowDecoder::Role::Value,
                           arrow::default_memory_pool());
  decoder.append(values);
  return decoder.finish();
}

Sessions SessionState::windowsOf(const Arrays& values) const {
  Sessions windows;
  windows.append(*values[layout_.session]);
  return windows;
}

void SessionState::addStored(Numbers keyOf, Views rows) {
  const Arrays values = decodeValues(rows);
  const Sessions windows = windowsOf(values);
  std::vector<uint32_t> sessions;
  for (size_t i = 0; i < keyOf.size(); ++i) {
    sessions.push_back(newSession(keyOf[i], windows.starts[i], windows.ends[i]));
    slots_[sessions.back()] = Slot::Stored;
  }
  resize();
  loadBuffers(aggregators_, sessions, std::span(values).subspan(layout_.grouping.size()));
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
  isChanged_[session] = 0;
  freeSessions_.push_back(session);
  --numLive_;
}

// A key ends with its first session: when that has grown by then, it is asked again.
void SessionState::noteEnd(uint32_t key) {
  if (ofKey_[key].empty()) return;
  const int64_t end = sessions_.ends[ofKey_[key].front()];
  if (end < keys_.end(key)) keys_.setEnd(key, end);
}

void SessionState::noteChanged(uint32_t session) {
  if (isChanged_[session]) return;
  isChanged_[session] = 1;
  changed_.push_back(session);
}

// Of these, the files lose those that they have.
void SessionState::noteRemoved(Numbers sessions) {
  std::vector<uint32_t> stored;
  for (const uint32_t session : sessions) {
    if (slots_[session] == Slot::Stored) stored.push_back(session);
  }
  inBlocks(std::span<const uint32_t>(stored),
           [&](std::span<const uint32_t> block) { encodeKeys(block, &removedKeys_); });
}

void SessionState::add(const PartialSessions& part, Numbers partial) {
  std::vector<std::string_view> keys;
  for (const uint32_t session : partial) keys.push_back(part.keys[session]);
  std::vector<uint32_t> numbers, added, to;
  keys_.findOrAdd(keys, &numbers, &added);
  for (size_t i = 0; i < partial.size(); ++i) {
    to.push_back(newSession(numbers[i], part.sessions.starts[partial[i]], part.sessions.ends[partial[i]]));
    keys_.use(numbers[i]);
  }
  grownKeys_.insert(grownKeys_.end(), numbers.begin(), numbers.end());
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
    noteEnd(key);
  }
  grownKeys_.clear();
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

int64_t SessionState::removeEnded(int64_t watermarkMicros, const std::function<void(Numbers)>& leave) {
  int64_t numRemoved = 0;
  const auto remove = [&](Numbers keys) {
    const std::vector<uint32_t> ended = endedOf(keys, watermarkMicros);
    leave(ended);
    this->remove(ended);
    numRemoved += static_cast<int64_t>(ended.size());
    for (const uint32_t key : keys) noteEnd(key);
  };
  remove(keys_.takeEnded(watermarkMicros));
  keys_.takeEndedCold(watermarkMicros, remove);
  return numRemoved;
}

// Those of a key do not touch: they end in the order in which they start.
std::vector<uint32_t> SessionState::endedOf(Numbers keys, int64_t watermarkMicros) const {
  std::vector<uint32_t> ended;
  for (const uint32_t key : keys) {
    for (const uint32_t session : ofKey_[key]) {
      if (sessions_.ends[session] > watermarkMicros) break;
      ended.push_back(session);
    }
  }
  return ended;
}

// Those of a key come one after the other.
void SessionState::remove(Numbers sessions) {
  noteRemoved(sessions);
  for (const uint32_t session : sessions) free(session);
  for (size_t i = 0; i < sessions.size(); ++i) {
    const uint32_t key = keyOf_[sessions[i]];
    if (i > 0 && keyOf_[sessions[i - 1]] == key) continue;
    std::erase_if(ofKey_[key], [&](uint32_t session) { return slots_[session] == Slot::Free; });
    if (ofKey_[key].empty()) keys_.remove(key);
  }
  for (auto& aggregator : aggregators_) aggregator->reset(sessions);
}

int64_t SessionState::liveBytes() const {
  const Aggregator::Bytes bytes = bytesOf(aggregators_);
  return numLive_ * (kSessionBytes + bytes.each) + bytes.values;
}

// A key's value in the cold tier: its sessions' stored values, each behind its size.
void SessionState::moveOut(Numbers keys, ByteStrings* values, std::span<int64_t> ends) {
  std::vector<uint32_t> sessions;
  for (const uint32_t key : keys) sessions.insert(sessions.end(), ofKey_[key].begin(), ofKey_[key].end());
  BinaryRows rows;
  inBlocks(Numbers(sessions), [&](Numbers block) { encodeValues(block, &rows); });
  size_t row = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    ends[i] = sessions_.ends[ofKey_[keys[i]].front()];
    for (size_t left = ofKey_[keys[i]].size(); left > 0; --left) appendSized(rows[row++], values->next());
    values->end();
    ofKey_[keys[i]] = {};
  }
  for (const uint32_t session : sessions) free(session);
  for (auto& aggregator : aggregators_) aggregator->reset(sessions);
  numCold_ += static_cast<int64_t>(sessions.size());
}

void SessionState::moveIn(Numbers keys, Views values, std::span<const int64_t>) {
  std::vector<uint32_t> keyOf;
  std::vector<std::string_view> rows;
  for (size_t i = 0; i < keys.size(); ++i) {
    for (std::string_view rest = values[i]; !rest.empty();) {
      rows.push_back(takeSized(&rest));
      keyOf.push_back(keys[i]);
    }
  }
  for (size_t at = 0; at < rows.size(); at += kBlockSize) {
    const size_t count = std::min(kBlockSize, rows.size() - at);
    addStored(Numbers(keyOf).subspan(at, count), Views(rows).subspan(at, count));
  }
  numCold_ -= static_cast<int64_t>(rows.size());
  for (const uint32_t key : keys) noteEnd(key);
}

// Sessions are numbered anew, too.
void SessionState::renumber(Numbers keys) {
  std::vector<uint32_t> from, keyOf;
  std::vector<std::vector<uint32_t>> ofKey;
  Sessions sessions;
  std::vector<Slot> slots;
  for (uint32_t key = 0; key < keys.size(); ++key) {
    ofKey.emplace_back();
    for (const uint32_t session : ofKey_[keys[key]]) {
      ofKey.back().push_back(static_cast<uint32_t>(from.size()));
      from.push_back(session);
      sessions.starts.push_back(sessions_.starts[session]);
      sessions.ends.push_back(sessions_.ends[session]);
      keyOf.push_back(key);
      slots.push_back(slots_[session]);
    }
  }
  aggregators_ = renumbered(layout_.aggregates, aggregators_, from);
  ofKey_ = std::move(ofKey);
  sessions_ = std::move(sessions);
  keyOf_ = std::move(keyOf);
  slots_ = std::move(slots);
  isChanged_ = std::vector<uint8_t>(slots_.size());
  freeSessions_ = {};
}

std::vector<std::shared_ptr<arrow::RecordBatch>> SessionState::results(const Schema& schema,
                                                                       Numbers sessions) const {
  if (sessions.empty()) return {};
  return resultBatches(schema, groupingColumns(sessions), aggregators_, sessions,
                       arrow::default_memory_pool());
}

// Cold ones do not come into memory for it, but for a block of them.
std::vector<std::shared_ptr<arrow::RecordBatch>> SessionState::allResults(const Schema& schema) const {
  auto batches = results(schema, all());
  forEachCold([&](Views rows) {
    const Arrays values = decodeValues(rows);
    const Aggregators aggregators = makeAggregators(layout_.aggregates);
    const std::vector<uint32_t> sessions = allGroups(static_cast<int64_t>(rows.size()));
    for (const auto& aggregator : aggregators) aggregator->resize(static_cast<int64_t>(rows.size()));
    loadBuffers(aggregators, sessions, std::span(values).subspan(layout_.grouping.size()));
    const Arrays grouping(values.begin(),
                          values.begin() + static_cast<std::ptrdiff_t>(layout_.grouping.size()));
    for (auto& batch : resultBatches(schema, grouping, aggregators, sessions, arrow::default_memory_pool()))
      batches.push_back(std::move(batch));
  });
  return batches;
}

void SessionState::forEachCold(const std::function<void(Views values)>& visit) const {
  if (keys_.numCold() == 0) return;
  std::vector<std::string> rows;
  const auto visitBlock = [&] {
    if (!rows.empty()) visit(std::vector<std::string_view>(rows.begin(), rows.end()));
    rows.clear();
  };
  keys_.cold()->forEach([&](std::string_view, std::string_view sessions) {
    while (!sessions.empty()) rows.emplace_back(takeSized(&sessions));
    if (rows.size() >= kBlockSize) visitBlock();
    return true;
  });
  visitBlock();
}

SessionState::Arrays SessionState::keyColumns(Numbers sessions) const {
  BinaryRowDecoder decoder(fieldTypes(*layout_.keys), BinaryRowDecoder::Role::Key,
                           arrow::default_memory_pool());
  std::vector<std::string_view> rows;
  rows.reserve(sessions.size());
  for (const uint32_t session : sessions) rows.push_back(keys_.table().key(keyOf_[session]));
  decoder.append(rows);
  return decoder.finish();
}

SessionState::Arrays SessionState::groupingColumns(Numbers sessions) const {
  Arrays columns = keyColumns(sessions);
  columns.insert(columns.begin() + static_cast<std::ptrdiff_t>(layout_.session),
                 sessions_.column(*layout_.grouping[layout_.session].type, sessions));
  return columns;
}

void SessionState::encodeKeys(Numbers sessions, BinaryRows* out) const {
  Arrays columns = keyColumns(sessions);
  arrow::TimestampBuilder starts(toArrowType(*timestampType()), arrow::default_memory_pool());
  for (const uint32_t session : sessions) throwIfFailed(starts.Append(sessions_.starts[session]));
  columns.push_back(valueOrThrow(starts.Finish()));
  layout_.storedKeyEncoder.encode(columns, 0, static_cast<int64_t>(sessions.size()), out);
}

void SessionState::encodeKeys(const Arrays& values, BinaryRows* out) const {
  Arrays columns(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(layout_.grouping.size()));
  columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(layout_.session));
  columns.push_back(static_cast<const arrow::StructArray&>(*values[layout_.session]).field(0));
  layout_.storedKeyEncoder.encode(columns, 0, columns.back()->length(), out);
}

void SessionState::encodeValues(Numbers sessions, BinaryRows* out) const {
  Arrays columns = groupingColumns(sessions);
  saveBuffers(aggregators_, sessions, &columns);
  layout_.storedValueEncoder.encode(columns, 0, static_cast<int64_t>(sessions.size()), out);
}

std::vector<StateChange> SessionState::changes() {
  // What this batch made and removed again, no file needs to know.
  std::vector<uint32_t> kept;
  for (const uint32_t session : changed_) {
    if (!isChanged_[session]) continue;
    isChanged_[session] = 0;
    kept.push_back(session);
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
  changed_.clear();
  removedKeys_.clear();
  changedKeys_.clear();
  changedValues_.clear();
  keys_.settle();
}

void SessionState::putHot(const std::function<void(std::string_view, std::string_view)>& put) const {
  const std::vector<uint32_t> sessions = all();
  BinaryRows keys;
  inBlocks(Numbers(sessions), [&](Numbers block) { encodeKeys(block, &keys); });
  std::vector<uint32_t> order = allGroups(static_cast<int64_t>(sessions.size()));
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
  BinaryRows values;
  inBlocks(Numbers(order), [&](Numbers block) {
    std::vector<uint32_t> ofBlock;
    for (const uint32_t i : block) ofBlock.push_back(sessions[i]);
    values.clear();
    encodeValues(ofBlock, &values);
    for (size_t i = 0; i < block.size(); ++i) put(keys[block[i]], values[i]);
  });
}

StateEntries SessionState::entries() const {
  return [this](const std::function<void(std::string_view, std::string_view)>& put) {
    if (keys_.numCold() == 0) return putHot(put);
    ColdSorter sorter(*keys_.cold());
    putHot([&](std::string_view key, std::string_view value) { sorter.put(key, value); });
    BinaryRows keys;
    forEachCold([&](Views values) {
      keys.clear();
      encodeKeys(decodeValues(values), &keys);
      for (size_t i = 0; i < values.size(); ++i) sorter.put(keys[i], values[i]);
    });
    sorter.takeAll(put);
  };
}

int64_t SessionState::memoryBytes() const {
  const Aggregator::Bytes bytes = bytesOf(aggregators_);
  return keys_.memoryBytes() + static_cast<int64_t>(slots_.size()) * (kSessionBytes + bytes.each) +
         bytes.values;
}

}  // namespace thalweg
