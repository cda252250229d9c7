// One task's rows, sorted into an exchange's partitions.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "columnar/spill_file.h"

namespace thalweg {

// Written by one thread, then read by any number. `held` counts the bytes in memory of all tasks of the
// exchange: who finds more than `memoryBytes` there puts its own rows on disk, once they are worth a write.
class SpreadRows {
 public:
  SpreadRows(std::shared_ptr<arrow::Schema> schema, int numPartitions, int64_t memoryBytes,
             std::atomic<int64_t>* held);

  // partitions[i] is row i's.
  void add(const std::shared_ptr<arrow::RecordBatch>& rows, std::span<const int32_t> partitions);
  // After the last row, before the first is read.
  void finish();

  // About how much memory a partition's rows would take, those on disk included.
  int64_t numBytes(int partition) const { return parts_[static_cast<size_t>(partition)].bytes; }
  int numBatches(int partition) const;
  // In the order in which the rows came.
  std::shared_ptr<arrow::RecordBatch> batch(int partition, int index) const;

 private:
  struct Part {
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;  // in memory, behind those on disk
    int64_t bytes = 0;
  };

  void append(size_t partition, std::shared_ptr<arrow::RecordBatch> rows);
  void spill();

  std::shared_ptr<arrow::Schema> schema_;
  int64_t memoryBytes_;
  std::atomic<int64_t>* held_;
  int64_t heldHere_ = 0;
  std::vector<Part> parts_;
  std::optional<SpillFile> spilled_;
};

}  // namespace thalweg
