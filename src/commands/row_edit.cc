#include "commands/row_edit.h"

#include <chrono>
#include <set>

#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <nlohmann/json.hpp>

#include "commands/rows.h"
#include "commands/table_condition.h"
#include "common/error.h"
#include "common/json_text.h"
#include "delta/files/row_tracking.h"
#include "delta/maintain/auto_compaction.h"
#include "delta/snapshot/table_features.h"
#include "exec/planner/binder.h"
#include "plan/analyze/row_changes.h"

namespace thalweg {
namespace {

// One statement's work on one table.
class EditRun {
 public:
  EditRun(const EditedTable& table, const RowEditPlan& plan, CommandSession& session)
      : table_(table), plan_(plan), session_(session) {}

  delta::EditMetrics run() {
    const auto start = std::chrono::steady_clock::now();
    delta::RowEdit edit{nullptr, plan_.change, session_.batchContext().timeZone};
    if (plan_.condition) {
      edit.condition = std::make_shared<TableCondition>(*table_.snapshot, table_.columns, plan_.condition,
                                                        session_.batchContext());
    }
    edit_ = std::make_unique<delta::TableEdit>(*table_.snapshot, std::move(edit), &session_.cancellation());
    delta::Transaction transaction(table_.log, table_.snapshot);
    TaskPool& pool = session_.pool();
    const auto runTasks = [&](int count, const std::function<void(int)>& task) { pool.runAll(count, task); };
    if (!edit_->run(transaction, pool.numSlots(), runTasks, table_.log->clock().nowMillis())) return {};
    const auto elapsed = std::chrono::steady_clock::now() - start;
    transaction.setOperation(
        operation(std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count()));
    delta::requireCommitted(edit_->commit(transaction));
    compactFiles(runTasks);
    return edit_->metrics();
  }

 private:
  // With deletion vectors Delta counts no bytes of files as removed, and, of an UPDATE, every touched file as
  // removed.
  delta::Operation operation(int64_t executionMs) const {
    const delta::EditMetrics& metrics = edit_->metrics();
    const delta::RemovalMetrics& counts = metrics.removal;
    const bool vectors = edit_->readsRows() && delta::RowRemoval::usesVectors(*table_.snapshot);
    const bool update = static_cast<bool>(plan_.change);
    const auto replaced = counts.numDeletionVectorsAdded;
    delta::Operation operation;
    operation.name = plan_.operation;
    nlohmann::json predicates = nlohmann::json::array();
    if (plan_.condition) predicates.push_back(plan_.condition->toString());
    if (!plan_.condition && !update) predicates.push_back("true");
    operation.parameters = {{"predicate", delta::jsonText(toJsonText(predicates))}};
    operation.metrics = {{"numRemovedFiles", counts.numRemovedFiles + (update ? replaced : 0)},
                         {"numRemovedBytes", vectors ? 0 : counts.numRemovedBytes},
                         {"numCopiedRows", counts.numCopiedRows},
                         {"numDeletionVectorsAdded", counts.numDeletionVectorsAdded},
                         {"numDeletionVectorsUpdated", counts.numDeletionVectorsUpdated},
                         {"numDeletionVectorsRemoved", counts.numDeletionVectorsRemoved},
                         {"numAddedFiles", counts.numAddedFiles},
                         {"numAddedBytes", counts.numAddedBytes},
                         {"numAddedChangeFiles", counts.numAddedChangeFiles},
                         {"executionTimeMs", executionMs},
                         {"scanTimeMs", metrics.scanMs},
                         {"rewriteTimeMs", metrics.rewriteMs}};
    if (update)
      operation.metrics.emplace_back("numUpdatedRows", metrics.numTouchedRows);
    else if (metrics.rowsKnown)
      operation.metrics.emplace_back("numDeletedRows", counts.numDeletedRows);
    operation.tags = delta::keptRowIdTags(table_.snapshot->metadata());
    return operation;
  }

  void compactFiles(const delta::RunTasks& runTasks) {
    const auto lookUp = [this](const std::string& key) { return session_.lookUp(key); };
    const auto rules = delta::autoCompactionRules(table_.snapshot->metadata(), lookUp);
    if (!rules) return;
    delta::compactAfterWrite(table_.log, edit_->touchedPartitions(), *rules, session_.pool().numSlots(),
                             runTasks, &session_.cancellation());
  }

  const EditedTable& table_;
  const RowEditPlan& plan_;
  CommandSession& session_;
  std::unique_ptr<delta::TableEdit> edit_;
};

}  // namespace

EditedTable requireEditable(const sql::Name& name, CommandSession& session, const std::string& operation) {
  EditedTable table;
  table.target = requireTable(name, session, operation);
  if (!table.target.isDelta()) {
    throw Error("UNSUPPORTED_FEATURE.TABLE_OPERATION",
                "The rows of " + table.target.shownName() + ", a table of " + table.target.provider +
                    " files, cannot be changed (" + operation + "): keep them in a Delta table.",
                {{"tableName", table.target.shownName()}, {"operation", operation}});
  }
  table.log = requireDelta(table.target, session, operation);
  table.snapshot = table.log->require();
  const delta::Snapshot& snapshot = *table.snapshot;
  delta::checkWritable(snapshot.protocol(), snapshot.metadata(), snapshot.table().uri());
  const auto& entry = table.target.entry;
  const sql::Name qualifier =
      entry ? sql::Name{entry->name.catalog, entry->name.schema, entry->name.table} : name;
  table.columns = tableColumns(*snapshot.schema(), qualifier);
  return table;
}

namespace {

// A boolean constant's value; nullopt for null and for what is no constant.
std::optional<bool> constantOf(const Expression& expression) {
  if (expression.kind() != ExpressionKind::Literal || expression.type()->id() != TypeId::Boolean)
    return std::nullopt;
  const auto& literal = static_cast<const Literal&>(expression);
  if (literal.isNull()) return std::nullopt;
  return static_cast<const arrow::BooleanScalar&>(*literal.value()).value;
}

}  // namespace

ExpressionPtr foldedCondition(const ExpressionPtr& condition, const BatchContext& context) {
  if (!condition) return nullptr;
  const ExpressionPtr folded = transformUp(condition, [&](const ExpressionPtr& part) -> ExpressionPtr {
    const ExpressionPtr one = foldConstant(part, EvaluationContext{&context});
    if (one->kind() != ExpressionKind::And && one->kind() != ExpressionKind::Or) return one;
    const bool neutral = one->kind() == ExpressionKind::And;
    for (size_t i = 0; i < 2; ++i) {
      const auto constant = constantOf(*one->children()[i]);
      if (constant) return *constant == neutral ? one->children()[1 - i] : one->children()[i];
    }
    return one;
  });
  return constantOf(*folded).value_or(false) ? nullptr : folded;
}

bool matchesNothing(const ExpressionPtr& condition) {
  if (!condition || condition->kind() != ExpressionKind::Literal) return false;
  return !constantOf(*condition).value_or(false);
}

delta::EditMetrics runEdit(const EditedTable& table, const RowEditPlan& plan, CommandSession& session) {
  delta::checkRemovesRows(table.snapshot->metadata(), table.snapshot->table().uri());
  return EditRun(table, plan, session).run();
}

CommandResult affectedRows(std::optional<int64_t> count) {
  CommandResult result;
  result.schema = DataType::structOf({{"num_affected_rows", DataType::primitive(TypeId::Long)}});
  RowBuilder rows(result.schema);
  rows.addLong(count);
  result.batches.push_back(rows.finish());
  return result;
}

}  // namespace thalweg
