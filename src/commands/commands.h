// The front door of commands/: parsed statements that are no queries.
#pragma once

#include <string>

#include "commands/command_session.h"
#include "sql/statements.h"

namespace thalweg {

// Runs one statement; `text` is what it was parsed from, for messages. Throws Error of the statement, and
// unsupported() for what is not built. Must not be a query (sql::Query).
CommandResult runStatement(const sql::Statement& statement, const std::string& text, CommandSession& session);

}  // namespace thalweg
