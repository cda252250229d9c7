#include "exec/state/aggregate_buffers.h"

#include <arrow/api.h>

#include "exec/state/in_blocks.h"

namespace thalweg {

void saveBuffers(const Aggregators& aggregators, std::span<const uint32_t> groups, BufferColumns* columns) {
  for (const auto& aggregator : aggregators) {
    for (auto& column : aggregator->saveBuffers(groups, arrow::default_memory_pool()))
      columns->push_back(std::move(column));
  }
}

void loadBuffers(const Aggregators& aggregators, std::span<const uint32_t> groups,
                 std::span<const std::shared_ptr<arrow::Array>> columns) {
  for (const auto& aggregator : aggregators) {
    const size_t width = aggregator->bufferFields().size();
    aggregator->loadBuffers(
        groups, BufferColumns(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(width)));
    columns = columns.subspan(width);
  }
}

Aggregators renumbered(const Aggregates& aggregates, const Aggregators& aggregators,
                       std::span<const uint32_t> groups) {
  const std::vector<uint32_t> numbers = allGroups(static_cast<int64_t>(groups.size()));
  Aggregators fresh = makeAggregators(aggregates);
  for (const auto& aggregator : fresh) aggregator->resize(static_cast<int64_t>(groups.size()));
  for (size_t at = 0; at < groups.size(); at += kBlockSize) {
    const size_t count = std::min(kBlockSize, groups.size() - at);
    BufferColumns columns;
    saveBuffers(aggregators, groups.subspan(at, count), &columns);
    loadBuffers(fresh, std::span(numbers).subspan(at, count), columns);
  }
  return fresh;
}

Aggregator::Bytes bytesOf(const Aggregators& aggregators) {
  Aggregator::Bytes all;
  for (const auto& aggregator : aggregators) {
    const Aggregator::Bytes bytes = aggregator->bytes();
    all.each += bytes.each;
    all.values += bytes.values;
  }
  return all;
}

}  // namespace thalweg
