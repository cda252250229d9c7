// Aggregation by sessions: groups whose other keys are equal and whose sessions touch are one.
#pragma once

#include "exec/operators/groups.h"
#include "exec/operators/operator.h"
#include "expr/aggregate.h"

namespace thalweg {

// Output: one column a grouping expression, then one an aggregate; the session's window grows to hold all of
// its rows. A key's sessions come out in order of their starts.
class PhysicalSessionAggregate final : public PhysicalNode {
 public:
  // `session` numbers the grouping expression that is each row's own session.
  PhysicalSessionAggregate(SchemaPtr schema, std::vector<ExpressionPtr> grouping, size_t session,
                           Aggregates aggregates, PhysicalPtr child);
  std::unique_ptr<RunningOperator> start(Execution& execution) const override;
  std::string describe() const override;
  const std::vector<ExpressionPtr>& grouping() const { return grouping_; }
  size_t session() const { return session_; }
  const Aggregates& aggregates() const { return aggregates_; }

 private:
  std::vector<ExpressionPtr> grouping_;
  size_t session_;
  Aggregates aggregates_;
};

}  // namespace thalweg
