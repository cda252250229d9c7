#include "exec/operators/spread_rows.h"

#include <algorithm>

#include <arrow/api.h>
#include <arrow/compute/api_vector.h>
#include <arrow/util/byte_size.h>

#include "types/arrow_result.h"

namespace thalweg {
namespace {

// Rows of one partition come a few at a time: so many pieces become one.
constexpr size_t kPieces = 32;

// Of the memory; less is not put on disk while more rows come, whoever holds the rest.
constexpr int64_t kLeastShare = 16;

std::shared_ptr<arrow::RecordBatch> joined(const std::shared_ptr<arrow::Schema>& schema,
                                           const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) {
  if (batches.size() == 1) return batches[0];
  arrow::ArrayVector columns;
  int64_t numRows = 0;
  for (const auto& batch : batches) numRows += batch->num_rows();
  for (int c = 0; c < schema->num_fields(); ++c) {
    arrow::ArrayVector pieces;
    for (const auto& batch : batches) pieces.push_back(batch->column(c));
    columns.push_back(valueOrThrow(arrow::Concatenate(pieces)));
  }
  return arrow::RecordBatch::Make(schema, numRows, std::move(columns));
}

std::shared_ptr<arrow::RecordBatch> take(const arrow::RecordBatch& rows, std::span<const int32_t> positions) {
  const auto indices = std::make_shared<arrow::Int32Array>(
      static_cast<int64_t>(positions.size()), arrow::Buffer::Wrap(positions.data(), positions.size()));
  arrow::ArrayVector columns;
  for (const auto& column : rows.columns())
    columns.push_back(
        valueOrThrow(arrow::compute::Take(*column, *indices, arrow::compute::TakeOptions::NoBoundsCheck())));
  return arrow::RecordBatch::Make(rows.schema(), indices->length(), std::move(columns));
}

}  // namespace

SpreadRows::SpreadRows(std::shared_ptr<arrow::Schema> schema, int numPartitions, int64_t memoryBytes,
                       std::atomic<int64_t>* held)
    : schema_(std::move(schema)),
      memoryBytes_(memoryBytes),
      held_(held),
      parts_(static_cast<size_t>(numPartitions)) {}

void SpreadRows::add(const std::shared_ptr<arrow::RecordBatch>& rows, std::span<const int32_t> partitions) {
  if (rows->num_rows() == 0) return;
  if (parts_.size() == 1) {
    append(0, rows);
  } else {
    // Counting sort: each partition's rows keep their order.
    std::vector<int32_t> starts(parts_.size() + 1);
    for (const int32_t partition : partitions) ++starts[static_cast<size_t>(partition) + 1];
    for (size_t i = 0; i < parts_.size(); ++i) starts[i + 1] += starts[i];
    std::vector<int32_t> next(starts.begin(), starts.end() - 1);
    std::vector<int32_t> order(partitions.size());
    for (size_t row = 0; row < partitions.size(); ++row)
      order[static_cast<size_t>(next[static_cast<size_t>(partitions[row])]++)] = static_cast<int32_t>(row);
    for (size_t i = 0; i < parts_.size(); ++i) {
      const std::span<const int32_t> own(order.data() + starts[i], order.data() + starts[i + 1]);
      if (!own.empty()) append(i, take(*rows, own));
    }
  }
  if (held_->load() > memoryBytes_ && heldHere_ > memoryBytes_ / kLeastShare) spill();
}

void SpreadRows::finish() {
  if (held_->load() > memoryBytes_) spill();
}

void SpreadRows::append(size_t partition, std::shared_ptr<arrow::RecordBatch> rows) {
  Part& part = parts_[partition];
  const int64_t bytes = arrow::util::ReferencedBufferSize(*rows).ValueOr(arrow::util::TotalBufferSize(*rows));
  part.batches.push_back(std::move(rows));
  part.bytes += bytes;
  heldHere_ += bytes;
  *held_ += bytes;
  if (part.batches.size() < kPieces || parts_.size() == 1) return;
  part.batches = {joined(schema_, part.batches)};
}

void SpreadRows::spill() {
  if (heldHere_ == 0) return;
  if (!spilled_) spilled_.emplace(schema_, static_cast<int>(parts_.size()));
  for (size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    if (part.batches.empty()) continue;
    spilled_->write(static_cast<int>(i), *joined(schema_, part.batches));
    part.batches.clear();
  }
  *held_ -= heldHere_;
  heldHere_ = 0;
}

int SpreadRows::numBatches(int partition) const {
  return (spilled_ ? spilled_->numBatches(partition) : 0) +
         static_cast<int>(parts_[static_cast<size_t>(partition)].batches.size());
}

std::shared_ptr<arrow::RecordBatch> SpreadRows::batch(int partition, int index) const {
  const int onDisk = spilled_ ? spilled_->numBatches(partition) : 0;
  if (index < onDisk) return spilled_->read(partition, index);
  return parts_[static_cast<size_t>(partition)].batches[static_cast<size_t>(index - onDisk)];
}

}  // namespace thalweg
