// Names that a session asked to be cached. Tables are read as they are at each query, so that nothing is
// kept: the names are checked, as Spark does, and remembered for isCached.
#pragma once

#include <string>

#include "commands/command_session.h"
#include "sql/statements.h"

namespace thalweg {

// The whole name of a table, view or path. Throws Error TABLE_OR_VIEW_NOT_FOUND.
std::string requireName(const sql::Name& name, CommandSession& session);

}  // namespace thalweg
