#include "plan/logical/collect_metrics.h"

namespace thalweg {

LogicalCollectMetrics::LogicalCollectMetrics(std::string name, int64_t planId,
                                             std::vector<ExpressionPtr> metrics, LogicalPtr child)
    : LogicalNode(LogicalKind::CollectMetrics, {child}, child->output()),
      name_(std::move(name)),
      planId_(planId),
      metrics_(std::move(metrics)) {}

LogicalPtr LogicalCollectMetrics::withChildren(std::vector<LogicalPtr> children) const {
  return std::make_shared<LogicalCollectMetrics>(name_, planId_, metrics_, std::move(children[0]));
}

std::string LogicalCollectMetrics::describe() const {
  std::string text = "CollectMetrics " + name_ + ", [";
  for (size_t i = 0; i < metrics_.size(); ++i) text += (i ? ", " : "") + metrics_[i]->toString();
  return text + "]";
}

}  // namespace thalweg
