#include "exec/state/session_state.h"

#include <algorithm>

#include <arrow/api.h>

#include "common/error.h"
#include "exec/state/aggregate_buffers.h"
#include "exec/state/in_blocks.h"

namespace thalweg {
namespace {

using Numbers = std::span<const uint32_t>;

}  // namespace

SessionState::SessionState(const SessionStateLayout& layout)
    : layout_(layout), keys_(*this), aggregators_(makeAggregators(layout.aggregates)) {}

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

}  // namespace thalweg
