// All rows of a table anew, for its new schema or properties.
#pragma once

#include <memory>

#include "commands/command_session.h"
#include "delta/commit/commit_info.h"
#include "delta/snapshot/delta_log.h"

namespace thalweg {

// One commit that sets the metadata and has each live file's rows written again under it, file by file on the
// session's pool; rows, their order and columns stay (dataChange false). Another writer's commit meanwhile is
// a conflict, which is thrown. Rows keep their ids where the table tracks them; throws movedRowsLayout's errors.
void rewriteTable(const std::shared_ptr<delta::DeltaLog>& log, const delta::SnapshotPtr& snapshot,
                  delta::Metadata metadata, delta::Operation operation, CommandSession& session);

}  // namespace thalweg
