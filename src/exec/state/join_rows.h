// What a join of two streams keeps of one side: its rows by key, each key's numbered without gaps.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "exec/state/row_arena.h"

namespace thalweg {

// The rows of a key form a list; a row that leaves is replaced by the last one of its key, as in Spark's
// state, where a key's rows lie under the indices 0 … count − 1. Rows are binary rows whose last field says
// whether the row ever had a partner. Row numbers are given again after a row has left, and is no longer
// known by its time; keys are numbers that the caller gives. Used by one thread.
class JoinRows {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // `matchedOffset`: of the last field within a row, in bytes.
  explicit JoinRows(size_t matchedOffset) : matchedOffset_(matchedOffset) {}
  // One for rows of the same form.
  JoinRows emptyOne() const { return JoinRows(matchedOffset_); }

  // Adds a row to a key, as its last one.
  uint32_t append(uint32_t key, std::string_view row);
  void remove(uint32_t row);
  // After removals: gives back memory that they left unused.
  void tidy();

  uint32_t count(uint32_t key) const { return key < keys_.size() ? keys_[key].count : 0; }
  // The list of a key from its end; kNone where it is empty.
  uint32_t last(uint32_t key) const { return key < keys_.size() ? keys_[key].last : kNone; }
  uint32_t before(uint32_t row) const { return rows_[row].before; }
  uint32_t keyOf(uint32_t row) const { return rows_[row].key; }
  uint32_t indexOf(uint32_t row) const { return rows_[row].index; }
  // Holds until the row is removed, and until tidy.
  std::string_view bytes(uint32_t row) const { return arena_.get(rows_[row].place); }
  bool isMatched(uint32_t row) const { return (flags_[row] & kMatched) != 0; }
  void setMatched(uint32_t row);
  // The row is known by its time elsewhere: its number is not given again before takeTimed, which is false
  // for a row that has left.
  void setTimed(uint32_t row) { flags_[row] |= kTimed; }
  bool takeTimed(uint32_t row);

  // While a version is loaded: adds a row under its index, which the files have. Rows of a key come in order.
  uint32_t load(uint32_t key, std::string_view row);

  // Rows that the files do not have as they are now, each once. Call once before changesWritten.
  std::vector<uint32_t> changedRows();
  // Rows of a key in the files.
  uint32_t storedCount(uint32_t key) const { return key < keys_.size() ? keys_[key].stored : 0; }
  // The files have all of a key's changes, and of all rows'.
  void written(uint32_t key);
  void rowsWritten() { changed_.clear(); }

  int64_t numRows() const { return numRows_; }
  // Row numbers are below.
  int64_t numbersEnd() const { return static_cast<int64_t>(rows_.size()); }
  // Calls f(row) for each row.
  template <typename F>
  void forEach(F&& f) const {
    for (uint32_t row = 0; row < rows_.size(); ++row) {
      if (flags_[row] & kLive) f(row);
    }
  }
  int64_t memoryBytes() const;
  // Of rows that are there.
  int64_t liveBytes() const { return arena_.liveBytes() + numRows_ * static_cast<int64_t>(sizeof(Row) + 1); }

 private:
  static constexpr uint8_t kLive = 1, kMatched = 2, kChanged = 4, kTimed = 8;
  struct Row {
    RowArena::Place place;
    uint32_t key = kNone;
    uint32_t index = 0;
    uint32_t before = kNone;  // the row of the next smaller index
    uint32_t after = kNone;
  };
  struct Key {
    uint32_t last = kNone;
    uint32_t count = 0;
    uint32_t stored = 0;
  };
  uint32_t add(uint32_t key, std::string_view row);
  void noteChange(uint32_t row);

  size_t matchedOffset_;
  RowArena arena_;
  std::vector<Row> rows_;
  std::vector<uint8_t> flags_;
  std::vector<uint32_t> freeRows_;
  std::vector<Key> keys_;
  std::vector<uint32_t> changed_;  // may name a row twice, and rows that are gone
  int64_t numRows_ = 0;
};

}  // namespace thalweg
