// One partition of the state of a join of two streams: both sides' rows under the keys by which they meet,
// and at rest the four stores of Spark's format 2:
//   left-keyToNumValues        {field0, …} → {value: number of rows}
//   left-keyWithIndexToValue   {field0, …, index} → {the row's columns, …, matched}
//   right-keyToNumValues, right-keyWithIndexToValue
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "columnar/binary_row.h"
#include "columnar/binary_row_fields.h"
#include "exec/state/aggregate_state_layout.h"
#include "exec/state/expiry_panes.h"
#include "exec/state/join_rows.h"
#include "exec/state/operator_state.h"
#include "exec/state/state_keys.h"

namespace thalweg {

enum class JoinSide { Left = 0, Right = 1 };
inline constexpr std::array kJoinSides = {JoinSide::Left, JoinSide::Right};
constexpr JoinSide otherSide(JoinSide side) {
  return side == JoinSide::Left ? JoinSide::Right : JoinSide::Left;
}

// What a join's state is made of; the same for all its partitions.
class JoinStateLayout {
 public:
  struct Side {
    std::vector<StructField> keys;  // of the same types on both sides
    std::vector<StructField> columns;
    // The column by which rows leave, where they do so by their own time.
    std::optional<EventTimeKey> expiry;
  };
  // `keyExpiry`: the key by which both sides' rows leave, where there is one.
  JoinStateLayout(std::array<Side, 2> sides, std::optional<EventTimeKey> keyExpiry);

  const Side& side(JoinSide side) const { return sides_[static_cast<size_t>(side)]; }
  const std::optional<EventTimeKey>& keyExpiry() const { return keyExpiry_; }
  const std::vector<DataTypePtr>& keyTypes() const { return keyTypes_; }
  // A side's columns, and `matched`.
  const std::vector<DataTypePtr>& rowTypes(JoinSide side) const {
    return rowTypes_[static_cast<size_t>(side)];
  }
  const BinaryRowEncoder& keyEncoder() const { return keyEncoder_; }
  const BinaryRowEncoder& rowEncoder(JoinSide side) const { return rowEncoders_[static_cast<size_t>(side)]; }
  // A key's row and a row of an index, as one.
  const BinaryRowSplitter& indexedKeys() const { return indexedKeys_; }

  // Spark's four, in its order: of each side the counts, then the rows.
  std::vector<StoreDefinition> stores() const;

 private:
  std::array<Side, 2> sides_;
  std::optional<EventTimeKey> keyExpiry_;
  std::vector<DataTypePtr> keyTypes_;
  std::array<std::vector<DataTypePtr>, 2> rowTypes_;
  BinaryRowEncoder keyEncoder_;
  std::array<BinaryRowEncoder, 2> rowEncoders_;
  BinaryRowSplitter indexedKeys_;
};

class JoinLoad;

// A key is in memory or in the cold tier with all its rows, of both sides, as it meets either side's rows.
// Used by one thread. The layout outlives it.
class JoinState final : private KeyedValues {
 public:
  static constexpr uint32_t kNone = JoinRows::kNone;
  using Rows = std::vector<uint32_t>;

  explicit JoinState(const JoinStateLayout& layout);
  ~JoinState() override;

  const JoinStateLayout& layout() const { return layout_; }
  // The numbers of keys, new ones added, cold ones with their rows.
  std::vector<uint32_t> number(const BinaryRows& keys);
  // Those in memory.
  const JoinRows& rows(JoinSide side) const { return sides_[static_cast<size_t>(side)]; }
  int64_t numColdRows(JoinSide side) const { return numColdRows_[static_cast<size_t>(side)]; }
  void setMatched(JoinSide side, uint32_t row) { sides_[static_cast<size_t>(side)].setMatched(row); }
  // Keeps a row: encoded, `matched` included. `time`: by which it leaves, its key's where the layout says so.
  void append(JoinSide side, uint32_t key, std::string_view row, std::optional<int64_t> time);
  // The columns of rows.
  std::vector<std::shared_ptr<arrow::Array>> decode(JoinSide side, std::span<const uint32_t> rows) const;

  // Rows that end with the watermark: by their keys, those of both sides; or by their own times. They are no
  // longer found by time: `visit`, which gets cold ones block by block, removes them. Rows may be removed before,
  // too.
  void takeExpiredKeys(int64_t watermarkMicros,
                       const std::function<void(const std::array<Rows, 2>& rows)>& visit);
  void takeExpiredRows(JoinSide side, int64_t watermarkMicros,
                       const std::function<void(const Rows& rows)>& visit);
  void remove(JoinSide side, std::span<const uint32_t> rows);

 private:
  friend class JoinStore;
  friend class JoinCounts;
  friend class JoinIndexedRows;
  friend class JoinLoad;
  using Times = std::array<int64_t, 2>;  // of a key, when each side's first row leaves

  int64_t liveBytes() const override;
  void moveOut(std::span<const uint32_t> keys, ByteStrings* values, std::span<int64_t> ends) override;
  void moveIn(std::span<const uint32_t> keys, std::span<const std::string_view> values,
              std::span<const int64_t> ends) override;
  void renumber(std::span<const uint32_t> keys) override;

  void setRoom(JoinSide side, bool ofRows, ColdPartition* cold, StateRoom room);
  // One store begins its load anew: all of them do, where none is loading.
  void restart(JoinSide side, bool ofRows);
  JoinLoad& loading();
  void finishLoad();
  // Rows of a load, in order of their indices: keys in memory, or one that goes to the cold tier.
  void addStored(JoinSide side, std::span<const uint32_t> keys, std::span<const std::string_view> rows);
  void addCold(std::string_view key, const std::array<std::vector<std::string_view>, 2>& rows, int64_t end,
               const Times& times);
  void noteCold(std::string_view key, const Times& times);
  // When rows leave by their own times; empty where they do not.
  std::vector<std::optional<int64_t>> timesOf(JoinSide side, std::span<const std::string_view> rows) const;
  std::vector<std::optional<int64_t>> timesOfKeys(std::span<const std::string_view> keys) const;
  void forEachCold(
      const std::function<void(std::string_view key,
                               const std::array<std::vector<std::string_view>, 2>& rows)>& visit) const;
  // A key's rows by their indices.
  Rows rowsOf(JoinSide side, uint32_t key) const;
  Rows takeExpiredHot(JoinSide side, int64_t watermarkMicros);

  void noteTime(JoinSide side, uint32_t key, uint32_t row, std::optional<int64_t> time);
  void touch(uint32_t key);
  // After all stores are written: keys without rows go.
  void finishChanges();
  // Row numbers that rows have left are given up. The key keys[i] is i from now on.
  void rebuild(JoinSide side, std::span<const uint32_t> keys);
  void clear();
  int64_t tableBytes() const;

  const JoinStateLayout& layout_;
  StateKeys keys_;  // their ends are the layout's keyExpiry
  std::array<JoinRows, 2> sides_;
  std::array<ExpiryPanes, 2> rowPanes_;
  // Where rows leave by their own times: cold keys by that of their first row of a side.
  std::array<ColdPartition*, 2> coldTimes_ = {nullptr, nullptr};
  std::array<int64_t, 2> numColdRows_ = {0, 0};
  // Keys whose rows this batch may have changed.
  std::vector<uint32_t> touched_;
  std::vector<uint8_t> isTouched_;
  std::unique_ptr<JoinLoad> load_;  // while loading
};

// A store of a partition. Those of one partition share its state.
class JoinStore : public StorePartition {
 public:
  // The stores of an empty partition, in the layout's order. The layout outlives them.
  static std::vector<std::unique_ptr<StorePartition>> makeAll(const JoinStateLayout& layout);
  JoinState& state() { return *state_; }
  void finishLoad() override;

 protected:
  JoinStore(std::shared_ptr<JoinState> state, JoinSide side) : state_(std::move(state)), side_(side) {}
  JoinRows& rows() const { return state_->sides_[static_cast<size_t>(side_)]; }
  bool isLast() const { return side_ == JoinSide::Right; }

  std::shared_ptr<JoinState> state_;
  JoinSide side_;
};

}  // namespace thalweg
