// +, −, *, /, %, div, unary minus over numbers, under ANSI and legacy rules; dates ± days.
#pragma once

#include "functions/registry.h"

namespace thalweg {

ExpressionPtr resolveArithmetic(const FunctionCall& call, const FunctionContext& context);
ExpressionPtr resolveNegative(const FunctionCall& call, const FunctionContext& context);

}  // namespace thalweg
