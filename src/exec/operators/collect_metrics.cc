#include "exec/operators/collect_metrics.h"

#include <arrow/record_batch.h>

#include "types/arrow_types.h"

namespace thalweg {
namespace {

class ObservingReader final : public BatchReader {
 public:
  ObservingReader(std::unique_ptr<BatchReader> input, Groups& groups, EvaluationContext context)
      : input_(std::move(input)), groups_(groups), context_(context) {}
  std::shared_ptr<arrow::RecordBatch> next() override {
    auto batch = input_->next();
    if (batch && batch->num_rows() > 0) groups_.add(*batch, context_);
    return batch;
  }

 private:
  std::unique_ptr<BatchReader> input_;
  Groups& groups_;
  EvaluationContext context_;
};

}  // namespace

PhysicalCollectMetrics::PhysicalCollectMetrics(std::string name, int64_t planId, SchemaPtr metrics,
                                               Aggregates aggregates, SchemaPtr aggregated,
                                               std::vector<ExpressionPtr> results, PhysicalPtr child)
    : PhysicalNode(child->schema(), {child}),
      name_(std::move(name)),
      planId_(planId),
      metrics_(std::move(metrics)),
      aggregates_(std::move(aggregates)),
      aggregated_(std::move(aggregated)),
      results_(std::move(results)) {}

std::unique_ptr<RunningOperator> PhysicalCollectMetrics::start(Execution& execution) const {
  auto input = children()[0]->start(execution);
  auto parts =
      std::make_shared<std::vector<std::unique_ptr<Groups>>>(static_cast<size_t>(input->numPartitions()));
  execution.observations.push_back([this, parts, &execution] { return observe(*parts, execution); });
  return wrapReaders(std::move(input), [this, parts, &execution](auto reader, int partition) {
    const EvaluationContext context = execution.evaluation(partition);
    auto& groups = (*parts)[static_cast<size_t>(partition)];
    groups = std::make_unique<Groups>(grouping_, aggregates_, context.memoryPool());
    return std::make_unique<ObservingReader>(std::move(reader), *groups, context);
  });
}

ObservedMetrics PhysicalCollectMetrics::observe(std::vector<std::unique_ptr<Groups>>& parts,
                                                Execution& execution) const {
  const EvaluationContext context = execution.evaluation();
  Groups total(grouping_, aggregates_, context.memoryPool());
  for (const auto& part : parts) {
    if (part) total.merge(*part);
  }
  const uint32_t only = 0;
  const auto values =
      resultBatches(*aggregated_, {}, total.aggregators(), {&only, 1}, context.memoryPool()).at(0);
  arrow::ArrayVector columns;
  for (const ExpressionPtr& result : results_)
    columns.push_back(evaluateToArray(*result, *values, Selection::all(1), context));
  return {name_, planId_, metrics_,
          arrow::RecordBatch::Make(toArrowSchema(*metrics_), 1, std::move(columns))};
}

std::string PhysicalCollectMetrics::describe() const {
  std::string text = "CollectMetrics " + name_ + ", [";
  for (size_t i = 0; i < results_.size(); ++i) text += (i ? ", " : "") + results_[i]->toString();
  return text + "]";
}

}  // namespace thalweg
