// One run of a physical plan: what its operators share, and the contract of a running operator.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include <arrow/type_fwd.h>

#include "common/cancellation.h"
#include "common/task_pool.h"
#include "connector/table.h"
#include "exec/pipeline/event_times.h"
#include "exec/pipeline/observed_metrics.h"
#include "expr/batch_context.h"

namespace thalweg {

class OperatorState;

// How far event time has come for an operator in a micro-batch, in milliseconds since the epoch. Rows are late by what the
// batch before ran under; state ends by what this one runs under: with one value for both, rows that an operator emits as
// its groups end would be late for the next operator.
struct BatchWatermarks {
  int64_t lateMs = 0;
  int64_t evictionMs = 0;
};

// What one execution binds: a batch query's whole life, or one micro-batch. Outlives the running operators.
struct Execution {
  BatchContext batch;
  CancellationToken cancellation;
  TaskPool* pool = nullptr;
  // Of each streaming source of the plan: this batch's splits, and the rows that they gave (for progress).
  std::vector<std::vector<SplitPtr>> streamSplits;
  std::deque<std::atomic<int64_t>> streamRows;
  // Tables of the plan that have changed since it was made, as this execution reads them; their schemas are the same.
  std::unordered_map<const Table*, std::shared_ptr<Table>> newerTables;
  // Of each watermark of the plan: the event times of this batch's rows.
  std::deque<SharedEventTimes> eventTimes;
  // Of each stateful operator of the plan, by its number: the watermarks of its input (exec/state/input_watermarks.h), and
  // its state, which is the query's and is kept between batches.
  std::vector<BatchWatermarks> watermarks;
  std::vector<OperatorState*> states;
  // Of each observe() of the plan: what it saw, once all rows have gone by. Called once each, before the plan goes.
  std::vector<std::function<ObservedMetrics()>> observations;

  EvaluationContext evaluation(int partition = 0) const { return EvaluationContext{&batch, nullptr, partition}; }
};

// An operator while it runs. Its partitions are opened once each, by any threads at once; a reader serves one thread at a time.
// Operators that need all their input first (aggregation, sorting) read it when their first partition is opened; those with
// state (exec/state/) when they are started.
class RunningOperator {
 public:
  virtual ~RunningOperator() = default;
  virtual int numPartitions() const = 0;
  virtual std::unique_ptr<BatchReader> open(int partition) = 0;
};

// All batches of all partitions, in order of partitions; partitions are read in parallel.
std::vector<std::shared_ptr<arrow::RecordBatch>> collectAll(RunningOperator& running, Execution& execution);

// Hands over the same batches in the same order, on the caller's thread, as they come: partitions are read in parallel, but
// only a few ahead, each by a few megabytes, so that a slow consumer holds neither the pool's threads nor a large result.
// Throws what a reader or `consume` throws, and Error of the execution's cancellation.
void forEachBatch(RunningOperator& running, Execution& execution,
                  const std::function<void(const std::shared_ptr<arrow::RecordBatch>&)>& consume);

}  // namespace thalweg
