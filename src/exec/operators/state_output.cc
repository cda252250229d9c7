#include "exec/operators/state_output.h"

#include <algorithm>
#include <utility>

#include <arrow/record_batch.h>

namespace thalweg {
namespace {

using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

class Output final : public RunningOperator {
 public:
  Output(std::vector<Batches> ofStatePartition, int numPartitions)
      : parts_(static_cast<size_t>(numPartitions)) {
    for (size_t i = 0; i < ofStatePartition.size(); ++i) {
      Batches& part = parts_[i % parts_.size()];
      part.insert(part.end(), ofStatePartition[i].begin(), ofStatePartition[i].end());
    }
  }
  int numPartitions() const override { return static_cast<int>(parts_.size()); }
  std::unique_ptr<BatchReader> open(int partition) override {
    return readBatches(std::move(parts_[static_cast<size_t>(partition)]));
  }

 private:
  std::vector<Batches> parts_;
};

}  // namespace

std::unique_ptr<RunningOperator> outputOf(std::vector<Batches> ofStatePartition, int numPartitions) {
  return std::make_unique<Output>(std::move(ofStatePartition), numPartitions);
}

std::unique_ptr<RunningOperator> runStatePartitions(Execution& execution, int numStatePartitions,
                                                    const std::function<Batches(int partition)>& run) {
  std::vector<Batches> results(static_cast<size_t>(numStatePartitions));
  execution.pool->runAll(numStatePartitions, [&](int partition) {
    execution.cancellation.throwIfCancelled();
    results[static_cast<size_t>(partition)] = run(partition);
  });
  return outputOf(std::move(results), std::min(numStatePartitions, execution.pool->numSlots()));
}

}  // namespace thalweg
