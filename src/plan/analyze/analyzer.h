// Spark Connect's unresolved plans to resolved logical plans: the only reader of the messages' meaning.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/options.h"
#include "connector/registry.h"
#include "functions/registry.h"
#include "plan/logical/node.h"

namespace spark::connect {
class Expression;
class Relation;
}  // namespace spark::connect

namespace thalweg {

// What analysis may ask of its session. The functions may throw Error; they outlive the analysis.
struct AnalyzerContext {
  FunctionContext functions;
  const FormatRegistry* formats = nullptr;
  std::string defaultFormat = "parquet";
  int defaultParallelism = 2;
  // A name → its plan: a temporary view's, a catalog table's; null where there is none. `options`: the reader's.
  std::function<LogicalPtr(const std::vector<std::string>& name, const Options& options, bool streaming)> findRelation;
  // An uploaded artifact ("cache/<hash>"), whole. Throws where it is missing.
  std::function<std::string(const std::string& hash)> cachedArtifact;
  // The rows that a show_string relation draws: runs the plan. Bound by the session, for drawing needs results.
  std::function<LogicalPtr(const LogicalPtr& plan, int numRows, int truncate, bool vertical)> drawRows;
};

// Resolves one plan. Used once, by one thread; throws Error (AnalysisException kinds) naming what does not resolve.
LogicalPtr analyzeRelation(const spark::connect::Relation& relation, const AnalyzerContext& context);

// Parses "a.b.`c.d`" into its parts. Throws Error PARSE_SYNTAX_ERROR.
std::vector<std::string> parseNameParts(const std::string& name);

}  // namespace thalweg
