#include "exec/state/partial_groups.h"

#include <arrow/api.h>

#include "columnar/binary_row_layout.h"
#include "columnar/row_hash.h"
#include "common/error.h"
#include "exec/operators/project_filter.h"

namespace thalweg {
namespace {

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;

// Their keys lie in one batch of columns.
constexpr size_t kMostEntries = 200'000'000;

int64_t endOf(int64_t start, const TimeWindowSpec& windows) {
  return static_cast<int64_t>(static_cast<uint64_t>(start) + static_cast<uint64_t>(windows.duration));
}

// Where the key of a row has the bounds of its window, a struct in its tail.
char* windowBounds(char* key, size_t numFields, size_t column) {
  const auto slot = binary_row::load<uint64_t>(key + binary_row::bitsetBytes(numFields) + 8 * column);
  return key + (slot >> 32) + binary_row::bitsetBytes(2);
}

}  // namespace

GroupEntries::GroupEntries(const AggregateStateLayout& layout, int numPartitions, arrow::MemoryPool* pool)
    : layout_(layout),
      pool_(pool),
      aggregators_(makeAggregators(layout.aggregates)),
      entries_(static_cast<size_t>(numPartitions)) {}

void GroupEntries::place(const Arrays& keys, int64_t count) {
  uint32_t entry = nextEntry_;
  nextEntry_ += static_cast<uint32_t>(count);
  if (layout_.eventTime) {
    const auto times = layout_.eventTime->timesOf(keys);
    times_.insert(times_.end(), times.begin(), times.end());
  }
  if (keys.empty()) {
    entries_[0].push_back(entry);
    return;
  }
  for (const int32_t partition : partitionIds(layout_.keyTypes, keys, count, numPartitions()))
    entries_[static_cast<size_t>(partition)].push_back(entry++);
}

void GroupEntries::place(int32_t partition, std::optional<int64_t> time) {
  if (layout_.eventTime) times_.push_back(time);
  entries_[static_cast<size_t>(partition)].push_back(nextEntry_++);
}

PartialGroups::PartialGroups(const AggregateStateLayout& layout, const std::vector<ExpressionPtr>& grouping,
                             int numPartitions, arrow::MemoryPool* pool)
    : GroupEntries(layout, numPartitions, pool), grouping_(grouping) {
  // Without grouping columns there is one group, also of no rows.
  if (grouping.empty()) number({}, 1);
}

void PartialGroups::add(const arrow::RecordBatch& batch, const EvaluationContext& context) {
  const Selection all = Selection::all(batch.num_rows());
  if (!grouping_.empty())
    number(evaluateAll(grouping_, batch, all, context), batch.num_rows());
  else
    groups_.assign(static_cast<size_t>(batch.num_rows()), 0);
  updateAll(aggregators_, layout_.aggregates, groups_, batch, context);
}

// groups_ = the group of each row with these keys.
void PartialGroups::number(const Arrays& keys, int64_t numRows) {
  rows_.clear();
  layout_.keyEncoder.encode(keys, 0, numRows, &rows_);
  rowKeys_.clear();
  for (size_t row = 0; row < rows_.size(); ++row) rowKeys_.push_back(rows_[row]);
  table_.findOrAdd(rowKeys_, &groups_, &newRows_);
  for (auto& aggregator : aggregators_) aggregator->resize(table_.size());
  if (newRows_.empty()) return;
  const std::vector<int32_t> rows(newRows_.begin(), newRows_.end());
  const bool all = static_cast<int64_t>(rows.size()) == numRows;
  place(all ? keys : takeRows(keys, rows, pool_), static_cast<int64_t>(rows.size()));
}

WindowsOfPanes::WindowsOfPanes(const AggregateStateLayout& layout, int numPartitions, arrow::MemoryPool* pool)
    : GroupEntries(layout, numPartitions, pool) {}

void WindowsOfPanes::merge(const PartialGroups& panes, std::span<const uint32_t> entries) {
  std::vector<std::string_view> keys;
  for (const uint32_t entry : entries) keys.push_back(panes.key(entry));
  std::vector<uint32_t> to, added;
  table_.findOrAdd(keys, &to, &added);
  for (size_t i = 0; i < aggregators_.size(); ++i) {
    aggregators_[i]->resize(table_.size());
    aggregators_[i]->merge(entries, to, *panes.aggregators()[i]);
  }
}

void WindowsOfPanes::expand(const CancellationToken& cancellation) {
  const size_t windowColumn = layout_.panes->column;
  std::vector<std::string_view> keys;
  for (const uint32_t group : table_.liveNumbers()) keys.push_back(table_.key(group));
  BinaryRowDecoder decoder(layout_.keyTypes, BinaryRowDecoder::Role::Key, pool_);
  decoder.append(keys);
  const Arrays columns = decoder.finish();
  const auto& windows = static_cast<const arrow::StructArray&>(*columns[windowColumn]);
  const auto starts = std::static_pointer_cast<arrow::TimestampArray>(windows.field(0));
  std::vector<std::optional<int64_t>> times(keys.size());
  if (layout_.eventTime) times = layout_.eventTime->timesOf(columns);
  for (uint32_t pane = 0; pane < keys.size(); ++pane) {
    cancellation.throwIfCancelled();
    if (paneOf_.size() > kMostEntries) {
      throw unsupported("A batch of more than " + std::to_string(kMostEntries) + " windows a partition (take fewer records a batch)");
    }
    expandPane(columns, pane, starts->Value(pane), times[pane]);
  }
}

// A window's key has the pane's bytes but for its bounds.
void WindowsOfPanes::expandPane(const Arrays& keys, uint32_t pane, int64_t paneStart, std::optional<int64_t> time) {
  const WindowPanes& panes = *layout_.panes;
  const std::vector<int64_t> starts = panes.windowsOf(paneStart);
  hashes_.assign(starts.size(), kRowHashSeed);
  for (size_t c = 0; c < keys.size(); ++c) {
    if (c != panes.column) {
      foldMurmur3OfRow(*layout_.keyTypes[c], *keys[c], pane, hashes_);
      continue;
    }
    for (size_t i = 0; i < starts.size(); ++i)
      hashes_[i] = murmur3Of(endOf(starts[i], panes.windows), murmur3Of(starts[i], hashes_[i]));
  }
  const bool endsWithWindow = layout_.eventTime && layout_.eventTime->column == panes.column;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t end = endOf(starts[i], panes.windows);
    char* bounds = windowBounds(windowKeys_.append(table_.key(pane)), keys.size(), panes.column);
    binary_row::store(bounds, starts[i]);
    binary_row::store(bounds + 8, end);
    paneOf_.push_back(pane);
    place(partitionOf(hashes_[i], numPartitions()), endsWithWindow ? end : time);
  }
}

}  // namespace thalweg
