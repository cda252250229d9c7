// A join's state as the four stores that a checkpoint has of it.
#include <algorithm>

#include <arrow/api.h>

#include "columnar/binary_row_layout.h"
#include "columnar/byte_order.h"
#include "common/error.h"
#include "exec/state/join_state.h"

namespace thalweg {
namespace {

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;

constexpr size_t kRowsAtOnce = 8192;
// A row of one long: its bitset and its field.
constexpr size_t kLongRowBytes = 16;

class LongRow {
 public:
  explicit LongRow(int64_t value) { binary_row::store(bytes_ + 8, value); }
  std::string_view bytes() const { return {bytes_, kLongRowBytes}; }

 private:
  char bytes_[kLongRowBytes] = {};
};

int64_t longOf(std::string_view row) {
  if (row.size() != kLongRowBytes || binary_row::isNull(row.data(), 0)) {
    throw Error("STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE",
                "A number of rows in a join's state does not have the form of a long: the file is damaged.",
                {{"errorMsg", "a count is no long"}});
  }
  return binary_row::load<int64_t>(row.data() + 8);
}

[[noreturn]] void throwGap() {
  throw Error(
      "STATE_STORE_KEY_ROW_FORMAT_VALIDATION_FAILURE",
      "A join's state has other rows under a key than it says: files of the state are lost or damaged.",
      {{"errorMsg", "the indices of a key's rows are not 0 to its number of rows"}});
}

// Bytes of keys and values in the making, and which parts of them are whose.
class ChangeBytes {
 public:
  void clear() {
    bytes_.clear();
    ends_.clear();
  }
  std::string* next() { return &bytes_; }
  void end() { ends_.push_back(bytes_.size()); }
  size_t size() const { return ends_.size(); }
  // Once all is there.
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

}  // namespace

// {field0, …} → {value}.
class JoinCounts final : public JoinStore {
 public:
  JoinCounts(std::shared_ptr<JoinState> state, JoinSide side) : JoinStore(std::move(state), side) {}

  void restart() override {
    state_->clear();
    loadedKeys_ = BinaryKeyTable();
    loaded_.clear();
  }
  void apply(const StateChange& change) override {
    bool added = false;
    const uint32_t key = loadedKeys_.findOrAdd(change.key, &added);
    if (change.kind == StateChange::Kind::Remove) return loadedKeys_.remove(key);
    if (key >= loaded_.size()) loaded_.resize(key + 1);
    loaded_[key] = longOf(change.value);
  }
  // The counts are those of the rows, once these are loaded.
  void finishLoad() override {}

  // Holds what was loaded against the rows that were.
  void checkLoaded(const JoinRows& rows, const BinaryKeyTable& keys, int64_t numKeys) {
    if (loadedKeys_.size() != numKeys) throwGap();
    for (const uint32_t key : keys.liveNumbers()) {
      if (rows.count(key) == 0) continue;
      bool added = false;
      const uint32_t loaded = loadedKeys_.findOrAdd(keys.key(key), &added);
      if (added || loaded_[loaded] != rows.count(key)) throwGap();
    }
    loadedKeys_ = BinaryKeyTable();
    loaded_ = {};
  }

  std::vector<StateChange> changes() override {
    counts_.clear();
    std::vector<std::pair<uint32_t, StateChange::Kind>> changed;
    for (const uint32_t key : state_->touched_) {
      const uint32_t count = rows().count(key);
      if (count == rows().storedCount(key)) continue;
      changed.emplace_back(key, count == 0 ? StateChange::Kind::Remove : StateChange::Kind::Put);
      if (count > 0) counts_.next()->append(LongRow(count).bytes());
      counts_.end();
    }
    std::vector<StateChange> changes;
    changes.reserve(changed.size());
    for (size_t i = 0; i < changed.size(); ++i)
      changes.push_back({changed[i].second, state_->keys_.key(changed[i].first), counts_[i]});
    return changes;
  }
  void changesWritten() override {}

  StateEntries entries() const override {
    return [this](const std::function<void(std::string_view, std::string_view)>& put) {
      for (const uint32_t key : state_->keys_.sortedNumbers()) {
        if (const uint32_t count = rows().count(key); count > 0) put(state_->keys_.key(key), LongRow(count).bytes());
      }
    };
  }
  int64_t numKeys() const override { return 0; }
  int64_t memoryBytes() const override { return isLast() ? 0 : state_->tableBytes(); }

 private:
  BinaryKeyTable loadedKeys_;
  std::vector<int64_t> loaded_;
  ChangeBytes counts_;
};

// {field0, …, index} → {columns, …, matched}.
class JoinIndexedRows final : public JoinStore {
 public:
  JoinIndexedRows(std::shared_ptr<JoinState> state, JoinSide side, JoinCounts& counts)
      : JoinStore(std::move(state), side), counts_(counts) {}

  void restart() override {
    state_->clear();
    loadedKeys_ = BinaryKeyTable();
    loadedRows_ = RowArena();
    places_.clear();
  }
  void apply(const StateChange& change) override {
    bool added = false;
    const uint32_t number = loadedKeys_.findOrAdd(change.key, &added);
    if (number >= places_.size()) places_.resize(number + 1);
    if (!added) loadedRows_.remove(places_[number]);
    if (change.kind == StateChange::Kind::Remove) return loadedKeys_.remove(number);
    places_[number] = loadedRows_.add(change.value);
  }
  void finishLoad() override;

  std::vector<StateChange> changes() override;
  void changesWritten() override {
    rows().rowsWritten();
    if (isLast()) state_->finishChanges();
  }
  StateEntries entries() const override;
  int64_t numKeys() const override { return rows().numRows(); }
  int64_t memoryBytes() const override {
    return rows().memoryBytes() + state_->rowPanes_[static_cast<size_t>(side_)].memoryBytes();
  }

 private:
  struct Loaded {
    uint32_t key;
    uint32_t number;
    int64_t index;
  };
  void addLoaded(std::span<const Loaded> loaded);
  // The event times by which keys leave, or those of rows; empty where they do not leave by them.
  std::vector<std::optional<int64_t>> timesOf(std::span<const Loaded> loaded,
                                              const std::vector<std::string_view>& bytes);
  void appendKey(uint32_t key, int64_t index, std::string* out) const {
    state_->layout().indexedKeys().appendJoined(state_->keys_.key(key), LongRow(index).bytes(), out);
  }

  JoinCounts& counts_;
  BinaryKeyTable loadedKeys_;
  RowArena loadedRows_;
  std::vector<RowArena::Place> places_;
  ChangeBytes changedKeys_;
};

void JoinIndexedRows::finishLoad() {
  std::vector<Loaded> all;
  all.reserve(static_cast<size_t>(loadedKeys_.size()));
  std::string key, index;
  int64_t numKeys = 0;
  for (const uint32_t number : loadedKeys_.liveNumbers()) {
    key.clear();
    index.clear();
    state_->layout().indexedKeys().appendPrefix(loadedKeys_.key(number), &key);
    state_->layout().indexedKeys().appendRest(loadedKeys_.key(number), &index);
    bool added = false;
    all.push_back({state_->keys_.findOrAdd(key, &added), number, longOf(index)});
  }
  std::sort(all.begin(), all.end(), [](const Loaded& a, const Loaded& b) {
    return std::pair(a.key, a.index) < std::pair(b.key, b.index);
  });
  for (size_t i = 0; i < all.size(); ++i) {
    const bool isFirst = i == 0 || all[i - 1].key != all[i].key;
    numKeys += isFirst;
    if (all[i].index != (isFirst ? 0 : all[i - 1].index + 1)) throwGap();
  }
  for (size_t at = 0; at < all.size(); at += kRowsAtOnce)
    addLoaded(std::span(all).subspan(at, std::min(kRowsAtOnce, all.size() - at)));
  counts_.checkLoaded(rows(), state_->keys_, numKeys);
  loadedKeys_ = BinaryKeyTable();
  loadedRows_ = RowArena();
  places_ = {};
}

void JoinIndexedRows::addLoaded(std::span<const Loaded> loaded) {
  std::vector<std::string_view> bytes;
  bytes.reserve(loaded.size());
  for (const Loaded& one : loaded) bytes.push_back(loadedRows_.get(places_[one.number]));
  const auto times = timesOf(loaded, bytes);
  for (size_t i = 0; i < loaded.size(); ++i) {
    const uint32_t row = rows().load(loaded[i].key, bytes[i]);
    if (!times.empty()) state_->noteTime(side_, loaded[i].key, row, times[i]);
  }
}

std::vector<std::optional<int64_t>> JoinIndexedRows::timesOf(std::span<const Loaded> loaded,
                                                             const std::vector<std::string_view>& bytes) {
  const JoinStateLayout& layout = state_->layout();
  // Rows are decoded whatever is needed of them: what does not have the form of the schema must not be kept.
  BinaryRowDecoder decoder(layout.rowTypes(side_), BinaryRowDecoder::Role::Value,
                           arrow::default_memory_pool());
  decoder.append(bytes);
  const Arrays columns = decoder.finish();
  if (!layout.keyExpiry()) {
    const auto& expiry = layout.side(side_).expiry;
    return expiry ? expiry->timesOf(columns) : std::vector<std::optional<int64_t>>();
  }
  BinaryRowDecoder keyDecoder(layout.keyTypes(), BinaryRowDecoder::Role::Key, arrow::default_memory_pool());
  std::vector<std::string_view> keys;
  keys.reserve(loaded.size());
  for (const Loaded& one : loaded) keys.push_back(state_->keys_.key(one.key));
  keyDecoder.append(keys);
  return layout.keyExpiry()->timesOf(keyDecoder.finish());
}

std::vector<StateChange> JoinIndexedRows::changes() {
  changedKeys_.clear();
  for (const uint32_t key : state_->touched_) {
    for (uint32_t index = rows().count(key); index < rows().storedCount(key); ++index) {
      appendKey(key, index, changedKeys_.next());
      changedKeys_.end();
    }
  }
  const size_t numRemoved = changedKeys_.size();
  const std::vector<uint32_t> changed = rows().changedRows();
  for (const uint32_t row : changed) {
    appendKey(rows().keyOf(row), rows().indexOf(row), changedKeys_.next());
    changedKeys_.end();
  }
  std::vector<StateChange> changes;
  changes.reserve(changedKeys_.size());
  for (size_t i = 0; i < changedKeys_.size(); ++i) {
    if (i < numRemoved)
      changes.push_back({StateChange::Kind::Remove, changedKeys_[i], {}});
    else
      changes.push_back({StateChange::Kind::Put, changedKeys_[i], rows().bytes(changed[i - numRemoved])});
  }
  return changes;
}

StateEntries JoinIndexedRows::entries() const {
  return [this](const std::function<void(std::string_view, std::string_view)>& put) {
    ChangeBytes keyBytes;
    std::vector<uint32_t> ofKeys;
    rows().forEach([&](uint32_t row) {
      appendKey(rows().keyOf(row), rows().indexOf(row), keyBytes.next());
      keyBytes.end();
      ofKeys.push_back(row);
    });
    std::vector<std::string_view> keys;
    keys.reserve(keyBytes.size());
    for (size_t i = 0; i < keyBytes.size(); ++i) keys.push_back(keyBytes[i]);
    for (const uint32_t i : byteOrderOf(keys)) put(keys[i], rows().bytes(ofKeys[i]));
  };
}

std::vector<std::unique_ptr<StorePartition>> JoinStore::makeAll(const JoinStateLayout& layout) {
  const auto state = std::make_shared<JoinState>(layout);
  std::vector<std::unique_ptr<StorePartition>> stores;
  for (const JoinSide side : kJoinSides) {
    auto counts = std::make_unique<JoinCounts>(state, side);
    auto rows = std::make_unique<JoinIndexedRows>(state, side, *counts);
    stores.push_back(std::move(counts));
    stores.push_back(std::move(rows));
  }
  return stores;
}

}  // namespace thalweg
