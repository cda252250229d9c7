// One partition of a streaming aggregation's state: groups by the bytes of their keys, their running values
// as columns.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "columnar/binary_key_table.h"
#include "columnar/binary_row.h"
#include "exec/operators/groups.h"
#include "exec/state/operator_state.h"

namespace thalweg {

// The grouping column by which groups end: a timestamp, or a window, which ends when its end is passed.
struct EventTimeKey {
  size_t column = 0;
  bool isWindow = false;

  // Of each row of the key columns, in microseconds; none where null.
  std::vector<std::optional<int64_t>> timesOf(const std::vector<std::shared_ptr<arrow::Array>>& keys) const;
};

// What an aggregation's state is made of; the same for all its partitions.
struct AggregateStateLayout {
  AggregateStateLayout(std::vector<StructField> keyFields, Aggregates aggregates,
                       std::optional<EventTimeKey> eventTime);

  std::vector<StructField> keyFields;
  std::vector<StructField> valueFields;  // the aggregates' buffers, one after the other
  Aggregates aggregates;
  std::optional<EventTimeKey> eventTime;
  BinaryRowEncoder keyEncoder;
  BinaryRowEncoder valueEncoder;
};

// Groups that one partition of a batch's input gave, ready to be merged into the state's partitions.
struct PartialGroups {
  PartialGroups(const AggregateStateLayout& layout, Groups& groups, int numPartitions);

  const Aggregators& aggregators;
  BinaryRows keys;
  std::vector<std::optional<int64_t>> times;       // empty without an event time
  std::vector<std::vector<uint32_t>> ofPartition;  // the groups that belong to each partition of the state
};

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

  // Merges some of a part's groups.
  void merge(const PartialGroups& part, std::span<const uint32_t> groups);
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
