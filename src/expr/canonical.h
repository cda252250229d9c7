// Whether two expressions compute the same value.
#pragma once

#include <string>

#include "expr/expression.h"

namespace thalweg {

// A text equal for expressions that compute the same: kinds, types, column ids and constants, not names or aliases.
std::string canonicalText(const Expression& expression);

inline bool sameExpression(const Expression& left, const Expression& right) {
  return canonicalText(left) == canonicalText(right);
}

}  // namespace thalweg
