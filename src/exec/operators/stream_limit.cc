#include "exec/operators/stream_limit.h"

#include <algorithm>

#include <arrow/record_batch.h>

#include "exec/state/count_state.h"

namespace thalweg {
namespace {

class LimitReader final : public BatchReader {
 public:
  LimitReader(RunningOperator& input, int64_t limit, CountState& state, StateMetrics& metrics,
              const CancellationToken& cancellation)
      : input_(input), limit_(limit), state_(state), metrics_(metrics), cancellation_(cancellation) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    while (partition_ < input_.numPartitions() && state_.count() < limit_) {
      cancellation_.throwIfCancelled();
      if (!reader_) reader_ = input_.open(partition_);
      auto batch = reader_->next();
      if (!batch) {
        reader_ = nullptr;
        ++partition_;
        continue;
      }
      if (batch->num_rows() == 0) continue;
      const int64_t passed = std::min(batch->num_rows(), limit_ - state_.count());
      if (state_.add(passed)) ++metrics_.rowsUpdated;
      return batch->Slice(0, passed);
    }
    return nullptr;
  }

 private:
  RunningOperator& input_;
  int64_t limit_;
  CountState& state_;
  StateMetrics& metrics_;
  const CancellationToken& cancellation_;
  std::unique_ptr<BatchReader> reader_;
  int partition_ = 0;
};

class RunningLimit final : public RunningOperator {
 public:
  RunningLimit(std::unique_ptr<RunningOperator> input, int64_t limit, OperatorState& state,
               const CancellationToken& cancellation)
      : input_(std::move(input)), limit_(limit), state_(state), cancellation_(cancellation) {}
  int numPartitions() const override { return 1; }
  std::unique_ptr<BatchReader> open(int) override {
    return std::make_unique<LimitReader>(*input_, limit_, static_cast<CountState&>(state_.partition(0, 0)),
                                         state_.metrics(), cancellation_);
  }

 private:
  std::unique_ptr<RunningOperator> input_;
  int64_t limit_;
  OperatorState& state_;
  const CancellationToken& cancellation_;
};

}  // namespace

PhysicalStreamLimit::PhysicalStreamLimit(int64_t limit, int operatorId, PhysicalPtr child)
    : StatefulNode(child->schema(), {child}, operatorId), limit_(limit) {}

std::unique_ptr<RunningOperator> PhysicalStreamLimit::start(Execution& execution) const {
  OperatorState& state = *execution.states.at(static_cast<size_t>(operatorId()));
  return std::make_unique<RunningLimit>(children()[0]->start(execution), limit_, state,
                                        execution.cancellation);
}

std::string PhysicalStreamLimit::describe() const {
  return "StreamingGlobalLimit " + std::to_string(limit_) + ", state " + std::to_string(operatorId());
}

std::vector<StoreDefinition> PhysicalStreamLimit::stores() const {
  return {CountState::store()};
}

std::vector<std::unique_ptr<StorePartition>> PhysicalStreamLimit::makePartition() const {
  std::vector<std::unique_ptr<StorePartition>> stores;
  stores.push_back(std::make_unique<CountState>());
  return stores;
}

}  // namespace thalweg
