// The engine's SQL for the Delta library: constraints, generated columns, defaults, replaceWhere.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "connector/registry.h"
#include "delta/files/expression_evaluator.h"

namespace thalweg {

// Resolves by Spark's functions under these settings. current_timestamp is the time of compile(). `replaced`:
// rows whose text stands for the condition that they were chosen by, which is not parsed.
std::shared_ptr<const delta::ExpressionEvaluator> makeSqlEvaluator(
    const std::string& timeZone, bool ansi, std::optional<ReplacedRows> replaced = std::nullopt);

}  // namespace thalweg
