// Logical expressions over a node's input become physical ones.
#pragma once

#include <unordered_map>
#include <vector>

#include "expr/constant_folding.h"
#include "expr/nodes.h"
#include "plan/logical/node.h"

namespace thalweg {

// Replaces columns by their positions in a child's output and folds what is constant. `constants`, which
// outlives it, gives time and zone for that. Safe on any thread.
class Binder {
 public:
  Binder(const std::vector<AttributePtr>& input, const BatchContext& constants);

  // Throws internalError for a column that is not among the input.
  ExpressionPtr bind(const ExpressionPtr& expression) const;
  std::vector<ExpressionPtr> bindAll(const std::vector<ExpressionPtr>& expressions) const;

 private:
  EvaluationContext constants_;
  std::unordered_map<ExpressionId, int> ordinals_;
};

// A node's own output as physical schema: hidden columns included.
SchemaPtr fullSchema(const std::vector<AttributePtr>& output);

}  // namespace thalweg
