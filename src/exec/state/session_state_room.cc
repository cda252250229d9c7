// What sessions take in memory, and how keys leave it and come back.
#include "exec/state/session_state.h"

#include <arrow/api.h>

#include "exec/state/aggregate_buffers.h"
#include "exec/state/in_blocks.h"

namespace thalweg {
namespace {

// Of a session beside its running values.
constexpr int64_t kSessionBytes =
    2 * sizeof(int64_t) + 4 * sizeof(uint32_t) + 2 + sizeof(std::vector<uint32_t>);

using Numbers = std::span<const uint32_t>;

}  // namespace

int64_t SessionState::memoryBytes() const {
  const Aggregator::Bytes bytes = bytesOf(aggregators_);
  return keys_.memoryBytes() + static_cast<int64_t>(slots_.size()) * (kSessionBytes + bytes.each) +
         bytes.values;
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

}  // namespace thalweg
