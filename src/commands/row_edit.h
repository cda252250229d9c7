// What DELETE and UPDATE of a Delta table have in common: the table, its files, the commit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands/command_session.h"
#include "commands/table_target.h"
#include "delta/modify/table_edit.h"
#include "expr/nodes.h"

namespace thalweg {

// The table of a statement at the version that it starts from.
struct EditedTable {
  TableTarget target;
  std::shared_ptr<delta::DeltaLog> log;
  delta::SnapshotPtr snapshot;
  std::vector<AttributePtr> columns;
};

// Throws Error of requireTable, and that of a table that takes no changes (DELTA_CANNOT_MODIFY_APPEND_ONLY,
// DELTA_UNSUPPORTED_FEATURES_FOR_WRITE).
EditedTable requireEditable(const sql::Name& name, CommandSession& session, const std::string& operation);

// The condition with its constant parts folded: null for what is true of every row, a false literal for what
// is true of none. (Parts that fail to evaluate stay.)
ExpressionPtr foldedCondition(const ExpressionPtr& condition, const BatchContext& context);
// Whether a folded condition is true of no row.
bool matchesNothing(const ExpressionPtr& condition);

// One run of an edit.
struct RowEditPlan {
  std::string operation;    // "DELETE"
  ExpressionPtr condition;  // over the table's columns; null: all rows
  // As of delta::RowEdit, over all columns of the table; empty: the rows are deleted.
  std::function<std::shared_ptr<arrow::RecordBatch>(const std::shared_ptr<arrow::RecordBatch>& rows)> change;
};

// Finds the rows, changes them, commits; nothing is committed where no row matches. Throws the conflict's
// Error where another writer was first.
delta::EditMetrics runEdit(const EditedTable& table, const RowEditPlan& plan, CommandSession& session);

// num_affected_rows, as DELETE and UPDATE answer; null: unknown.
CommandResult affectedRows(std::optional<int64_t> count);

}  // namespace thalweg
