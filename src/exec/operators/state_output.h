// What the runs of stateful operators have in common: their clock, their tasks, and how their rows come out.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <vector>

#include "exec/operators/operator.h"

namespace thalweg {

inline constexpr int64_t kMicrosPerMilli = 1000;

// Adds the milliseconds until its end to a metric.
class MetricStopwatch {
 public:
  explicit MetricStopwatch(std::atomic<int64_t>& total) : total_(total) {}
  ~MetricStopwatch() {
    total_ += std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start_)
                  .count();
  }

 private:
  std::atomic<int64_t>& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The batches of the state's partitions as an operator of `numPartitions`, each with those of several: a sink
// makes a file of each.
std::unique_ptr<RunningOperator> outputOf(
    std::vector<std::vector<std::shared_ptr<arrow::RecordBatch>>> ofStatePartition, int numPartitions);

// The batches that `run` gives for each partition of the state, a task a partition, as an operator: see outputOf.
std::unique_ptr<RunningOperator> runStatePartitions(
    Execution& execution, int numStatePartitions,
    const std::function<std::vector<std::shared_ptr<arrow::RecordBatch>>(int partition)>& run);

}  // namespace thalweg
