#include "exec/pipeline/execution.h"

#include <algorithm>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

namespace thalweg {
namespace {

// What a partition may hold ready before the partitions ahead of it are handed over.
constexpr int64_t kReadAheadBytes = int64_t{4} << 20;

// A partition's reader and the batches that wait to be handed over.
struct ReadAhead {
  std::unique_ptr<BatchReader> reader;
  std::vector<std::shared_ptr<arrow::RecordBatch>> ready;
  int64_t readyBytes = 0;
  bool done = false;

  void fill(RunningOperator& running, int partition, const CancellationToken& cancellation) {
    if (!reader && !done) reader = running.open(partition);
    while (!done && readyBytes < kReadAheadBytes) {
      cancellation.throwIfCancelled();
      auto batch = reader->next();
      if (!batch) {
        done = true;
        reader.reset();
      } else if (batch->num_rows() > 0) {
        readyBytes += arrow::util::TotalBufferSize(*batch);
        ready.push_back(std::move(batch));
      }
    }
  }
};

}  // namespace

std::vector<std::shared_ptr<arrow::RecordBatch>> collectAll(RunningOperator& running, Execution& execution) {
  std::vector<std::vector<std::shared_ptr<arrow::RecordBatch>>> parts(static_cast<size_t>(running.numPartitions()));
  execution.pool->runAll(running.numPartitions(), [&](int partition) {
    auto reader = running.open(partition);
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

void forEachBatch(RunningOperator& running, Execution& execution,
                  const std::function<void(const std::shared_ptr<arrow::RecordBatch>&)>& consume) {
  const int count = running.numPartitions();
  const int window = 2 * execution.pool->numSlots();
  std::deque<ReadAhead> ahead;  // the partitions from `first` on
  for (int first = 0; first < count;) {
    while (static_cast<int>(ahead.size()) < std::min(window, count - first)) ahead.emplace_back();
    execution.pool->runAll(static_cast<int>(ahead.size()), [&](int i) {
      ahead[static_cast<size_t>(i)].fill(running, first + i, execution.cancellation);
    });
    while (!ahead.empty()) {
      ReadAhead& head = ahead.front();
      for (auto& batch : head.ready) {
        execution.cancellation.throwIfCancelled();
        consume(std::exchange(batch, nullptr));
      }
      head.ready.clear();
      head.readyBytes = 0;
      if (!head.done) break;
      ahead.pop_front();
      ++first;
    }
  }
}

}  // namespace thalweg
