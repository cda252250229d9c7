// Constants as messages carry them.
#pragma once

#include "expr/expression.h"

namespace spark::connect {
class Expression_Literal;
}

namespace thalweg {

ExpressionPtr fromProtoLiteral(const spark::connect::Expression_Literal& message);

}  // namespace thalweg
