// One partition of a streaming aggregation's state: groups by the bytes of their keys, their running values
// as columns.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "exec/state/aggregate_state_layout.h"
#include "exec/state/key_loader.h"
#include "exec/state/operator_state.h"
#include "exec/state/partial_groups.h"
#include "exec/state/state_keys.h"

namespace thalweg {

// Group numbers are the keys'. Used by one thread.
class AggregateState final : public StorePartition, private KeyedValues {
 public:
  using Groups = std::span<const uint32_t>;

  // The layout outlives it.
  explicit AggregateState(const AggregateStateLayout& layout);

  void setRoom(ColdPartition* cold, StateRoom room) override { keys_.setRoom(cold, room); }
  void restart() override;
  void apply(const StateChange& change) override { loader_.apply(change); }
  void finishLoad() override { loader_.finish(); }
  std::vector<StateChange> changes() override;
  void changesWritten() override;
  StateEntries entries() const override;
  int64_t numKeys() const override { return keys_.numKeys(); }
  int64_t memoryBytes() const override;

  // Merges some of a part's entries.
  void merge(const GroupEntries& part, std::span<const uint32_t> entries);
  // Groups that this batch merged into, in the order of their first merge.
  const std::vector<uint32_t>& touched() const { return touched_; }
  // Removes the groups whose event time is not after `watermarkMicros`, and says how many they were. `leave`
  // sees them before they go, those of the cold tier block by block; without one, groups in the cold tier go from where they are.
  int64_t removeEnded(int64_t watermarkMicros, const std::function<void(Groups)>& leave);
  // Keys and results as rows of the schema.
  std::vector<std::shared_ptr<arrow::RecordBatch>> results(const Schema& schema, Groups groups) const;
  std::vector<std::shared_ptr<arrow::RecordBatch>> allResults(const Schema& schema) const;

 private:
  using Arrays = std::vector<std::shared_ptr<arrow::Array>>;
  int64_t liveBytes() const override;
  void moveOut(Groups groups, ByteStrings* values, std::span<int64_t> ends) override;
  void moveIn(Groups groups, std::span<const std::string_view> values,
              std::span<const int64_t> ends) override;
  void renumber(Groups groups) override;

  std::vector<std::string_view> keysOf(Groups groups) const;
  Arrays decodeKeys(std::span<const std::string_view> keys) const;
  // Loads saved values into groups of aggregators, where they are empty.
  void loadValues(Groups groups, std::span<const std::string_view> values,
                  const Aggregators& aggregators) const;
  void encodeValues(Groups groups, BinaryRows* out) const;
  void resize();
  void forget(Groups groups);
  void remove(Groups groups);
  std::vector<std::shared_ptr<arrow::RecordBatch>> coldResults(const Schema& schema) const;

  const AggregateStateLayout& layout_;
  StateKeys keys_;
  KeyLoader loader_;
  Aggregators aggregators_;
  // Of each group number: is it in the files, did this batch change it?
  std::vector<uint8_t> isStored_, isTouched_;
  std::vector<uint32_t> touched_;
  std::vector<std::string> removedKeys_;  // of groups that the files have
  BinaryRows changedValues_;
};

}  // namespace thalweg
