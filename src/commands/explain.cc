// EXPLAIN of a query.
#include "commands/rows.h"
#include "commands/statements.h"
#include "common/error.h"
#include "common/options.h"

namespace thalweg {

CommandResult run(const std::shared_ptr<sql::Explain>& statement, CommandSession& session) {
  const auto* query = std::get_if<sql::Query>(&statement->statement);
  if (!query) throw unsupported("EXPLAIN of a statement that is no query");
  const bool extended =
      equalsIgnoreCase(statement->mode, "extended") || equalsIgnoreCase(statement->mode, "cost");
  const SchemaPtr schema = DataType::structOf({{"plan", stringType(), false}});
  RowBuilder rows(schema);
  rows.addText(session.explain(session.resolve(*query->relation), extended));
  return {schema, {rows.finish()}};
}

}  // namespace thalweg
