#include "exec/state/join_rows.h"

#include <utility>

#include "common/error.h"

namespace thalweg {

uint32_t JoinRows::add(uint32_t key, std::string_view bytes) {
  uint32_t number;
  if (freeRows_.empty()) {
    number = static_cast<uint32_t>(rows_.size());
    if (number == kNone) throw unsupported("A partition of a join's state with 2³² rows");
    rows_.emplace_back();
    flags_.push_back(0);
  } else {
    number = freeRows_.back();
    freeRows_.pop_back();
  }
  if (key >= keys_.size()) keys_.resize(key + 1);
  Key& list = keys_[key];
  rows_[number] = {arena_.add(bytes), key, list.count, list.last, kNone};
  flags_[number] = kLive | (bytes[matchedOffset_] ? kMatched : 0);
  if (list.last != kNone) rows_[list.last].after = number;
  list.last = number;
  ++list.count;
  ++numRows_;
  return number;
}

uint32_t JoinRows::append(uint32_t key, std::string_view bytes) {
  const uint32_t row = add(key, bytes);
  noteChange(row);
  return row;
}

uint32_t JoinRows::load(uint32_t key, std::string_view bytes) {
  const uint32_t row = add(key, bytes);
  keys_[key].stored = keys_[key].count;
  return row;
}

void JoinRows::noteChange(uint32_t row) {
  if (flags_[row] & kChanged) return;
  flags_[row] |= kChanged;
  changed_.push_back(row);
}

void JoinRows::setMatched(uint32_t row) {
  if (isMatched(row)) return;
  flags_[row] |= kMatched;
  arena_.bytes(rows_[row].place)[matchedOffset_] = 1;
  noteChange(row);
}

void JoinRows::remove(uint32_t number) {
  Key& list = keys_[rows_[number].key];
  const uint32_t last = list.last;
  list.last = rows_[last].before;
  if (list.last != kNone) rows_[list.last].after = kNone;
  if (last != number) {
    const Row& hole = rows_[number];
    Row& moved = rows_[last];
    moved.index = hole.index;
    moved.before = hole.before;
    moved.after = hole.after;
    if (moved.before != kNone) rows_[moved.before].after = last;
    if (moved.after != kNone)
      rows_[moved.after].before = last;
    else
      list.last = last;
    noteChange(last);
  }
  --list.count;
  --numRows_;
  arena_.remove(rows_[number].place);
  flags_[number] &= kTimed;
  if (!flags_[number]) freeRows_.push_back(number);
}

bool JoinRows::takeTimed(uint32_t row) {
  flags_[row] &= static_cast<uint8_t>(~kTimed);
  if (flags_[row] & kLive) return true;
  freeRows_.push_back(row);
  return false;
}

void JoinRows::tidy() {
  if (!arena_.isSparse()) return;
  RowArena arena;
  forEach([&](uint32_t row) { rows_[row].place = arena.add(bytes(row)); });
  arena_ = std::move(arena);
}

std::vector<uint32_t> JoinRows::changedRows() {
  std::vector<uint32_t> rows;
  for (const uint32_t row : changed_) {
    if (!(flags_[row] & kChanged)) continue;
    flags_[row] &= static_cast<uint8_t>(~kChanged);
    rows.push_back(row);
  }
  return rows;
}

void JoinRows::written(uint32_t key) {
  if (key < keys_.size()) keys_[key].stored = keys_[key].count;
}

int64_t JoinRows::memoryBytes() const {
  return arena_.memoryBytes() +
         static_cast<int64_t>(rows_.capacity() * sizeof(Row) + flags_.capacity() +
                              (freeRows_.capacity() + changed_.capacity()) * sizeof(uint32_t) +
                              keys_.capacity() * sizeof(Key));
}

}  // namespace thalweg
