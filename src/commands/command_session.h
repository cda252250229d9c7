// What a statement may ask of the session that runs it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "catalog/catalog.h"
#include "common/cancellation.h"
#include "common/task_pool.h"
#include "connector/registry.h"
#include "delta/snapshot/delta_log.h"
#include "plan/analyze/analyzer.h"
#include "plan/logical/node.h"

namespace spark::connect {
class Expression;
class Relation;
}  // namespace spark::connect

namespace thalweg {

// The rows that a statement answers with; none for most.
struct CommandResult {
  SchemaPtr schema = DataType::structOf({});
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches = {};
};

// Temporary views: of the session, or of all sessions of the server (global_temp).
enum class TempViews { Session, Global };

// Implemented by session/. Calls come from the statement's thread; what they throw ends the statement.
class CommandSession {
 public:
  virtual ~CommandSession() = default;

  // the server's
  virtual Catalog& catalog() = 0;
  virtual const FormatRegistry& formats() = 0;
  // The handle that all who use the table at this place share.
  virtual std::shared_ptr<delta::DeltaLog> deltaLog(const Location& table) = 0;

  // the session's names and settings
  virtual NameScope names() = 0;
  virtual void setNames(NameScope names) = 0;
  virtual std::optional<std::string> lookUp(const std::string& key) const = 0;
  virtual void setSetting(const std::string& key, const std::string& value) = 0;
  virtual void resetSetting(const std::optional<std::string>& key) = 0;  // none: all of them

  // Names of temporary views ignore case. add throws Error TEMP_TABLE_OR_VIEW_ALREADY_EXISTS where the name
  // is taken and may not be replaced; drop answers whether there was one.
  virtual void addTempView(TempViews where, const std::string& name, LogicalPtr plan, bool replace) = 0;
  virtual bool dropTempView(TempViews where, const std::string& name) = 0;
  virtual LogicalPtr findTempView(TempViews where, const std::string& name) = 0;  // null: none
  virtual std::vector<std::string> tempViews(TempViews where) = 0;                // sorted

  // Whole names of tables that the session was told to cache: an answer to isCached, no more.
  virtual void setCached(const std::string& name, bool cached) = 0;
  virtual bool isCached(const std::string& name) = 0;
  virtual void clearCached() = 0;

  // plans
  virtual LogicalPtr resolve(const spark::connect::Relation& query) = 0;
  // As resolve, for a query that outlives the session: Error INVALID_TEMP_OBJ_REFERENCE where it reads a
  // temporary view, RECURSIVE_VIEW where it reads `view`, which it is to define.
  virtual LogicalPtr resolveForView(const spark::connect::Relation& query, const TableName& view) = 0;
  // A constant's value, cast to a type by the rules of an INSERT.
  virtual ExpressionPtr resolveConstant(const spark::connect::Expression& value) = 0;
  virtual std::string explain(const LogicalPtr& plan, bool extended) = 0;
  // Runs the plan into the write and commits it.
  virtual void run(const LogicalPtr& plan, BatchWrite& write) = 0;
  // Of a statement that runs now.
  virtual BatchContext batchContext() const = 0;
  // For expressions of the statement's own (plan/analyze/row_changes.h).
  virtual AnalyzerContext analyzerContext() = 0;
  virtual TaskPool& pool() = 0;
  virtual const CancellationToken& cancellation() const = 0;
};

}  // namespace thalweg
