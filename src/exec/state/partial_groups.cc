#include "exec/state/partial_groups.h"

#include <arrow/api.h>

#include "columnar/row_hash.h"
#include "common/error.h"
#include "exec/operators/project_filter.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;

// Their keys lie in one batch of columns.
constexpr size_t kMostEntries = 200'000'000;

// struct<start, end> of windows that start so.
std::shared_ptr<arrow::Array> windowColumn(const DataType& type, const std::vector<int64_t>& starts, int64_t duration,
                                           arrow::MemoryPool* pool) {
  const auto arrowType = toArrowType(type);
  const auto& bound = static_cast<const arrow::StructType&>(*arrowType).field(0)->type();
  arrow::TimestampBuilder begins(bound, pool), ends(bound, pool);
  throwIfFailed(begins.AppendValues(starts));
  throwIfFailed(ends.Reserve(begins.length()));
  for (const int64_t start : starts)
    ends.UnsafeAppend(static_cast<int64_t>(static_cast<uint64_t>(start) + static_cast<uint64_t>(duration)));
  const arrow::ArrayVector bounds = {valueOrThrow(begins.Finish()), valueOrThrow(ends.Finish())};
  return std::make_shared<arrow::StructArray>(arrowType, static_cast<int64_t>(starts.size()), bounds);
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
  for (const int32_t partition : partitionIds(layout_.keyTypes, keys, count, static_cast<int32_t>(entries_.size())))
    entries_[static_cast<size_t>(partition)].push_back(entry++);
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
  const WindowPanes& panes = *layout_.panes;
  std::vector<std::string_view> keys;
  for (const uint32_t group : table_.liveNumbers()) keys.push_back(table_.key(group));
  BinaryRowDecoder decoder(layout_.keyTypes, BinaryRowDecoder::Role::Key, pool_);
  decoder.append(keys);
  const Arrays ofPanes = decoder.finish();
  const auto& paneColumn = static_cast<const arrow::StructArray&>(*ofPanes[panes.column]);
  const auto paneStarts = std::static_pointer_cast<arrow::TimestampArray>(paneColumn.field(0));
  std::vector<int64_t> starts;
  std::vector<int32_t> rows;
  for (int64_t pane = 0; pane < paneStarts->length(); ++pane) {
    cancellation.throwIfCancelled();
    if (starts.size() > kMostEntries) {
      throw unsupported("A batch of more than " + std::to_string(kMostEntries) + " windows a partition (take fewer records a batch)");
    }
    for (const int64_t start : panes.windowsOf(paneStarts->Value(pane))) {
      starts.push_back(start);
      rows.push_back(static_cast<int32_t>(pane));
    }
  }
  paneOf_.assign(rows.begin(), rows.end());
  Arrays ofWindows = takeRows(ofPanes, rows, pool_);
  ofWindows[panes.column] = windowColumn(*layout_.keyTypes[panes.column], starts, panes.windows.duration, pool_);
  const auto count = static_cast<int64_t>(rows.size());
  layout_.keyEncoder.encode(ofWindows, 0, count, &windowKeys_);
  place(ofWindows, count);
}

}  // namespace thalweg
