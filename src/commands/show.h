// What SHOW lists, for statements and for spark.catalog.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/command_session.h"
#include "sql/statements.h"

namespace thalweg {

// A table, a view or a temporary view as it is listed.
struct ListedName {
  std::string schema;  // empty for a session's temporary view
  std::string name;
  bool temporary = false;
  std::optional<TableEntry> entry = {};
};

// Tables and views of a schema (the current one where `schema` is empty) whose names match, and the temporary
// views that are seen from everywhere, at the end. Throws Error SCHEMA_NOT_FOUND.
std::vector<ListedName> listNames(const sql::Name& schema, const std::optional<std::string>& pattern,
                                  bool viewsOnly, CommandSession& session);

// Names of the functions that there are, sorted.
std::vector<std::string> functionNames(const std::optional<std::string>& pattern);

// A stored view's CREATE VIEW. Throws Error DELTA_OPERATION_NOT_ALLOWED for a Delta table, as Delta does.
std::string createStatement(const sql::Name& name, CommandSession& session);

// A Delta table's partitions: a row for each, of the partition columns. Throws Error for other tables.
CommandResult listPartitions(const sql::Name& name, CommandSession& session);

}  // namespace thalweg
