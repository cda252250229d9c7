// One partition of a streaming aggregation's state: groups by the bytes of their keys, their running values
// as columns.
#pragma once

#include <cstdint>
#include <span>

#include "columnar/binary_key_table.h"
#include "exec/state/aggregate_state_layout.h"
#include "exec/state/expiry_panes.h"
#include "exec/state/operator_state.h"
#include "exec/state/partial_groups.h"

namespace thalweg {

// Group numbers are the key table's. Groups that have no room wait in the cold tier: they have no number, and get one when the
// input or their event time asks for them. Used by one thread.
class AggregateState final : public StorePartition {
 public:
  // The layout outlives it.
  explicit AggregateState(const AggregateStateLayout& layout);

  void setRoom(ColdPartition* cold, int64_t bytes) override;
  void restart() override;
  void apply(const StateChange& change) override;
  void finishLoad() override;
  std::vector<StateChange> changes() override;
  void changesWritten() override;
  StateEntries entries() const override;
  int64_t numKeys() const override { return table_.size() + numCold(); }
  int64_t memoryBytes() const override;

  // Merges some of a part's entries.
  void merge(const GroupEntries& part, std::span<const uint32_t> entries);
  // Groups that this batch merged into, in the order of their first merge.
  const std::vector<uint32_t>& touched() const { return touched_; }
  // Groups whose event time is not after `watermarkMicros`. They are no longer found by time: remove them.
  std::vector<uint32_t> takeExpired(int64_t watermarkMicros);
  void remove(std::span<const uint32_t> groups);
  // Keys and results as rows of the schema.
  std::vector<std::shared_ptr<arrow::RecordBatch>> results(const Schema& schema,
                                                           std::span<const uint32_t> groups) const;
  std::vector<std::shared_ptr<arrow::RecordBatch>> allResults(const Schema& schema) const;

 private:
  using Arrays = std::vector<std::shared_ptr<arrow::Array>>;
  std::vector<std::string_view> keysOf(std::span<const uint32_t> groups) const;
  Arrays decodeKeys(std::span<const std::string_view> keys) const;
  // Loads saved values into groups of aggregators, where they are empty.
  void loadValues(std::span<const uint32_t> groups, std::span<const std::string_view> values,
                  const Aggregators& aggregators) const;
  void encodeValues(std::span<const uint32_t> groups, BinaryRows* out) const;
  void noteTime(std::optional<int64_t> time, uint32_t group);
  void resize();
  void forget(std::span<const uint32_t> groups);

  static constexpr int64_t kNoTime = INT64_MAX;
  int64_t numCold() const { return cold_ == nullptr ? 0 : cold_->numKeys(); }
  int64_t bytesOf(uint32_t group) const;
  int64_t bytesOfLive() const;
  // New groups that are in the cold tier get their values back.
  void warmUp(std::span<const std::string_view> keys, std::span<const uint32_t> groups, std::span<const uint32_t> added);
  void takeExpiredFromCold(int64_t watermarkMicros, std::vector<uint32_t>* expired);
  void coolDown();
  void rebuildPanes();
  std::optional<int64_t> timeOf(uint32_t group) const;
  void moveToCold(std::span<const uint32_t> groups);
  void moveLoadedToCold();
  std::vector<std::shared_ptr<arrow::RecordBatch>> coldResults(const Schema& schema) const;

  const AggregateStateLayout& layout_;
  BinaryKeyTable table_;
  Aggregators aggregators_;
  // Groups by event time. One that went to the cold tier is left there, and its number may be another's by now: what comes
  // out counts only where it is live and `times_` agrees.
  ExpiryPanes panes_;
  bool panesAreStale_ = false;
  std::vector<int64_t> times_;  // by group, where there is an event time
  // Of each group number: is it in the files, did this batch change it, was it used since the clock's hand came by?
  std::vector<uint8_t> isStored_, isTouched_, isRecent_;
  std::vector<uint32_t> touched_;
  std::vector<std::string> removedKeys_;   // of groups that the files have
  std::vector<std::string> loadedValues_;  // while loading, by group
  int64_t loadedBytes_ = 0;
  BinaryRows changedValues_;

  ColdPartition* cold_ = nullptr;
  int64_t room_ = INT64_MAX;
  uint32_t hand_ = 0;  // of the clock that finds groups to move to the cold tier
};

}  // namespace thalweg
