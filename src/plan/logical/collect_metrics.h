// observe(): aggregates over the rows that pass a point of a plan.
#pragma once

#include "plan/logical/node.h"

namespace thalweg {

// Passes rows on as they are, and reports the metrics under the name: Aliases over aggregate functions of the
// child's rows.
class LogicalCollectMetrics final : public LogicalNode {
 public:
  // `planId`: the client's number of the relation, by which its answer is told apart.
  LogicalCollectMetrics(std::string name, int64_t planId, std::vector<ExpressionPtr> metrics,
                        LogicalPtr child);
  const std::string& name() const { return name_; }
  int64_t planId() const { return planId_; }
  const std::vector<ExpressionPtr>& metrics() const { return metrics_; }
  LogicalPtr withChildren(std::vector<LogicalPtr> children) const override;
  std::string describe() const override;

 private:
  std::string name_;
  int64_t planId_;
  std::vector<ExpressionPtr> metrics_;
};

}  // namespace thalweg
