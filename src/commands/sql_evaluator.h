// The engine's SQL for the Delta library: constraints, generated columns, defaults, replaceWhere.
#pragma once

#include <memory>
#include <string>

#include "delta/files/expression_evaluator.h"

namespace thalweg {

// Resolves by Spark's functions under these settings. current_timestamp is the time of compile().
std::shared_ptr<const delta::ExpressionEvaluator> makeSqlEvaluator(const std::string& timeZone, bool ansi);

}  // namespace thalweg
