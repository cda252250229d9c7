// The first stage of an aggregation over a stream: a batch's groups, by the bytes that their keys have in the
// state, on their way to the state's partitions.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "columnar/binary_key_table.h"
#include "common/cancellation.h"
#include "exec/state/aggregate_state_layout.h"

namespace thalweg {

// Groups that the state has to take in, as entries. Several entries may share one group's running values.
class GroupEntries {
 public:
  virtual ~GroupEntries() = default;
  // Of a partition of the state.
  const std::vector<uint32_t>& entriesOf(int partition) const { return entries_[static_cast<size_t>(partition)]; }
  // Valid as long as this is.
  virtual std::string_view key(uint32_t entry) const = 0;
  // None without an event time, and where it is null.
  std::optional<int64_t> time(uint32_t entry) const { return times_.empty() ? std::nullopt : times_[entry]; }
  // The group of `aggregators` whose values are the entry's.
  virtual uint32_t group(uint32_t entry) const = 0;
  const Aggregators& aggregators() const { return aggregators_; }

 protected:
  using Arrays = std::vector<std::shared_ptr<arrow::Array>>;
  GroupEntries(const AggregateStateLayout& layout, int numPartitions, arrow::MemoryPool* pool);
  // Partitions and times of more entries, in their order.
  void place(const Arrays& keys, int64_t count);
  void place(int32_t partition, std::optional<int64_t> time);
  int32_t numPartitions() const { return static_cast<int32_t>(entries_.size()); }

  const AggregateStateLayout& layout_;
  arrow::MemoryPool* pool_;
  BinaryKeyTable table_;
  Aggregators aggregators_;

 private:
  std::vector<std::vector<uint32_t>> entries_;  // by partition of the state
  std::vector<std::optional<int64_t>> times_;   // of entries; empty without an event time
  uint32_t nextEntry_ = 0;
};

// Of one partition of a batch's input; an entry a group. Used by one thread, then read by any.
class PartialGroups final : public GroupEntries {
 public:
  // The layout and the expressions outlive it.
  PartialGroups(const AggregateStateLayout& layout, const std::vector<ExpressionPtr>& grouping, int numPartitions,
                arrow::MemoryPool* pool);
  void add(const arrow::RecordBatch& batch, const EvaluationContext& context);
  std::string_view key(uint32_t entry) const override { return table_.key(entry); }
  uint32_t group(uint32_t entry) const override { return entry; }

 private:
  void number(const Arrays& keys, int64_t numRows);

  const std::vector<ExpressionPtr>& grouping_;
  // Of the batch at hand.
  BinaryRows rows_;
  std::vector<std::string_view> rowKeys_;
  std::vector<uint32_t> groups_, newRows_;
};

// Groups of panes (see WindowPanes) as groups of windows: those of a pane are an entry in each of its windows.
class WindowsOfPanes final : public GroupEntries {
 public:
  WindowsOfPanes(const AggregateStateLayout& layout, int numPartitions, arrow::MemoryPool* pool);
  // Takes in some of the groups of a part.
  void merge(const PartialGroups& panes, std::span<const uint32_t> entries);
  // After the last merge. Throws the cancellation's Error.
  void expand(const CancellationToken& cancellation);
  std::string_view key(uint32_t entry) const override { return windowKeys_[entry]; }
  uint32_t group(uint32_t entry) const override { return paneOf_[entry]; }

 private:
  // The panes' keys as columns, and a pane of them in each of its windows.
  void expandPane(const Arrays& keys, uint32_t pane, int64_t start, std::optional<int64_t> time);

  BinaryRows windowKeys_;
  std::vector<uint32_t> paneOf_;
  std::vector<uint32_t> hashes_;  // of the pane at hand, a window
};

}  // namespace thalweg
