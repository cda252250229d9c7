#include "commands/cache.h"

#include "commands/statements.h"
#include "commands/table_target.h"
#include "common/error.h"

namespace thalweg {

std::string requireName(const sql::Name& name, CommandSession& session) {
  if (isPathName(name)) return quotedName(name);
  if (findTemporaryView(name, session)) return toLowerAscii(quotedName(name));
  const auto entry = findEntry(name, session);
  if (!entry) throw nameNotFound(name);
  return entry->name.quoted();
}

CommandResult run(const sql::Refresh& statement, CommandSession& session) {
  if (!statement.path) requireName(statement.table, session);
  return {};
}

CommandResult run(const sql::Cache& statement, CommandSession& session) {
  if (statement.query) throw unsupported("CACHE TABLE … AS (make a temporary view)");
  session.setCached(requireName(statement.table, session), true);
  return {};
}

CommandResult run(const sql::Uncache& statement, CommandSession& session) {
  if (statement.table.empty()) {
    session.clearCached();
    return {};
  }
  if (statement.ifExists && !isPathName(statement.table) && !findEntry(statement.table, session)) return {};
  session.setCached(requireName(statement.table, session), false);
  return {};
}

}  // namespace thalweg
