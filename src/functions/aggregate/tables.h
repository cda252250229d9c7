// The parts of the table of aggregate functions, and how their rows make a call.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "functions/aggregate/accumulators.h"
#include "functions/registry.h"

namespace thalweg {

// A call of an aggregate function whose running values `make` gives; DISTINCT where the call says so.
// `orderMatters`: of a group's values, to the result.
ExpressionPtr makeAggregateCall(const FunctionCall& call, std::string name,
                                std::vector<ExpressionPtr> arguments, DataTypePtr type, bool nullable,
                                AggregateCall::Factory make, bool orderMatters = false);
// As Spark prints it, where the arguments are not those that the function computes with.
ExpressionPtr printedAs(const ExpressionPtr& aggregate, std::string text, std::string tail = {});
// name(a, b) over the call's own arguments.
std::string callText(const FunctionCall& call);

std::span<const FunctionRow> summaryFunctions();  // count, sum, min, first, …
std::span<const FunctionRow>
statisticFunctions();  // variances, correlations, percentiles, approximate counts
std::span<const FunctionRow> collectingFunctions();  // lists, sets, joined strings

}  // namespace thalweg
