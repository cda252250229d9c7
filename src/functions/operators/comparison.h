// =, <=>, <, <=, >, >= over any type with an order (equality also over what Spark can compare).
#pragma once

#include "functions/registry.h"

namespace thalweg {

ExpressionPtr resolveComparison(const FunctionCall& call, const FunctionContext& context);
ExpressionPtr resolveNullSafeEqual(const FunctionCall& call, const FunctionContext& context);
ExpressionPtr resolveIn(const FunctionCall& call, const FunctionContext& context);

}  // namespace thalweg
