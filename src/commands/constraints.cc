// ALTER TABLE ADD and DROP CONSTRAINT.
#include <atomic>

#include "commands/alter_columns.h"
#include "commands/metadata_change.h"
#include "commands/row_edit.h"
#include "commands/table_condition.h"
#include "common/error.h"
#include "common/options.h"
#include "delta/files/row_rules.h"
#include "delta/modify/file_rows.h"
#include "plan/analyze/row_changes.h"

namespace thalweg {
namespace {

// How many rows of the table satisfy a condition.
int64_t countRows(const EditedTable& table, const ExpressionPtr& condition, CommandSession& session) {
  const delta::Snapshot& snapshot = *table.snapshot;
  const TableCondition matches(snapshot, table.columns, condition, session.batchContext());
  const auto layout = delta::makeTableLayout(snapshot, session.batchContext().timeZone);
  delta::DataFileReadOptions options;
  options.columns = matches.columns();
  options.cancellation = &session.cancellation();
  const std::vector<delta::AddFile> files = snapshot.liveFiles(delta::Statistics::LeftOut);
  std::atomic<int64_t> count = 0;
  session.pool().runAll(static_cast<int>(files.size()), [&](int i) {
    const delta::AddFile& file = files[static_cast<size_t>(i)];
    delta::FileRowReader reader(layout, file, delta::deletedRowsOf(file, *layout), options);
    while (const auto part = reader.next()) count += static_cast<int64_t>(matches.match(*part).size());
  });
  return count;
}

void checkCondition(const sql::AlterTable& statement, const EditedTable& table, CommandSession& session) {
  const AnalyzerContext context = session.analyzerContext();
  const ExpressionPtr condition = analyzeExpression(statement.checkText, table.columns, context);
  if (condition->type()->id() != TypeId::Boolean) {
    throw Error("DELTA_NON_BOOLEAN_CHECK_CONSTRAINT",
                "The CHECK constraint " + statement.constraint + " (" + statement.checkText + ") is " +
                    condition->type()->sqlString() + ", and must be a condition.",
                {{"name", statement.constraint}, {"expr", statement.checkText}});
  }
  const ExpressionPtr broken =
      analyzeExpression("NOT coalesce((" + statement.checkText + "), false)", table.columns, context);
  const int64_t count = countRows(table, broken, session);
  if (count == 0) return;
  throw Error("DELTA_NEW_CHECK_CONSTRAINT_VIOLATION",
              fmt::format("{} rows of {} break the new CHECK constraint ({}).", count,
                          table.target.shownName(), statement.checkText),
              {{"numRows", std::to_string(count)},
               {"tableName", table.target.shownName()},
               {"checkConstraint", statement.checkText}});
}

void add(const sql::AlterTable& statement, const EditedTable& table, CommandSession& session) {
  MetadataChange change{table.snapshot->metadata(), {}};
  auto& properties = change.metadata.configuration;
  const std::string key = std::string(delta::kConstraintPrefix) + toLowerAscii(statement.constraint);
  if (const auto there = properties.find(key); there != properties.end()) {
    throw Error(
        "DELTA_CONSTRAINT_ALREADY_EXISTS",
        "The table has a constraint " + statement.constraint + " (" + there->second + "): drop it first.",
        {{"constraintName", statement.constraint}, {"oldConstraint", there->second}});
  }
  checkCondition(statement, table, session);
  properties[key] = statement.checkText;
  change.readsTable = true;
  change.operation.name = "ADD CONSTRAINT";
  change.operation.parameters = {{"name", delta::jsonText(statement.constraint)},
                                 {"expr", delta::jsonText(statement.checkText)}};
  commitMetadata(table.log, table.snapshot, std::move(change));
}

void drop(const sql::AlterTable& statement, const EditedTable& table) {
  MetadataChange change{table.snapshot->metadata(), {}};
  auto& properties = change.metadata.configuration;
  const auto there =
      properties.find(std::string(delta::kConstraintPrefix) + toLowerAscii(statement.constraint));
  if (there == properties.end() && !statement.ifExists) {
    throw Error("DELTA_CONSTRAINT_DOES_NOT_EXIST",
                "The table " + table.target.shownName() + " has no constraint " + statement.constraint +
                    "; use IF EXISTS.",
                {{"constraintName", statement.constraint},
                 {"tableName", table.target.shownName()},
                 {"config", "spark.databricks.delta.constraints.assumesDropIfExists.enabled"},
                 {"confValue", "true"}});
  }
  change.operation.name = "DROP CONSTRAINT";
  change.operation.parameters = {{"name", delta::jsonText(statement.constraint)}};
  if (there != properties.end())
    change.operation.parameters.emplace_back("expr", delta::jsonText(there->second));
  change.operation.parameters.emplace_back("existed",
                                           delta::jsonText(there == properties.end() ? "false" : "true"));
  if (there != properties.end()) properties.erase(there);
  commitMetadata(table.log, table.snapshot, std::move(change));
}

}  // namespace

void alterConstraints(const sql::AlterTable& statement, CommandSession& session) {
  const EditedTable table = requireEditable(statement.table, session, "ALTER TABLE");
  if (statement.kind == sql::AlterTable::Kind::AddConstraint)
    add(statement, table, session);
  else
    drop(statement, table);
}

}  // namespace thalweg
