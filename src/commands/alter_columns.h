// ALTER TABLE … COLUMN(S) of Delta tables: changes of the schema alone, no file is written.
#pragma once

#include "commands/command_session.h"
#include "sql/statements.h"

namespace thalweg {

// ADD, REPLACE, DROP, RENAME and ALTER COLUMN, with TYPE of tables with delta.enableTypeWidening. Throws
// Delta's errors: DELTA_UNSUPPORTED_DROP_COLUMN and DELTA_UNSUPPORTED_RENAME_COLUMN without column mapping,
// FIELD_ALREADY_EXISTS, DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP …
void alterColumns(const sql::AlterTable& statement, CommandSession& session);

// ADD and DROP CONSTRAINT. Adding one reads the table: DELTA_NEW_CHECK_CONSTRAINT_VIOLATION where rows break
// it.
void alterConstraints(const sql::AlterTable& statement, CommandSession& session);

// CLUSTER BY (columns) | NONE.
void alterClustering(const sql::AlterTable& statement, CommandSession& session);

}  // namespace thalweg
