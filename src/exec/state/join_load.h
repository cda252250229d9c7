// The load of a join's state from the four stores that a checkpoint has of it.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "columnar/binary_key_table.h"
#include "exec/state/join_state.h"
#include "exec/state/key_parts.h"
#include "exec/state/row_arena.h"

namespace thalweg {

// Takes the changes of all stores, then holds them against each other: each key's rows are numbered from 0,
// and as many as its count says. What has no room in memory waits on local disk, and its keys go to the cold
// tier. Used by one thread. Throws Error STATE_STORE_KEY_ROW_FORMAT_VALIDATION_FAILURE or
// STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE for files that are damaged.
class JoinLoad {
 public:
  // The state outlives it.
  explicit JoinLoad(JoinState& state) : state_(state) {}
  // Forgets what one store has said.
  void restart(JoinSide side, bool ofRows);
  void applyCount(JoinSide side, const StateChange& change);
  void applyRow(JoinSide side, const StateChange& change);
  void finish();

 private:
  // What one side's stores have said so far.
  struct Side {
    BinaryKeyTable countKeys, rowKeys;
    std::vector<int64_t> counts;
    RowArena rows;
    std::vector<RowArena::Place> places;
  };
  struct Loaded {
    uint32_t key;
    uint32_t number;
    int64_t index;
  };
  void noteBytes(const StateChange& change);
  void moveToParts();
  void partOfCount(JoinSide side, const StateChange& change);
  void partOfRow(JoinSide side, const StateChange& change);
  void finishSide(JoinSide side);
  void addLoaded(JoinSide side, std::span<const Loaded> loaded);
  void checkCounts(JoinSide side, int64_t numKeys);
  void finishParts(const std::vector<std::string>& keys, std::span<const KeyPart> parts);

  JoinState& state_;
  std::array<Side, 2> sides_;
  int64_t bytes_ = 0;
  std::unique_ptr<KeyParts> parts_;  // of a load without room in memory
  uint64_t storesOfParts_ = 0;       // a bit each
};

// The bytes of a row of one long, and what they say. Throws Error
// STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE for other ones.
class LongRow {
 public:
  explicit LongRow(int64_t value);
  std::string_view bytes() const { return {bytes_, sizeof(bytes_)}; }
  static int64_t valueOf(std::string_view row);

 private:
  char bytes_[16] = {};  // bitset, field
};

}  // namespace thalweg
