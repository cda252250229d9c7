// Hash aggregation: every partition is grouped on its own, then the groups are merged.
#pragma once

#include "exec/operators/operator.h"
#include "expr/aggregate.h"

namespace thalweg {

// Output: the grouping expressions' values, then one column an aggregate. Without groups there is exactly one row, also
// over no input.
class PhysicalAggregate final : public PhysicalNode {
 public:
  PhysicalAggregate(SchemaPtr schema, std::vector<ExpressionPtr> grouping,
                    std::vector<std::shared_ptr<const AggregateCall>> aggregates, PhysicalPtr child);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;
  const std::vector<ExpressionPtr>& grouping() const { return grouping_; }
  const std::vector<std::shared_ptr<const AggregateCall>>& aggregates() const { return aggregates_; }

 private:
  std::vector<ExpressionPtr> grouping_;
  std::vector<std::shared_ptr<const AggregateCall>> aggregates_;
};

// One row for each distinct value of some columns: the first that comes, but for the floats in these, which come out as keys
// have them (columnar/normalized_floats.h).
class PhysicalDeduplicate final : public PhysicalNode {
 public:
  PhysicalDeduplicate(std::vector<int> keys, PhysicalPtr child);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override { return "Deduplicate"; }

 private:
  std::vector<int> keys_;  // columns of the child
};

}  // namespace thalweg
