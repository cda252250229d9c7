// The keys of a join that have no room in memory: their rows' way to the cold tier and back.
#include <algorithm>

#include <arrow/api.h>

#include "exec/state/in_blocks.h"
#include "exec/state/join_state.h"
#include "exec/state/key_parts.h"

namespace thalweg {
namespace {

using Views = std::vector<std::string_view>;

// Of a key, in each side's rows.
constexpr int64_t kKeyBytes = 12;
// Of a row, in the panes of its side.
constexpr int64_t kPaneBytes = 8;

// A key's value in the cold tier: its rows by side and index, each behind its side and its size.
void appendRow(size_t side, std::string_view row, std::string* out) {
  out->push_back(static_cast<char>(side));
  appendSized(row, out);
}

std::array<Views, 2> rowsIn(std::string_view value) {
  std::array<Views, 2> rows;
  while (!value.empty()) {
    const auto side = static_cast<size_t>(value.front());
    value.remove_prefix(1);
    rows[side].push_back(takeSized(&value));
  }
  return rows;
}

}  // namespace

// Keys go to the first store's partition, and the stores' rooms are one; the first store's comes first.
void JoinState::setRoom(JoinSide side, bool ofRows, ColdPartition* cold, StateRoom room) {
  const bool isFirst = side == JoinSide::Left && !ofRows;
  if (ofRows && !layout_.keyExpiry()) coldTimes_[static_cast<size_t>(side)] = cold;
  if (!isFirst && room.bytes != INT64_MAX) room.bytes += keys_.room().bytes;
  keys_.setRoom(isFirst ? cold : keys_.cold(), room);
}

int64_t JoinState::liveBytes() const {
  return sides_[0].liveBytes() + sides_[1].liveBytes() +
         (sides_[0].numRows() + sides_[1].numRows()) * kPaneBytes + keys_.table().size() * 2 * kKeyBytes;
}

JoinState::Rows JoinState::rowsOf(JoinSide side, uint32_t key) const {
  Rows found;
  const JoinRows& from = rows(side);
  for (uint32_t row = from.last(key); row != kNone; row = from.before(row)) found.push_back(row);
  std::reverse(found.begin(), found.end());
  return found;
}

std::vector<std::optional<int64_t>> JoinState::timesOf(JoinSide side,
                                                       std::span<const std::string_view> rows) const {
  const auto& expiry = layout_.side(side).expiry;
  if (layout_.keyExpiry() || !expiry) return {};
  BinaryRowDecoder decoder(layout_.rowTypes(side), BinaryRowDecoder::Role::Value,
                           arrow::default_memory_pool());
  decoder.append(rows);
  return expiry->timesOf(decoder.finish());
}

std::vector<std::optional<int64_t>> JoinState::timesOfKeys(std::span<const std::string_view> keys) const {
  if (!layout_.keyExpiry()) return {};
  BinaryRowDecoder decoder(layout_.keyTypes(), BinaryRowDecoder::Role::Key, arrow::default_memory_pool());
  decoder.append(keys);
  return layout_.keyExpiry()->timesOf(decoder.finish());
}

void JoinState::moveOut(std::span<const uint32_t> keys, ByteStrings* values, std::span<int64_t>) {
  std::vector<std::string> ofKeys(keys.size());
  std::vector<Times> times(keys.size(), {StateKeys::kNever, StateKeys::kNever});
  for (const JoinSide side : kJoinSides) {
    const auto at = static_cast<size_t>(side);
    Views bytes;
    std::vector<uint32_t> keyOf;
    Rows all;
    for (uint32_t i = 0; i < keys.size(); ++i) {
      for (const uint32_t row : rowsOf(side, keys[i])) {
        all.push_back(row);
        keyOf.push_back(i);
        bytes.push_back(sides_[at].bytes(row));
        appendRow(at, bytes.back(), &ofKeys[i]);
      }
    }
    const auto ends = timesOf(side, bytes);
    for (size_t row = 0; row < ends.size(); ++row) {
      if (ends[row]) times[keyOf[row]][at] = std::min(times[keyOf[row]][at], *ends[row]);
    }
    // From the last one of each key on, so that none takes another's place.
    for (auto row = all.rbegin(); row != all.rend(); ++row) sides_[at].remove(*row);
    for (const uint32_t key : keys) sides_[at].written(key);
    sides_[at].tidy();
    numColdRows_[at] += static_cast<int64_t>(all.size());
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    values->add(ofKeys[i]);
    noteCold(keys_.table().key(keys[i]), times[i]);
  }
}

void JoinState::noteCold(std::string_view key, const Times& times) {
  for (size_t side = 0; side < 2; ++side) {
    if (times[side] != StateKeys::kNever) coldTimes_[side]->put(key, {}, times[side]);
  }
}

void JoinState::addCold(std::string_view key, const std::array<Views, 2>& rows, int64_t end,
                        const Times& times) {
  std::string value;
  for (size_t side = 0; side < 2; ++side) {
    for (const std::string_view row : rows[side]) appendRow(side, row, &value);
    numColdRows_[side] += static_cast<int64_t>(rows[side].size());
  }
  keys_.addCold(key, value, end);
  noteCold(key, times);
}

void JoinState::moveIn(std::span<const uint32_t> keys, std::span<const std::string_view> values,
                       std::span<const int64_t> ends) {
  std::array<std::vector<uint32_t>, 2> keyOf;
  std::array<Views, 2> rows;
  std::string ignored;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto ofKey = rowsIn(values[i]);
    for (size_t side = 0; side < 2; ++side) {
      rows[side].insert(rows[side].end(), ofKey[side].begin(), ofKey[side].end());
      keyOf[side].resize(rows[side].size(), keys[i]);
      if (coldTimes_[side] != nullptr) coldTimes_[side]->take(keys_.table().key(keys[i]), &ignored);
    }
    keys_.setEnd(keys[i], ends[i]);
  }
  for (const JoinSide side : kJoinSides) {
    const auto at = static_cast<size_t>(side);
    addStored(side, keyOf[at], rows[at]);
    numColdRows_[at] -= static_cast<int64_t>(rows[at].size());
  }
}

void JoinState::addStored(JoinSide side, std::span<const uint32_t> keys,
                          std::span<const std::string_view> rows) {
  JoinRows& to = sides_[static_cast<size_t>(side)];
  for (size_t at = 0; at < rows.size(); at += kBlockSize) {
    const auto block = rows.subspan(at, std::min(kBlockSize, rows.size() - at));
    const auto times = timesOf(side, block);
    for (size_t i = 0; i < block.size(); ++i) {
      const uint32_t row = to.load(keys[at + i], block[i]);
      if (!times.empty()) noteTime(side, keys[at + i], row, times[i]);
    }
  }
}

void JoinState::renumber(std::span<const uint32_t> keys) {
  for (const JoinSide side : kJoinSides) rebuild(side, keys);
  isTouched_ = {};
}

void JoinState::rebuild(JoinSide side, std::span<const uint32_t> keys) {
  const auto at = static_cast<size_t>(side);
  JoinRows before = std::move(sides_[at]);
  sides_[at] = before.emptyOne();
  rowPanes_[at].clear();
  std::vector<uint32_t> keyOf;
  Views rows;
  for (uint32_t key = 0; key < keys.size(); ++key) {
    const size_t first = rows.size();
    for (uint32_t row = before.last(keys[key]); row != kNone; row = before.before(row))
      rows.push_back(before.bytes(row));
    std::reverse(rows.begin() + static_cast<int64_t>(first), rows.end());
    keyOf.resize(rows.size(), key);
  }
  addStored(side, keyOf, rows);
}

void JoinState::forEachCold(
    const std::function<void(std::string_view key, const std::array<Views, 2>& rows)>& visit) const {
  keys_.cold()->forEach([&](std::string_view key, std::string_view value) {
    visit(key, rowsIn(value));
    return true;
  });
}

}  // namespace thalweg
