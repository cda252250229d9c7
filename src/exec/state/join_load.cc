#include "exec/state/join_load.h"

#include <algorithm>

#include <arrow/api.h>

#include "columnar/binary_row_layout.h"
#include "common/error.h"
#include "exec/state/in_blocks.h"

namespace thalweg {
namespace {

using Views = std::vector<std::string_view>;

// Of an entry in memory, beside its bytes.
constexpr int64_t kLoadedBytes = 32;
// Parts of a key: of each side its count, then its rows by their indices.
constexpr uint64_t kRightPart = uint64_t{1} << 63;
constexpr uint64_t kRowPart = uint64_t{1} << 62;

[[noreturn]] void throwGap() {
  throw Error(
      "STATE_STORE_KEY_ROW_FORMAT_VALIDATION_FAILURE",
      "A join's state has other rows under a key than it says: files of the state are lost or damaged.",
      {{"errorMsg", "the indices of a key's rows are not 0 to its number of rows"}});
}

// What does not have the form of the schema must not be kept. Where rows leave by their own times, these are
// read from all.
void checkRows(const JoinStateLayout& layout, JoinSide side, const Views& rows) {
  if (!layout.keyExpiry() && layout.side(side).expiry) return;
  BinaryRowDecoder decoder(layout.rowTypes(side), BinaryRowDecoder::Role::Value,
                           arrow::default_memory_pool());
  decoder.append(rows);
}

uint64_t partOf(JoinSide side, bool isRow) {
  return (side == JoinSide::Right ? kRightPart : 0) | (isRow ? kRowPart : 0);
}

// Of a part's number, as a bit.
uint64_t storeOf(uint64_t part) {
  return uint64_t{1} << (part >> 62);
}

}  // namespace

LongRow::LongRow(int64_t value) {
  binary_row::store(bytes_ + 8, value);
}

int64_t LongRow::valueOf(std::string_view row) {
  if (row.size() != sizeof(bytes_) || binary_row::isNull(row.data(), 0)) {
    throw Error("STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE",
                "A number of rows in a join's state does not have the form of a long: the file is damaged.",
                {{"errorMsg", "a count is no long"}});
  }
  return binary_row::load<int64_t>(row.data() + 8);
}

void JoinLoad::restart(JoinSide side, bool ofRows) {
  Side& loaded = sides_[static_cast<size_t>(side)];
  if (ofRows) {
    loaded.rowKeys = BinaryKeyTable();
    loaded.rows = RowArena();
    loaded.places.clear();
  } else {
    loaded.countKeys = BinaryKeyTable();
    loaded.counts.clear();
  }
  const uint64_t store = storeOf(partOf(side, ofRows));
  if ((storesOfParts_ & store) == 0) return;
  parts_->removeIf([&](uint64_t number) { return storeOf(number) == store; });
  storesOfParts_ &= ~store;
}

void JoinLoad::applyCount(JoinSide side, const StateChange& change) {
  if (parts_) return partOfCount(side, change);
  Side& loaded = sides_[static_cast<size_t>(side)];
  bool added = false;
  const uint32_t key = loaded.countKeys.findOrAdd(change.key, &added);
  if (change.kind == StateChange::Kind::Remove) return loaded.countKeys.remove(key);
  if (key >= loaded.counts.size()) loaded.counts.resize(key + 1);
  loaded.counts[key] = LongRow::valueOf(change.value);
  if (added) noteBytes(change);
}

void JoinLoad::applyRow(JoinSide side, const StateChange& change) {
  if (parts_) return partOfRow(side, change);
  Side& loaded = sides_[static_cast<size_t>(side)];
  bool added = false;
  const uint32_t number = loaded.rowKeys.findOrAdd(change.key, &added);
  if (number >= loaded.places.size()) loaded.places.resize(number + 1);
  if (!added) loaded.rows.remove(loaded.places[number]);
  if (change.kind == StateChange::Kind::Remove) return loaded.rowKeys.remove(number);
  loaded.places[number] = loaded.rows.add(change.value);
  if (added) noteBytes(change);
}

void JoinLoad::noteBytes(const StateChange& change) {
  bytes_ += kLoadedBytes + static_cast<int64_t>(change.key.size() + change.value.size());
  const StateRoom& room = state_.keys_.room();
  if (bytes_ > std::max(room.bytes, room.leastLoaded)) moveToParts();
}

void JoinLoad::moveToParts() {
  parts_ = std::make_unique<KeyParts>(*state_.keys_.cold());
  for (const JoinSide side : kJoinSides) {
    Side& loaded = sides_[static_cast<size_t>(side)];
    for (const uint32_t key : loaded.countKeys.liveNumbers())
      partOfCount(side,
                  {StateChange::Kind::Put, loaded.countKeys.key(key), LongRow(loaded.counts[key]).bytes()});
    for (const uint32_t number : loaded.rowKeys.liveNumbers())
      partOfRow(side,
                {StateChange::Kind::Put, loaded.rowKeys.key(number), loaded.rows.get(loaded.places[number])});
    loaded = Side();
  }
}

void JoinLoad::partOfCount(JoinSide side, const StateChange& change) {
  const uint64_t part = partOf(side, false);
  if (change.kind == StateChange::Kind::Remove) return parts_->remove(change.key, part);
  LongRow::valueOf(change.value);
  parts_->put(change.key, part, change.value);
  storesOfParts_ |= storeOf(part);
}

void JoinLoad::partOfRow(JoinSide side, const StateChange& change) {
  std::string key, index;
  state_.layout().indexedKeys().appendPrefix(change.key, &key);
  state_.layout().indexedKeys().appendRest(change.key, &index);
  const int64_t number = LongRow::valueOf(index);
  if (number < 0 || number > UINT32_MAX) throwGap();
  const uint64_t part = partOf(side, true) | static_cast<uint64_t>(number);
  if (change.kind == StateChange::Kind::Remove) return parts_->remove(key, part);
  parts_->put(key, part, change.value);
  storesOfParts_ |= storeOf(part);
}

void JoinLoad::finish() {
  if (!parts_) {
    for (const JoinSide side : kJoinSides) finishSide(side);
    return;
  }
  parts_->takeAll([this](const std::vector<std::string>& keys, std::span<const KeyPart> parts) {
    finishParts(keys, parts);
  });
  state_.keys_.flushCold();
  for (ColdPartition* cold : state_.coldTimes_) {
    if (cold != nullptr) cold->flush();
  }
}

void JoinLoad::finishSide(JoinSide side) {
  Side& from = sides_[static_cast<size_t>(side)];
  std::vector<Loaded> all;
  all.reserve(static_cast<size_t>(from.rowKeys.size()));
  std::string key, index;
  int64_t numKeys = 0;
  for (const uint32_t number : from.rowKeys.liveNumbers()) {
    key.clear();
    index.clear();
    state_.layout().indexedKeys().appendPrefix(from.rowKeys.key(number), &key);
    state_.layout().indexedKeys().appendRest(from.rowKeys.key(number), &index);
    bool added = false;
    all.push_back({state_.keys_.findOrAddHot(key, &added), number, LongRow::valueOf(index)});
  }
  std::sort(all.begin(), all.end(), [](const Loaded& a, const Loaded& b) {
    return std::pair(a.key, a.index) < std::pair(b.key, b.index);
  });
  for (size_t i = 0; i < all.size(); ++i) {
    const bool isFirst = i == 0 || all[i - 1].key != all[i].key;
    numKeys += isFirst;
    if (all[i].index != (isFirst ? 0 : all[i - 1].index + 1)) throwGap();
  }
  inBlocks(std::span<const Loaded>(all), [&](std::span<const Loaded> block) { addLoaded(side, block); });
  checkCounts(side, numKeys);
  from = Side();
}

void JoinLoad::addLoaded(JoinSide side, std::span<const Loaded> loaded) {
  const Side& from = sides_[static_cast<size_t>(side)];
  Views rows, keyBytes;
  std::vector<uint32_t> keys;
  for (const Loaded& one : loaded) {
    rows.push_back(from.rows.get(from.places[one.number]));
    keys.push_back(one.key);
    keyBytes.push_back(state_.keys_.table().key(one.key));
  }
  checkRows(state_.layout(), side, rows);
  state_.addStored(side, keys, rows);
  const auto times = state_.timesOfKeys(keyBytes);
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i]) state_.keys_.setEnd(keys[i], *times[i]);
  }
}

// Holds the counts against the rows, once these are loaded.
void JoinLoad::checkCounts(JoinSide side, int64_t numKeys) {
  Side& from = sides_[static_cast<size_t>(side)];
  const JoinRows& rows = state_.rows(side);
  if (from.countKeys.size() != numKeys) throwGap();
  for (const uint32_t key : state_.keys_.table().liveNumbers()) {
    if (rows.count(key) == 0) continue;
    bool added = false;
    const uint32_t counted = from.countKeys.findOrAdd(state_.keys_.table().key(key), &added);
    if (added || from.counts[counted] != rows.count(key)) throwGap();
  }
}

void JoinLoad::finishParts(const std::vector<std::string>& keys, std::span<const KeyPart> parts) {
  std::vector<std::array<Views, 2>> rows(keys.size());
  std::vector<std::array<int64_t, 2>> counts(keys.size(), {0, 0});
  std::array<Views, 2> all;
  std::array<std::vector<uint32_t>, 2> keyOf;
  for (const KeyPart& part : parts) {
    const size_t side = (part.number & kRightPart) != 0;
    auto& ofKey = rows[part.key][side];
    if ((part.number & kRowPart) == 0) {
      counts[part.key][side] = LongRow::valueOf(part.value);
      if (counts[part.key][side] <= 0) throwGap();
      continue;
    }
    if ((part.number & ~(kRightPart | kRowPart)) != ofKey.size()) throwGap();
    ofKey.push_back(part.value);
    all[side].push_back(part.value);
    keyOf[side].push_back(part.key);
  }
  std::vector<JoinState::Times> times(keys.size(), {StateKeys::kNever, StateKeys::kNever});
  for (const JoinSide which : kJoinSides) {
    const auto side = static_cast<size_t>(which);
    checkRows(state_.layout(), which, all[side]);
    const auto ofRows = state_.timesOf(which, all[side]);
    for (size_t i = 0; i < ofRows.size(); ++i) {
      int64_t& first = times[keyOf[side][i]][side];
      first = std::min(first, ofRows[i].value_or(StateKeys::kNever));
    }
  }
  const auto ends = state_.timesOfKeys(Views(keys.begin(), keys.end()));
  for (size_t key = 0; key < keys.size(); ++key) {
    for (size_t side = 0; side < 2; ++side) {
      if (counts[key][side] != static_cast<int64_t>(rows[key][side].size())) throwGap();
    }
    state_.addCold(keys[key], rows[key],
                   ends.empty() ? StateKeys::kNever : ends[key].value_or(StateKeys::kNever), times[key]);
  }
}

}  // namespace thalweg
