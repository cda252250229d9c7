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
class Catalog;
class Expression;
class Relation;
}  // namespace spark::connect

namespace delta::connect {
class DeltaRelation;
}

namespace thalweg {

// What analysis may ask of its session. The functions may throw Error; they outlive the analysis.
struct AnalyzerContext {
  FunctionContext functions;
  const FormatRegistry* formats = nullptr;
  std::string defaultFormat = "parquet";
  Options readSettings = {};  // the session's, for readers of files: options under the settings' own names
  int defaultParallelism = 2;
  bool padsChars = true;        // spark.sql.readSideCharPadding: CHAR columns of tables come padded
  int shufflePartitions = 200;  // spark.sql.shuffle.partitions
  // A name → its plan: a temporary view's, a catalog table's; null where there is none. `options`: the
  // reader's.
  std::function<LogicalPtr(const std::vector<std::string>& name, const Options& options, bool streaming)> findRelation;
  // What current_catalog() and current_schema() say.
  std::string currentCatalog;
  std::string currentSchema;
  // The rows of a spark.catalog call, which is carried out.
  std::function<LogicalPtr(const spark::connect::Catalog& query)> catalogQuery;
  // The rows of a relation of Delta's client, which is carried out (delta_messages.h).
  std::function<LogicalPtr(::delta::connect::DeltaRelation& query)> deltaQuery;
  // An uploaded artifact ("cache/<hash>"), whole. Throws where it is missing.
  std::function<std::string(const std::string& hash)> cachedArtifact;
  // The rows that a show_string relation draws: runs the plan. Bound by the session, for drawing needs results.
  std::function<LogicalPtr(const LogicalPtr& plan, int numRows, int truncate, bool vertical)> drawRows;
  // The rows of a plan that analysis itself needs (the values of a pivot's column): runs it.
  std::function<std::vector<std::shared_ptr<arrow::RecordBatch>>(const LogicalPtr& plan)> collectRows;
};

// Resolves one plan. Used once, by one thread; throws Error (AnalysisException kinds) naming what does not resolve.
LogicalPtr analyzeRelation(const spark::connect::Relation& relation, const AnalyzerContext& context);

// A batch scan of a table, and a streaming one of a format: all columns, the hidden ones last; pruning leaves what is used.
// `padsChars`: values of CHAR columns come at their full length.
LogicalPtr tableScan(const std::shared_ptr<Table>& table, bool padsChars);
LogicalPtr streamScan(const FormatProvider& provider, const ReadDefinition& definition, const FileSystemRegistry& files);

}  // namespace thalweg
