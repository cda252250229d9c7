// Sessions as the files of the state have them.
#include "exec/state/session_state.h"

#include <algorithm>

#include <arrow/api.h>

#include "columnar/binary_row_layout.h"
#include "common/error.h"
#include "exec/state/aggregate_buffers.h"
#include "exec/state/in_blocks.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

// Of a session that a load has in memory, beside its bytes.
constexpr int64_t kLoadedBytes = 64;

using Numbers = std::span<const uint32_t>;

}  // namespace

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
  const int64_t keyBytes = kLoadedBytes + static_cast<int64_t>(change.key.size());
  if (added) loadedBytes_ += keyBytes;
  if (number >= loadedValues_.size()) loadedValues_.resize(number + 1);
  loadedBytes_ += static_cast<int64_t>(change.value.size()) - static_cast<int64_t>(loadedValues_[number].size());
  loadedValues_[number] = change.value;  // none of one that goes
  if (change.kind == StateChange::Kind::Remove) {
    loadedBytes_ -= keyBytes;
    return loadedKeys_.remove(number);
  }
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

}  // namespace thalweg
