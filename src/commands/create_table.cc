// CREATE TABLE, CREATE OR REPLACE TABLE, REPLACE TABLE; with columns, AS a query, LIKE another table.
#include <nlohmann/json.hpp>

#include "commands/new_table.h"
#include "commands/statements.h"
#include "commands/table_target.h"
#include "common/error.h"

namespace thalweg {
namespace {

StructField columnOf(const sql::ColumnDefinition& column) {
  const std::string name = quotedName(column.name);
  if (column.name.size() != 1) throw unsupported("The nested column " + name + " in CREATE TABLE");
  if (column.generationExpression) throw unsupported("The generated column " + name);
  if (column.identity) throw unsupported("The identity column " + name);
  if (column.defaultExpression) throw unsupported("The default of column " + name);
  StructField field{column.name[0], column.type, column.nullable, "{}"};
  if (column.comment)
    field.metadata = nlohmann::json({{"comment", *column.comment}})
                         .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return field;
}

std::vector<std::string> partitionsOf(const std::vector<sql::Transform>& transforms) {
  std::vector<std::string> columns;
  for (const sql::Transform& transform : transforms) {
    if (transform.function != "identity") {
      throw Error("DELTA_OPERATION_NOT_ALLOWED",
                  "A Delta table is partitioned by columns, not by expressions such as " +
                      transform.function + "(…).",
                  {{"operation", "Partitioning by expressions"}});
    }
    columns.push_back(transform.column.size() == 1 ? transform.column[0] : quotedName(transform.column));
  }
  return columns;
}

// LIKE: the columns, partitions, comment and properties of another table, none of its rows.
void copyDeclaration(const sql::Name& source, NewTable* table, CommandSession& session) {
  const TableTarget target = requireTable(source, session, "CREATE TABLE LIKE");
  if (table->provider.empty()) table->provider = target.provider;
  const auto snapshot = requireDelta(target, session, "CREATE TABLE LIKE")->require();
  table->columns = snapshot->schema();
  table->partitionedBy = snapshot->partitionColumns();
  table->comment = snapshot->metadata().description;
  table->properties.insert(snapshot->metadata().configuration.begin(),
                           snapshot->metadata().configuration.end());
}

}  // namespace

CommandResult run(const sql::CreateTable& statement, CommandSession& session) {
  using Copy = sql::CreateTable::Copy;
  if (statement.copy == Copy::ShallowClone || statement.copy == Copy::DeepClone)
    throw unsupported("CREATE TABLE … CLONE");
  if (!statement.clusterBy.empty()) throw unsupported("CLUSTER BY in CREATE TABLE");
  NewTable table;
  table.name = statement.table;
  table.location = statement.location;
  table.comment = statement.comment;
  table.properties.insert(statement.properties.begin(), statement.properties.end());
  table.partitionedBy = partitionsOf(statement.partitionedBy);
  table.ifNotExists = statement.ifNotExists;
  table.orReplace = statement.orReplace;
  table.mustExist = statement.replaceOnly;
  for (const auto& [key, value] : statement.options) {
    if (equalsIgnoreCase(key, "path"))
      table.location = value;
    else
      table.options.set(key, value);
  }
  if (statement.provider) table.provider = *statement.provider;
  if (statement.copy == Copy::Like) copyDeclaration(statement.source, &table, session);
  if (table.provider.empty())
    table.provider = session.lookUp("spark.sql.sources.default").value_or("parquet");
  if (!statement.columns.empty()) {
    std::vector<StructField> columns;
    for (const sql::ColumnDefinition& column : statement.columns) columns.push_back(columnOf(column));
    table.columns = DataType::structOf(std::move(columns));
  }
  if (statement.query) {
    if (table.columns) {
      throw Error("_LEGACY_ERROR_TEMP_0029",
                  "CREATE TABLE … AS takes its columns from the query: leave the list of columns out.");
    }
    table.query = session.resolve(*statement.query);
  }
  createTable(table, session);
  return {};
}

}  // namespace thalweg
