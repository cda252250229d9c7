// Schemas, for statements and for spark.catalog.
#pragma once

#include "commands/command_session.h"
#include "sql/statements.h"

namespace thalweg {

// Throws Error SCHEMA_ALREADY_EXISTS unless ifNotExists, INVALID_SCHEMA_OR_RELATION_NAME.
void createSchema(const sql::CreateSchema& statement, CommandSession& session);
// With its tables where the statement cascades. Throws Error SCHEMA_NOT_FOUND unless ifExists,
// SCHEMA_NOT_EMPTY, UNSUPPORTED_FEATURE.DROP_DATABASE for the schema default.
void dropSchema(const sql::DropSchema& statement, CommandSession& session);
// What names lie in from now on. Throws Error SCHEMA_NOT_FOUND, CATALOG_NOT_FOUND.
void useSchema(const sql::UseSchema& statement, CommandSession& session);

}  // namespace thalweg
