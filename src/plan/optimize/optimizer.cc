#include "plan/optimize/optimizer.h"

namespace thalweg {

LogicalPtr optimize(const LogicalPtr& plan) {
  return pruneColumns(pushDownPredicates(collapseProjects(pushDownFilters(plan))));
}

}  // namespace thalweg
