// How rows are read: a source plans a range into splits, a split opens a reader, a reader yields batches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "common/cancellation.h"
#include "types/data_type.h"

namespace thalweg {

// What a scan asks of a split. The batch has one column per entry of `columns`, in this order, in the Arrow types of
// types/arrow_types.h; an empty list asks for row counts only (batches without columns).
struct ReadRequest {
  std::vector<int> columns;      // indexes into the source's schema
  int64_t maxBatchRows = 65536;  // upper bound of a batch
  int64_t maxBatchBytes = 8 << 20;
  const CancellationToken* cancellation = nullptr;  // seen per batch and in every wait
  arrow::MemoryPool* memoryPool = nullptr;          // null: Arrow's default
};

// Used by one thread at a time. next() returns null at the end, throws Error on failure or cancellation.
class BatchReader {
 public:
  virtual ~BatchReader() = default;
  virtual std::shared_ptr<arrow::RecordBatch> next() = 0;
};

// An independent part of a read; may be opened on any thread, and again.
class Split {
 public:
  virtual ~Split() = default;
  virtual std::unique_ptr<BatchReader> open(const ReadRequest& request) const = 0;
};

using SplitPtr = std::shared_ptr<const Split>;

}  // namespace thalweg
