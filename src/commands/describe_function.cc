// DESCRIBE FUNCTION: that there is one. What it does is in Spark's documentation.
#include "commands/catalog_queries.h"
#include "commands/rows.h"
#include "commands/statements.h"
#include "common/options.h"
#include "sql/parser.h"

namespace thalweg {

CommandResult run(const sql::DescribeFunction& statement, CommandSession& session) {
  requireFunction(sql::unparsedIdentifier(statement.function));
  const std::string name = toLowerAscii(statement.function.back());
  const SchemaPtr schema = DataType::structOf({{"function_desc", stringType(), false}});
  RowBuilder rows(schema);
  rows.addText("Function: " + name);
  rows.addText("Class: thalweg." + name);
  rows.addText("Usage: N/A.");
  return {schema, {rows.finish()}};
}

}  // namespace thalweg
