// ALTER TABLE … DROP FEATURE.
#pragma once

#include "commands/command_session.h"
#include "sql/statements.h"

namespace thalweg {

// As Delta does it: what uses the feature in the newest version is removed (in commits of its own); for
// features that readers must know, three checkpoints follow, which the feature checkpointProtection then
// keeps; the last commit takes the feature out of the protocol, which becomes the lowest that says the same.
// With TRUNCATE HISTORY the history is cut instead, and the statement fails as long as a version in it uses
// the feature. Tables with column mapping, or with columns whose types were widened, are written anew for it.
// Throws Error DELTA_FEATURE_DROP_…, and as rewriteTable.
void dropFeature(const sql::AlterTable& statement, CommandSession& session);

}  // namespace thalweg
