// Views: temporary ones of the session or the server, and stored ones.
#pragma once

#include "commands/command_session.h"
#include "sql/statements.h"

namespace thalweg {

// ALTER VIEW v AS query.
CommandResult alterView(const sql::AlterTable& statement, CommandSession& session);

// A stored view's columns: names, types and comments as they were declared.
SchemaPtr viewColumns(const TableEntry& view);

}  // namespace thalweg
