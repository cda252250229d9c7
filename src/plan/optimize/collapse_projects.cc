// Adjacent projections become one where no computed column would be computed twice: long withColumn chains cost one pass.
#include <map>

#include "plan/optimize/optimizer.h"

namespace thalweg {
namespace {

void countReferences(const Expression& expression, std::map<ExpressionId, int>* counts) {
  if (expression.kind() == ExpressionKind::Attribute) ++(*counts)[static_cast<const Attribute&>(expression).id()];
  for (const ExpressionPtr& child : expression.children()) countReferences(*child, counts);
}

bool isCheap(const Expression& expression) {
  const Expression& inner = expression.kind() == ExpressionKind::Alias ? *expression.children()[0] : expression;
  return inner.kind() == ExpressionKind::Attribute || inner.kind() == ExpressionKind::Literal ||
         (inner.kind() == ExpressionKind::Field && isCheap(*inner.children()[0])) ||
         inner.foldability() == Foldability::OncePerBatch;
}

bool mayCollapse(const LogicalProject& upper, const LogicalProject& lower) {
  std::map<ExpressionId, int> uses;
  for (const ExpressionPtr& expression : upper.expressions()) countReferences(*expression, &uses);
  for (const ExpressionPtr& expression : lower.expressions()) {
    if (expression->kind() != ExpressionKind::Alias || isCheap(*expression)) continue;
    const int count = uses[static_cast<const Alias&>(*expression).id()];
    if (count > 1 || (count > 0 && !expression->deterministic())) return false;
  }
  return true;
}

}  // namespace

LogicalPtr collapseProjects(const LogicalPtr& plan) {
  return transformUp(plan, [](const LogicalPtr& node) -> LogicalPtr {
    if (node->kind() != LogicalKind::Project || node->child()->kind() != LogicalKind::Project) return node;
    const auto& upper = static_cast<const LogicalProject&>(*node);
    const auto& lower = static_cast<const LogicalProject&>(*node->child());
    if (!mayCollapse(upper, lower)) return node;
    std::map<ExpressionId, ExpressionPtr> definitions;
    for (const ExpressionPtr& expression : lower.expressions()) {
      if (expression->kind() == ExpressionKind::Alias) {
        definitions[static_cast<const Alias&>(*expression).id()] = expression;
      }
    }
    std::vector<ExpressionPtr> merged;
    for (const ExpressionPtr& expression : upper.expressions()) {
      if (expression->kind() == ExpressionKind::Attribute) {
        // A passed-on column keeps its definition's name and id.
        auto it = definitions.find(static_cast<const Attribute&>(*expression).id());
        merged.push_back(it == definitions.end() ? expression : it->second);
        continue;
      }
      merged.push_back(transformUp(expression, [&](const ExpressionPtr& e) -> ExpressionPtr {
        if (e->kind() != ExpressionKind::Attribute) return e;
        auto it = definitions.find(static_cast<const Attribute&>(*e).id());
        return it == definitions.end() ? e : it->second->children()[0];
      }));
    }
    return std::make_shared<LogicalProject>(std::move(merged), lower.child());
  });
}

}  // namespace thalweg
