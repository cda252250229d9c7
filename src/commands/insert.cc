// INSERT INTO and INSERT OVERWRITE.
#include "commands/statements.h"
#include "commands/table_target.h"
#include "commands/table_write.h"
#include "common/error.h"
#include "plan/analyze/row_changes.h"
#include "sql/parser.h"

namespace thalweg {
namespace {

// PARTITION (p = 'x') gives the column p a constant: the rows with it, in the table's order of columns.
LogicalPtr withPartitionValues(const sql::InsertInto& statement, const LogicalPtr& rows,
                               CommandSession& session) {
  const TableTarget target = requireTable(statement.table, session, "INSERT");
  const TableColumns columns = columnsOf(target, session);
  std::vector<ExpressionPtr> constants(columns.schema->fields().size());
  for (const auto& [name, value] : statement.partition) {
    const auto it = std::find_if(columns.partitionedBy.begin(), columns.partitionedBy.end(),
                                 [&](const std::string& column) { return equalsIgnoreCase(column, name); });
    if (it == columns.partitionedBy.end()) {
      throw Error("NON_PARTITION_COLUMN", "The table is not partitioned by " + quotedName({name}) + ".",
                  {{"columnName", quotedName({name})}});
    }
    if (value)
      constants[static_cast<size_t>(columns.schema->fieldIndex(*it))] = session.resolveConstant(*value);
  }
  const std::vector<AttributePtr> output = visibleOutput(*rows);
  std::vector<ExpressionPtr> ordered;
  size_t next = 0;
  for (size_t i = 0; i < constants.size(); ++i) {
    if (constants[i])
      ordered.push_back(std::make_shared<Alias>(constants[i], columns.schema->fields()[i].name));
    else if (next < output.size())
      ordered.push_back(output[next++]);
  }
  // Too many or too few: the assignment by position says so.
  ordered.insert(ordered.end(), output.begin() + static_cast<std::ptrdiff_t>(next), output.end());
  return std::make_shared<LogicalProject>(std::move(ordered), rows);
}

// The columns that the query's values are for, in their order.
std::vector<StructField> columnsFor(const sql::InsertInto& statement, const Schema& table) {
  std::vector<StructField> columns;
  for (const std::string& name : statement.columns) {
    const int index = table.fieldIndex(name, /*caseSensitive=*/false);
    columns.push_back(index < 0 ? StructField{name, DataType::primitive(TypeId::Void)}
                                : table.fields()[static_cast<size_t>(index)]);
  }
  if (!statement.columns.empty()) return columns;
  for (const StructField& field : table.fields()) {
    const bool isConstant =
        std::any_of(statement.partition.begin(), statement.partition.end(),
                    [&](const auto& one) { return one.second && equalsIgnoreCase(one.first, field.name); });
    if (!isConstant) columns.push_back(field);
  }
  return columns;
}

// INSERT OVERWRITE … PARTITION (p = 'x') replaces the rows of that partition; null: no partition is said.
std::optional<std::string> partitionCondition(const sql::InsertInto& statement) {
  std::optional<std::string> condition;
  for (size_t i = 0; i < statement.partition.size(); ++i) {
    if (!statement.partition[i].second) continue;
    const std::string one = "(" + sql::unparsedIdentifier({statement.partition[i].first}) + " <=> " +
                            statement.partitionTexts[i] + ")";
    condition = condition ? "(" + *condition + " AND " + one + ")" : one;
  }
  return condition;
}

// What an INSERT replaces, as the writer's options say it.
void takeReplaced(const sql::InsertInto& statement, CommandSession& session, TableWrite* write) {
  if (statement.replaceWhere) {
    write->overwrite = true;
    write->options.set("replaceWhere", "(" + statement.replaceWhereText + ")");
  }
  if (!statement.overwrite) return;
  const bool dynamic = equalsIgnoreCase(
      session.lookUp("spark.sql.sources.partitionOverwriteMode").value_or("static"), "dynamic");
  const auto condition = partitionCondition(statement);
  if (condition && !dynamic) write->options.set("replaceWhere", *condition);
}

}  // namespace

CommandResult run(const sql::InsertInto& statement, CommandSession& session) {
  if (statement.ifPartitionNotExists) {
    throw Error("UNSUPPORTED_FEATURE.INSERT_PARTITION_SPEC_IF_NOT_EXISTS",
                "INSERT … PARTITION … IF NOT EXISTS is not supported.",
                {{"tableName", quotedName(statement.table)}});
  }
  if (!statement.subqueries.empty()) throw unsupported("A subquery in INSERT's own expressions");
  const bool constant = std::any_of(statement.partition.begin(), statement.partition.end(),
                                    [](const auto& one) { return one.second != nullptr; });
  // The table is looked for first: its absence is the error that is said.
  const TableTarget target = requireTable(statement.table, session, "INSERT");
  fillDefaults(statement.query.get(), columnsFor(statement, *columnsOf(target, session).schema));
  TableWrite write{statement.table, session.resolve(*statement.query), {}, statement.overwrite};
  takeReplaced(statement, session, &write);
  if (statement.withSchemaEvolution) write.options.set("mergeSchema", "true");
  if (constant) {
    if (statement.byName || !statement.columns.empty())
      throw unsupported("PARTITION (column = value) with a list of columns or BY NAME");
    write.rows = withPartitionValues(statement, write.rows, session);
  }
  if (statement.byName) {
    insertByName(write, session);
  } else if (!statement.columns.empty()) {
    insertIntoList(write, statement.columns, session);
  } else {
    insertByPosition(write, session);
  }
  return {};
}

}  // namespace thalweg
