#include "exec/pipeline/execution.h"

#include <arrow/record_batch.h>

namespace thalweg {

std::vector<std::shared_ptr<arrow::RecordBatch>> collectAll(RunningOperator& running, Execution& execution) {
  return collectPartitions(running, 0, running.numPartitions(), execution);
}

std::vector<std::shared_ptr<arrow::RecordBatch>> collectPartitions(RunningOperator& running, int first, int count, Execution& execution) {
  std::vector<std::vector<std::shared_ptr<arrow::RecordBatch>>> parts(static_cast<size_t>(count));
  execution.pool->runAll(count, [&](int partition) {
    auto reader = running.open(first + partition);
    while (auto batch = reader->next()) {
      execution.cancellation.throwIfCancelled();
      if (batch->num_rows() > 0) parts[static_cast<size_t>(partition)].push_back(std::move(batch));
    }
  });
  std::vector<std::shared_ptr<arrow::RecordBatch>> all;
  for (auto& part : parts) {
    for (auto& batch : part) all.push_back(std::move(batch));
  }
  return all;
}

}  // namespace thalweg
