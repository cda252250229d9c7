// INSERT INTO and INSERT OVERWRITE.
#include "commands/statements.h"
#include "commands/table_target.h"
#include "commands/table_write.h"
#include "common/error.h"

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

}  // namespace

CommandResult run(const sql::InsertInto& statement, CommandSession& session) {
  if (statement.replaceWhere) throw unsupported("INSERT INTO … REPLACE WHERE");
  if (statement.ifPartitionNotExists) throw unsupported("INSERT OVERWRITE … IF NOT EXISTS");
  if (!statement.subqueries.empty()) throw unsupported("A subquery in INSERT's own expressions");
  const bool constant = std::any_of(statement.partition.begin(), statement.partition.end(),
                                    [](const auto& one) { return one.second != nullptr; });
  if (statement.overwrite && !statement.partition.empty()) throw unsupported("INSERT OVERWRITE … PARTITION");
  // The table is looked for first: its absence is the error that is said.
  requireTable(statement.table, session, "INSERT");
  TableWrite write{statement.table, session.resolve(*statement.query), {}, statement.overwrite};
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
