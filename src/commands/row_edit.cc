#include "commands/row_edit.h"

#include <chrono>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <nlohmann/json.hpp>

#include "commands/file_matcher.h"
#include "commands/rows.h"
#include "common/error.h"
#include "common/json_text.h"
#include "delta/scan/value_bounds.h"
#include "delta/snapshot/table_features.h"
#include "exec/planner/binder.h"
#include "plan/analyze/row_changes.h"

namespace thalweg {
namespace {

// The columns that a condition names, as indexes into the table's.
std::vector<int> columnsIn(const Expression& condition, const std::vector<AttributePtr>& columns) {
  std::vector<int> used;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (anyOf(condition, [&](const Expression& part) {
          return part.kind() == ExpressionKind::Attribute &&
                 static_cast<const Attribute&>(part).id() == columns[i]->id();
        })) {
      used.push_back(static_cast<int>(i));
    }
  }
  return used;
}

Selection selectionOf(const delta::FileRows& part) {
  const int64_t numRows = part.rows->num_rows();
  if (!part.live) return Selection::all(numRows);
  return Selection::of(numRows, {part.live->raw_values(), part.live->raw_values() + part.live->length()});
}

// One statement's work on one table.
class EditRun {
 public:
  EditRun(const EditedTable& table, const RowEditPlan& plan, CommandSession& session)
      : table_(table), plan_(plan), session_(session), batch_(session.batchContext()) {
    if (!plan.condition) return;
    matcher_ = std::make_shared<FileMatcher>(*table.snapshot, table.columns, plan.condition, batch_);
  }

  EditOutcome run() {
    const auto start = std::chrono::steady_clock::now();
    delta::Transaction transaction(table_.log, table_.snapshot);
    if (matcher_)
      transaction.readMatching([matcher = matcher_](const delta::AddFile& file) { return matcher->mayMatch(file); });
    else
      transaction.readWholeTable();
    const std::vector<delta::AddFile> files = candidates();
    const bool whole = !plan_.change && (!matcher_ || matcher_->partitionsOnly());
    if (files.empty()) return {};
    whole ? removeFiles(files, transaction) : editRows(files, transaction);
    if (!edited_) return std::move(outcome_);
    const auto elapsed = std::chrono::steady_clock::now() - start;
    transaction.setOperation(operation(std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count()));
    commit(transaction);
    return std::move(outcome_);
  }

 private:
  std::vector<delta::AddFile> candidates() {
    std::vector<delta::AddFile> files;
    table_.snapshot->files().forEachLive([&](const delta::FileRecord& record) {
      delta::AddFile file = record.toAdd();
      if (!matcher_ || matcher_->mayMatch(file)) files.push_back(std::move(file));
    });
    return files;
  }

  void removeFiles(const std::vector<delta::AddFile>& files, delta::Transaction& transaction) {
    const int64_t now = table_.log->clock().nowMillis();
    delta::RemovalMetrics& metrics = outcome_.metrics.removal;
    for (const delta::AddFile& file : files) {
      const auto numRows = delta::StatisticsView(file.stats.value_or("")).numRecords();
      outcome_.rowsKnown = outcome_.rowsKnown && numRows.has_value();
      metrics.numDeletedRows += numRows.value_or(0) - (file.deletionVector ? file.deletionVector->cardinality : 0);
      metrics.numDeletionVectorsRemoved += file.deletionVector.has_value();
      ++metrics.numRemovedFiles;
      metrics.numRemovedBytes += file.size;
      transaction.readFile(file);
      transaction.remove(delta::removalOf(file, now));
    }
    outcome_.metrics.numTouchedRows = metrics.numDeletedRows;
    edited_ = true;
  }

  void editRows(const std::vector<delta::AddFile>& files, delta::Transaction& transaction) {
    delta::RowEdit edit;
    edit.change = plan_.change;
    if (plan_.condition) {
      edit.conditionColumns = columnsIn(*plan_.condition, table_.columns);
      std::vector<AttributePtr> input;
      for (const int column : edit.conditionColumns) input.push_back(table_.columns[static_cast<size_t>(column)]);
      edit.match = [this, condition = Binder(input, batch_).bind(plan_.condition)](const delta::FileRows& part) {
        std::vector<int64_t> rows;
        selectTrue(*condition, *part.rows, selectionOf(part), EvaluationContext{&batch_}).forEach([&](int64_t row) {
          rows.push_back(row);
        });
        return rows;
      };
    } else {
      edit.match = [](const delta::FileRows& part) { return part.liveRows(); };
    }
    edit_ = std::make_unique<delta::TableEdit>(*table_.snapshot, std::move(edit), &session_.cancellation());
    TaskPool& pool = session_.pool();
    edit_->run(
        transaction, files, pool.numSlots(),
        [&](int count, const std::function<void(int)>& task) { pool.runAll(count, task); },
        table_.log->clock().nowMillis());
    outcome_.metrics = edit_->metrics();
    edited_ = outcome_.metrics.numTouchedRows > 0;
  }

  // With deletion vectors Delta counts no bytes of files as removed, and, of an UPDATE, every touched file as removed.
  delta::Operation operation(int64_t executionMs) const {
    const delta::RemovalMetrics& counts = outcome_.metrics.removal;
    const bool vectors = edit_ && delta::RowRemoval::usesVectors(*table_.snapshot);
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
                         {"scanTimeMs", outcome_.metrics.scanMs},
                         {"rewriteTimeMs", outcome_.metrics.rewriteMs}};
    if (update)
      operation.metrics.emplace_back("numUpdatedRows", outcome_.metrics.numTouchedRows);
    else if (outcome_.rowsKnown)
      operation.metrics.emplace_back("numDeletedRows", counts.numDeletedRows);
    return operation;
  }

  void commit(delta::Transaction& transaction) {
    // A commit that fails with an exception may be in the log all the same: its files stay.
    delta::CommitOutcome outcome = [&] {
      try {
        return transaction.commit();
      } catch (...) {
        if (edit_) edit_->handOver();
        throw;
      }
    }();
    if (const auto* conflict = std::get_if<delta::Conflicted>(&outcome)) throw Error(conflict->error);
    if (edit_) edit_->handOver();
  }

  const EditedTable& table_;
  const RowEditPlan& plan_;
  CommandSession& session_;
  BatchContext batch_;
  std::shared_ptr<FileMatcher> matcher_;  // null: all files
  std::unique_ptr<delta::TableEdit> edit_;
  EditOutcome outcome_;
  bool edited_ = false;
};

}  // namespace

EditedTable requireEditable(const sql::Name& name, CommandSession& session, const std::string& operation) {
  EditedTable table;
  table.target = requireTable(name, session, operation);
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

EditOutcome runEdit(const EditedTable& table, const RowEditPlan& plan, CommandSession& session) {
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
