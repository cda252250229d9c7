// COMMENT ON TABLE and COMMENT ON SCHEMA.
#include "commands/statements.h"
#include "commands/table_properties.h"
#include "commands/table_target.h"

namespace thalweg {

CommandResult run(const sql::CommentOn& statement, CommandSession& session) {
  if (statement.isSchema) {
    SchemaEntry schema = session.catalog().requireSchema(qualifySchema(statement.name, session.names()));
    schema.comment = statement.comment;
    session.catalog().updateSchema(schema);
  } else if (statement.comment) {
    setTableProperties(statement.name, {{"comment", *statement.comment}}, session);
  } else {
    unsetTableProperties(statement.name, {"comment"}, session);
  }
  return {};
}

}  // namespace thalweg
