// A join's state as the four stores that a checkpoint has of it.
#include "columnar/byte_order.h"
#include "exec/state/byte_strings.h"
#include "exec/state/join_load.h"
#include "exec/state/join_state.h"

namespace thalweg {
namespace {

using Put = std::function<void(std::string_view key, std::string_view value)>;

}  // namespace

void JoinStore::finishLoad() {
  if (isLast()) state_->finishLoad();
}

// {field0, …} → {value}.
class JoinCounts final : public JoinStore {
 public:
  JoinCounts(std::shared_ptr<JoinState> state, JoinSide side) : JoinStore(std::move(state), side) {}

  void setRoom(ColdPartition* cold, StateRoom room) override { state_->setRoom(side_, false, cold, room); }
  void restart() override { state_->restart(side_, false); }
  void apply(const StateChange& change) override { state_->loading().applyCount(side_, change); }
  // The counts are those of the rows: see JoinIndexedRows.
  void finishLoad() override {}

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
      changes.push_back({changed[i].second, state_->keys_.table().key(changed[i].first), counts_[i]});
    return changes;
  }
  void changesWritten() override {}

  StateEntries entries() const override {
    return [this](const Put& put) {
      if (state_->keys_.numCold() == 0) return putHot(put);
      ColdSorter sorter(*state_->keys_.cold());
      putHot([&](std::string_view key, std::string_view value) { sorter.put(key, value); });
      state_->forEachCold([&](std::string_view key, const auto& rows) {
        const size_t count = rows[static_cast<size_t>(side_)].size();
        if (count > 0) sorter.put(key, LongRow(static_cast<int64_t>(count)).bytes());
      });
      sorter.takeAll(put);
    };
  }
  int64_t numKeys() const override { return 0; }
  int64_t memoryBytes() const override { return isLast() ? 0 : state_->tableBytes(); }

 private:
  void putHot(const Put& put) const {
    const BinaryKeyTable& keys = state_->keys_.table();
    for (const uint32_t key : keys.sortedNumbers()) {
      if (const uint32_t count = rows().count(key); count > 0) put(keys.key(key), LongRow(count).bytes());
    }
  }

  ByteStrings counts_;
};

// {field0, …, index} → {columns, …, matched}.
class JoinIndexedRows final : public JoinStore {
 public:
  JoinIndexedRows(std::shared_ptr<JoinState> state, JoinSide side) : JoinStore(std::move(state), side) {}

  void setRoom(ColdPartition* cold, StateRoom room) override { state_->setRoom(side_, true, cold, room); }
  void restart() override { state_->restart(side_, true); }
  void apply(const StateChange& change) override { state_->loading().applyRow(side_, change); }

  std::vector<StateChange> changes() override;
  void changesWritten() override {
    rows().rowsWritten();
    if (isLast()) state_->finishChanges();
  }
  StateEntries entries() const override;
  int64_t numKeys() const override { return rows().numRows() + state_->numColdRows(side_); }
  int64_t memoryBytes() const override {
    return rows().memoryBytes() + state_->rowPanes_[static_cast<size_t>(side_)].memoryBytes();
  }

 private:
  void appendKey(std::string_view key, int64_t index, std::string* out) const {
    state_->layout().indexedKeys().appendJoined(key, LongRow(index).bytes(), out);
  }
  void appendKey(uint32_t key, int64_t index, std::string* out) const {
    appendKey(state_->keys_.table().key(key), index, out);
  }
  void putHot(const Put& put) const;

  ByteStrings changedKeys_;
};

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

void JoinIndexedRows::putHot(const Put& put) const {
  ByteStrings keyBytes;
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
}

StateEntries JoinIndexedRows::entries() const {
  return [this](const Put& put) {
    if (state_->keys_.numCold() == 0) return putHot(put);
    ColdSorter sorter(*state_->keys_.cold());
    putHot([&](std::string_view key, std::string_view value) { sorter.put(key, value); });
    std::string bytes;
    state_->forEachCold([&](std::string_view key, const auto& rows) {
      const auto& ofSide = rows[static_cast<size_t>(side_)];
      for (size_t index = 0; index < ofSide.size(); ++index) {
        bytes.clear();
        appendKey(key, static_cast<int64_t>(index), &bytes);
        sorter.put(bytes, ofSide[index]);
      }
    });
    sorter.takeAll(put);
  };
}

std::vector<std::unique_ptr<StorePartition>> JoinStore::makeAll(const JoinStateLayout& layout) {
  const auto state = std::make_shared<JoinState>(layout);
  std::vector<std::unique_ptr<StorePartition>> stores;
  for (const JoinSide side : kJoinSides) {
    stores.push_back(std::make_unique<JoinCounts>(state, side));
    stores.push_back(std::make_unique<JoinIndexedRows>(state, side));
  }
  return stores;
}

}  // namespace thalweg
