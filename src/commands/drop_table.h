// DROP TABLE and DROP VIEW, for statements and for spark.catalog.
#pragma once

#include "commands/command_session.h"
#include "sql/statements.h"

namespace thalweg {

// Removes a name: a temporary view's, or the catalog's with a managed table's files. DROP TABLE takes views
// too, as Spark's does. Throws Error TABLE_OR_VIEW_NOT_FOUND unless ifExists, WRONG_COMMAND_FOR_OBJECT_TYPE
// for DROP VIEW of a table.
void dropTable(const sql::DropTable& statement, CommandSession& session);

// Drops a table's or view's entry, and a managed table's files after it.
void dropEntry(const TableEntry& entry, CommandSession& session);

}  // namespace thalweg
