// REFRESH, CACHE and UNCACHE: tables are read as they are at each query, so that there is nothing to keep or to forget. The
// names are checked, as Spark does.
#include "commands/statements.h"
#include "commands/table_target.h"
#include "common/error.h"

namespace thalweg {
namespace {

void requireName(const sql::Name& name, CommandSession& session) {
  if (isPathName(name)) return;
  if (name.size() == 1 && session.findTempView(TempViews::Session, name[0])) return;
  if (name.size() == 2 && equalsIgnoreCase(name[0], kGlobalTempSchema) && session.findTempView(TempViews::Global, name[1])) return;
  if (!findEntry(name, session)) throw nameNotFound(name);
}

}  // namespace

CommandResult run(const sql::Refresh& statement, CommandSession& session) {
  if (!statement.path) requireName(statement.table, session);
  return {};
}

CommandResult run(const sql::Cache& statement, CommandSession& session) {
  if (statement.query) throw unsupported("CACHE TABLE … AS (make a temporary view)");
  requireName(statement.table, session);
  return {};
}

CommandResult run(const sql::Uncache& statement, CommandSession& session) {
  if (!statement.table.empty() && !statement.ifExists) requireName(statement.table, session);
  return {};
}

}  // namespace thalweg
