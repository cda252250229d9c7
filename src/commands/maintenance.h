// Statements that keep Delta tables fast and small; each lies in the file of its name (REORG in optimize.cc).
#pragma once

#include "commands/command_session.h"
#include "sql/statements.h"

namespace thalweg {

CommandResult run(const sql::Optimize& statement, CommandSession& session);
CommandResult run(const sql::Reorg& statement, CommandSession& session);
CommandResult run(const sql::Vacuum& statement, CommandSession& session);
CommandResult run(const sql::Restore& statement, CommandSession& session);

}  // namespace thalweg
