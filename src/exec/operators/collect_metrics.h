// observe(): aggregates over the rows that go by.
#pragma once

#include "exec/operators/groups.h"
#include "exec/operators/operator.h"
#include "expr/expression.h"

namespace thalweg {

// Passes batches on as they are. When the execution is over, its observations have a row of the metrics, of
// the rows that were read here.
class PhysicalCollectMetrics final : public PhysicalNode {
 public:
  // `results` are the metrics over the aggregates' results, one column an aggregate; `metrics` is their
  // schema.
  PhysicalCollectMetrics(std::string name, int64_t planId, SchemaPtr metrics, Aggregates aggregates,
                         SchemaPtr aggregated, std::vector<ExpressionPtr> results, PhysicalPtr child);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;

 private:
  // The metrics of all partitions' rows.
  ObservedMetrics observe(std::vector<std::unique_ptr<Groups>>& parts, Execution& execution) const;

  std::string name_;
  int64_t planId_;
  SchemaPtr metrics_;
  std::vector<ExpressionPtr> grouping_;  // none
  Aggregates aggregates_;
  SchemaPtr aggregated_;
  std::vector<ExpressionPtr> results_;
};

}  // namespace thalweg
