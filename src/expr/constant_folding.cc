#include "expr/constant_folding.h"

#include <arrow/scalar.h>

#include "common/error.h"
#include "expr/nodes.h"

namespace thalweg {

ExpressionPtr foldConstant(const ExpressionPtr& expression, const EvaluationContext& constants, Foldability least) {
  const ExpressionKind kind = expression->kind();
  if (kind == ExpressionKind::Literal || kind == ExpressionKind::Aggregate || kind == ExpressionKind::SortOrder) return expression;
  if (expression->foldability() < least) return expression;
  try {
    return std::make_shared<Literal>(evaluateConstant(*expression, constants), expression->type());
  } catch (const Error&) {
    return expression;
  }
}

ExpressionPtr foldConstants(const ExpressionPtr& expression, const EvaluationContext& constants, Foldability least) {
  return transformUp(expression, [&](const ExpressionPtr& part) { return foldConstant(part, constants, least); });
}

}  // namespace thalweg
