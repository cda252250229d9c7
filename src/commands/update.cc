// UPDATE … SET.
#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "catalog/names.h"
#include "commands/row_edit.h"
#include "commands/sql_evaluator.h"
#include "commands/statements.h"
#include "common/error.h"
#include "delta/files/row_rules.h"
#include "exec/planner/binder.h"
#include "plan/analyze/row_changes.h"

namespace thalweg {
namespace {

// A value that does not fit its column, in the words and under the condition of an UPDATE.
Error tooLarge(const Expression& value, const Attribute& column, const Error& error) {
  const bool overflow =
      error.condition() == "CAST_OVERFLOW" || error.condition().starts_with("NUMERIC_VALUE_OUT_OF_RANGE");
  if (!overflow || value.kind() != ExpressionKind::Cast) return error;
  const DataType& from = *value.children()[0]->type();
  if (!from.isNumeric() || !column.type()->isNumeric()) return error;
  return Error("DELTA_CAST_OVERFLOW_IN_TABLE_WRITE",
               "A value of type " + from.sqlString() + " is too large for the column " +
                   quotedName({column.name()}) + " of type " + column.type()->sqlString() +
                   "; use try_cast to get NULL for such values.",
               {{"sourceType", "\"" + from.sqlString() + "\""},
                {"targetType", "\"" + column.type()->sqlString() + "\""},
                {"columnName", quotedName({column.name()})},
                {"storeAssignmentPolicyFlag", "spark.sql.storeAssignmentPolicy"},
                {"updateAndMergeCastingFollowsAnsiEnabledFlag",
                 "spark.databricks.delta.updateAndMergeCastingFollowsAnsiEnabledFlag"},
                {"ansiEnabledFlag", "spark.sql.ansi.enabled"}});
}

// The rows with the statement's values in place of their own, and generated columns that follow from them.
class Setter {
 public:
  Setter(const LogicalUpdate& plan, const delta::Snapshot& table, const BatchContext& batch,
         const delta::ExpressionEvaluator& evaluator)
      : plan_(plan), schema_(table.schema()), batch_(batch) {
    const Binder binder(plan.columns, batch_);
    std::vector<bool> given;
    for (size_t i = 0; i < plan.values.size(); ++i) {
      const StructField& column = schema_->fields()[i];
      if (plan.values[i] && delta::isIdentity(column)) {
        throw Error("DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED",
                    "The column " + column.name + " is an identity column: its values cannot be updated.",
                    {{"colName", column.name}});
      }
      bound_.push_back(plan.values[i] ? binder.bind(plan.values[i]) : nullptr);
      given.push_back(plan.values[i] || !delta::isGenerated(column));
    }
    rules_ = std::make_unique<delta::RowRules>(table.metadata(), schema_, given, &evaluator);
  }

  std::shared_ptr<arrow::RecordBatch> operator()(const std::shared_ptr<arrow::RecordBatch>& rows) const {
    arrow::ArrayVector columns = rows->columns();
    for (size_t i = 0; i < columns.size(); ++i) {
      if (bound_[i]) columns[i] = evaluate(i, *rows);
    }
    return rules_->apply(arrow::RecordBatch::Make(rows->schema(), rows->num_rows(), std::move(columns)));
  }

 private:
  std::shared_ptr<arrow::Array> evaluate(size_t i, const arrow::RecordBatch& rows) const {
    try {
      return evaluateToArray(*bound_[i], rows, Selection::all(rows.num_rows()), EvaluationContext{&batch_});
    } catch (const Error& error) {
      throw tooLarge(*plan_.values[i], *plan_.columns[i], error);
    }
  }

  const LogicalUpdate& plan_;
  SchemaPtr schema_;
  std::unique_ptr<delta::RowRules> rules_;
  BatchContext batch_;
  std::vector<ExpressionPtr> bound_;
};

}  // namespace

CommandResult run(const sql::Update& statement, CommandSession& session) {
  EditedTable table = requireEditable(statement.table, session, "UPDATE");
  const LogicalUpdate plan = analyzeUpdate(statement, table.columns, session.analyzerContext());
  table.columns = plan.columns;
  const AnalyzerContext context = session.analyzerContext();
  const auto evaluator = makeSqlEvaluator(context.functions.timeZone, context.functions.ansi);
  const Setter setter(plan, *table.snapshot, session.batchContext(), *evaluator);
  const ExpressionPtr condition = foldedCondition(plan.condition, session.batchContext());
  if (matchesNothing(condition)) return affectedRows(0);
  const delta::EditMetrics metrics =
      runEdit(table, {"UPDATE", condition, [&](const auto& rows) { return setter(rows); }}, session);
  return affectedRows(metrics.numTouchedRows);
}

}  // namespace thalweg
