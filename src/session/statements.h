// SQL statements that are no queries: settings, views, DESCRIBE of Delta tables, EXPLAIN. What is not built is refused by name.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "connector/registry.h"
#include "plan/logical/node.h"
#include "session/delta_logs.h"

namespace spark::connect {
class Relation;
}

namespace thalweg {

// What a statement may ask of its session.
struct StatementContext {
  const FormatRegistry* formats = nullptr;
  DeltaLogs* deltaLogs = nullptr;
  std::string timeZone = "UTC";
  std::function<LogicalPtr(const spark::connect::Relation&)> resolve;
  std::function<std::string(const LogicalPtr&, bool extended)> explain;
  std::function<void(const std::string& key, const std::string& value)> setSetting;
  std::function<std::optional<std::string>(const std::string& key)> getSetting;
  std::function<void(const std::string& name, const LogicalPtr& plan, bool replace)> addView;
  std::function<bool(const std::string& name)> hasView;
  std::function<bool(const std::string& name)> dropView;  // false: there was none
};

struct StatementResult {
  SchemaPtr schema = DataType::structOf({});
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
};

// True for a text whose answer is a query's: SELECT, VALUES, WITH … Throws Error PARSE_SYNTAX_ERROR.
bool isQuery(const std::string& text);

// Parses and runs one statement that is no query.
StatementResult runStatement(const std::string& text, const StatementContext& context);

}  // namespace thalweg
