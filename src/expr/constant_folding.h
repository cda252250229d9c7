// Constants computed ahead of the rows.
#pragma once

#include "expr/expression.h"

namespace thalweg {

// The node as a literal where it is constant; itself where it is not, or where its evaluation fails: a constant that fails
// (1/0) fails only for rows that reach it. `least` OncePerBatch also takes what one batch has one value of, for expressions
// that are used in that batch alone.
ExpressionPtr foldConstant(const ExpressionPtr& expression, const EvaluationContext& constants,
                           Foldability least = Foldability::Always);

// The whole tree, bottom-up.
ExpressionPtr foldConstants(const ExpressionPtr& expression, const EvaluationContext& constants,
                            Foldability least = Foldability::Always);

}  // namespace thalweg
