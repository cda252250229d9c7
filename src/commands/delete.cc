// DELETE FROM.
#include "commands/row_edit.h"
#include "commands/statements.h"
#include "plan/analyze/row_changes.h"

namespace thalweg {

CommandResult run(const sql::Delete& statement, CommandSession& session) {
  EditedTable table = requireEditable(statement.table, session, "DELETE");
  const LogicalDelete plan = analyzeDelete(statement, table.columns, session.analyzerContext());
  table.columns = plan.columns;
  const ExpressionPtr condition = foldedCondition(plan.condition, session.batchContext());
  if (matchesNothing(condition)) return affectedRows(0);
  const delta::EditMetrics metrics = runEdit(table, {"DELETE", condition, {}}, session);
  return affectedRows(metrics.rowsKnown ? std::optional(metrics.numTouchedRows) : std::nullopt);
}

}  // namespace thalweg
