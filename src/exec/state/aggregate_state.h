// One partition of a streaming aggregation's state: groups by the bytes of their keys, their running values
// as columns.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "columnar/binary_key_table.h"
#include "exec/state/aggregate_state_layout.h"
#include "exec/state/operator_state.h"
#include "exec/state/partial_groups.h"

namespace thalweg {

// Group numbers are the key table's. Used by one thread.
class AggregateState final : public StorePartition {
 public:
  // The layout outlives it.
  explicit AggregateState(const AggregateStateLayout& layout);

  void restart() override;
  void apply(const StateChange& change) override;
  void finishLoad() override;
  std::vector<StateChange> changes() override;
  void changesWritten() override;
  StateEntries entries() const override;
  int64_t numKeys() const override { return table_.size(); }
  int64_t memoryBytes() const override;

  // Merges some of a part's entries.
  void merge(const GroupEntries& part, std::span<const uint32_t> entries);
  // Groups that this batch merged into, in the order of their first merge.
  const std::vector<uint32_t>& touched() const { return touched_; }
  std::vector<uint32_t> all() const { return table_.liveNumbers(); }
  // Groups whose event time is not after `watermarkMicros`. They are no longer found by time: remove them.
  std::vector<uint32_t> takeExpired(int64_t watermarkMicros);
  void remove(std::span<const uint32_t> groups);
  // Keys and results as rows of the schema.
  std::vector<std::shared_ptr<arrow::RecordBatch>> results(const Schema& schema,
                                                           std::span<const uint32_t> groups) const;

 private:
  std::vector<std::shared_ptr<arrow::Array>> decodeKeys(std::span<const uint32_t> groups) const;
  void encodeValues(std::span<const uint32_t> groups, BinaryRows* out) const;
  void noteTime(std::optional<int64_t> time, uint32_t group);
  void resize();

  const AggregateStateLayout& layout_;
  BinaryKeyTable table_;
  Aggregators aggregators_;
  std::map<int64_t, std::vector<uint32_t>> panes_;  // groups by event time
  // Of each group number: is it in the files, and did this batch change it?
  std::vector<uint8_t> isStored_, isTouched_;
  std::vector<uint32_t> touched_;
  std::vector<std::string> removedKeys_;   // of groups that the files have
  std::vector<std::string> loadedValues_;  // while loading, by group
  BinaryRows changedValues_;
};

}  // namespace thalweg
