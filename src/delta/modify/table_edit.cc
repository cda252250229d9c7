#include "delta/modify/table_edit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>

#include <arrow/array/concatenate.h>
#include <arrow/record_batch.h>

#include "common/error.h"
#include "delta/files/partitioned_writer.h"
#include "delta/files/row_tracking.h"
#include "delta/modify/change_writer.h"
#include "delta/scan/value_bounds.h"
#include "delta/snapshot/table_features.h"
#include "types/arrow_result.h"

namespace thalweg::delta {
namespace {

// As Spark's tasks have it: a new file for about as much as was read of old ones.
constexpr int64_t kFileBytes = 128 << 20;

class Stopwatch {
 public:
  explicit Stopwatch(int64_t* millis) : millis_(millis) {}
  ~Stopwatch() {
    *millis_ +=
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start_)
            .count();
  }

 private:
  int64_t* millis_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::vector<int> allColumns(const Schema& schema) {
  std::vector<int> columns(schema.fields().size());
  std::iota(columns.begin(), columns.end(), 0);
  return columns;
}

// `rows` with those at `positions` (ascending) replaced by `changed`, of which only `kept` (ascending, a
// superset of `positions`) stay.
std::shared_ptr<arrow::RecordBatch> withChanges(const std::shared_ptr<arrow::RecordBatch>& rows,
                                                const std::vector<int64_t>& kept,
                                                const std::vector<int64_t>& positions,
                                                const std::shared_ptr<arrow::RecordBatch>& changed) {
  if (kept.size() == positions.size()) return changed;
  std::vector<int64_t> order;
  order.reserve(kept.size());
  size_t next = 0;
  for (const int64_t row : kept) {
    const bool isChanged = next < positions.size() && positions[next] == row;
    order.push_back(isChanged ? rows->num_rows() + static_cast<int64_t>(next++) : row);
  }
  arrow::ArrayVector columns;
  for (int i = 0; i < rows->num_columns(); ++i)
    columns.push_back(valueOrThrow(arrow::Concatenate({rows->column(i), changed->column(i)})));
  return takeRows(
      arrow::RecordBatch::Make(rows->schema(), rows->num_rows() + changed->num_rows(), std::move(columns)),
      order);
}

}  // namespace

// What one task does, and what it leaves to be committed.
class TableEdit::Worker {
 public:
  Worker(const TableEdit& edit, int taskId)
      : edit_(edit), taskId_(taskId), removal_(edit.snapshot_), writer_(edit.changedFiles_, taskId) {
    // What a vector deletes readers of the feed derive from the vectors; Delta writes no change files of it.
    const bool derived = edit.vectors_ && !edit.edit_.change;
    if (edit.changeFeed_ && !derived) changes_.emplace(edit.tableFiles_, taskId);
  }

  void editFile(const AddFile& file, int64_t nowMs) {
    LocatedRows located = locate(file);
    if (located.rows.empty()) return;
    read_.push_back(file);
    numTouchedRows_ += static_cast<int64_t>(located.rows.size());
    const Stopwatch watch(&rewriteMs_);
    const bool rewrites = edit_.edit_.change && !edit_.vectors_;
    if (rewrites || edit_.edit_.change || changes_) rewriteRows(located, rewrites);
    if (!rewrites) return removal_.removeFrom(located, nowMs, &actions_);
    actions_.emplace_back(removalOf(file, nowMs));
    ++rewritten_.numRemovedFiles;
    rewritten_.numRemovedBytes += file.size;
    rewritten_.numDeletionVectorsRemoved += file.deletionVector.has_value();
  }

  void finish() {
    const Stopwatch watch(&rewriteMs_);
    closeData();
    if (changes_) changeFiles_ = changes_->finish();
    removal_.finish();
    for (const AddFile& file : dataFiles_) {
      rewritten_.numAddedBytes += file.size;
      actions_.emplace_back(file);
    }
    rewritten_.numAddedFiles = static_cast<int64_t>(dataFiles_.size());
    rewritten_.numAddedChangeFiles = static_cast<int64_t>(changeFiles_.size());
    for (Action& action : changeActions(changeFiles_)) actions_.push_back(std::move(action));
  }

  void addTo(Transaction& transaction, EditMetrics* metrics, std::set<PartitionValues>* touchedPartitions) {
    for (const AddFile& file : read_) transaction.readFile(file);
    for (const Action& action : actions_) {
      if (const auto* added = std::get_if<AddFile>(&action)) touchedPartitions->insert(added->partitionValues);
    }
    transaction.addFileActions(std::move(actions_));
    metrics->removal.add(rewritten_);
    metrics->removal.add(removal_.metrics());
    metrics->numTouchedRows += numTouchedRows_;
    metrics->scanMs += scanMs_;
    metrics->rewriteMs += rewriteMs_;
  }

  void handOver() { removal_.handOver(); }

  void discard() noexcept {
    writer_.abort();
    removal_.discard();
    removeUncommitted(edit_.tableFiles_.table, dataFiles_);
    removeUncommitted(edit_.tableFiles_.table, changeFiles_);
    dataFiles_.clear();
    changeFiles_.clear();
  }

 private:
  DataFileReadOptions readOptions(std::vector<int> columns) const {
    DataFileReadOptions options;
    options.columns = std::move(columns);
    options.cancellation = edit_.cancellation_;
    return options;
  }

  LocatedRows locate(const AddFile& file) {
    const Stopwatch watch(&scanMs_);
    LocatedRows located;
    located.file = file;
    located.deleted = deletedRowsOf(file, *edit_.readLayout_);
    const RowCondition* condition = edit_.edit_.condition.get();
    FileRowReader reader(edit_.readLayout_, file, located.deleted,
                         readOptions(condition ? condition->columns() : std::vector<int>()));
    while (const auto part = reader.next()) {
      for (const int64_t row : condition ? condition->match(*part) : part->liveRows())
        located.rows.push_back(part->first + row);
    }
    located.numRows = reader.numRows();
    return located;
  }

  // Writes the located rows as they become, the file's other rows with them where it is written anew
  // (`withOthers`), and what the change feed says of it.
  void rewriteRows(const LocatedRows& located, bool withOthers) {
    const auto& change = edit_.edit_.change;
    DataFileReadOptions options = readOptions(allColumns(*edit_.readLayout_->schema));
    options.rowIds = change && edit_.changedFiles_.hasRowIds;
    FileRowReader reader(edit_.readLayout_, located.file, located.deleted, options);
    auto next = located.rows.begin();
    int64_t numWritten = 0;
    while (const auto part = reader.next()) {
      std::vector<int64_t> positions;
      const int64_t end = part->first + part->rows->num_rows();
      for (; next != located.rows.end() && *next < end; ++next) positions.push_back(*next - part->first);
      const auto moved = takeRows(part->rows, positions);
      const auto before = options.rowIds ? withoutRowIds(*moved) : moved;
      auto after = change && !positions.empty() ? change(before) : nullptr;
      if (changes_) {
        changes_->write(before, change ? kChangePreimage : kChangeDelete);
        if (after) changes_->write(after, kChangePostimage);
      }
      if (after && options.rowIds) after = withRowIdsOf(*moved, *after);
      std::shared_ptr<arrow::RecordBatch> written = after;
      if (withOthers) {
        const std::vector<int64_t> live = part->liveRows();
        written = after ? withChanges(part->rows, live, positions, after) : takeRows(part->rows, live);
        rewritten_.numCopiedRows += static_cast<int64_t>(live.size() - positions.size());
      }
      if (!change || !written || written->num_rows() == 0) continue;
      writer_.write(written);
      numWritten += written->num_rows();
    }
    openBytes_ += located.file.size * numWritten / std::max<int64_t>(located.numRows, 1);
    if (openBytes_ >= kFileBytes) closeData();
  }

  void closeData() {
    for (AddFile& file : writer_.close()) dataFiles_.push_back(std::move(file));
    openBytes_ = 0;
  }

  const TableEdit& edit_;
  int taskId_;
  RowRemoval removal_;
  PartitionedWriter writer_;
  std::optional<ChangeWriter> changes_;
  int64_t openBytes_ = 0;  // about as much as the open files will have
  std::vector<AddFile> read_;
  std::vector<AddFile> dataFiles_;
  std::vector<AddFile> changeFiles_;
  std::vector<Action> actions_;
  RemovalMetrics rewritten_;
  int64_t numTouchedRows_ = 0;
  int64_t scanMs_ = 0;
  int64_t rewriteMs_ = 0;
};

TableEdit::TableEdit(const Snapshot& snapshot, RowEdit edit, const CancellationToken* cancellation)
    : snapshot_(snapshot),
      edit_(std::move(edit)),
      cancellation_(cancellation),
      readLayout_(makeTableLayout(snapshot, edit_.timeZone)),
      tableFiles_(makeDataFileLayout(snapshot.table(), snapshot.metadata(), snapshot.protocol())),
      changedFiles_(edit_.change ? movedRowsLayout(snapshot.table(), snapshot.metadata(), snapshot.protocol())
                                 : tableFiles_),
      vectors_(RowRemoval::usesVectors(snapshot)),
      changeFeed_(tableFlag(snapshot.metadata(), kEnableChangeDataFeed)) {}

TableEdit::~TableEdit() {
  discard();
}

std::vector<AddFile> TableEdit::candidates() const {
  std::vector<AddFile> files;
  snapshot_.files().forEachLive([&](const FileRecord& record) {
    AddFile file = record.toAdd();
    if (!edit_.condition || edit_.condition->mayMatch(file)) files.push_back(std::move(file));
  });
  return files;
}

void TableEdit::removeFiles(Transaction& transaction, const std::vector<AddFile>& files, int64_t nowMs) {
  RemovalMetrics& removal = metrics_.removal;
  for (const AddFile& file : files) {
    const auto numRows = StatisticsView(file.stats.value_or("")).numRecords();
    metrics_.rowsKnown = metrics_.rowsKnown && numRows.has_value();
    removal.numDeletedRows +=
        numRows.value_or(0) - (file.deletionVector ? file.deletionVector->cardinality : 0);
    removal.numDeletionVectorsRemoved += file.deletionVector.has_value();
    ++removal.numRemovedFiles;
    removal.numRemovedBytes += file.size;
    transaction.readFile(file);
    transaction.remove(removalOf(file, nowMs));
  }
  metrics_.numTouchedRows = removal.numDeletedRows;
}

bool TableEdit::run(Transaction& transaction, int numTasks, const RunTasks& runTasks, int64_t nowMs) {
  if (edit_.condition)
    transaction.readMatching(
        [condition = edit_.condition](const AddFile& file) { return condition->mayMatch(file); });
  else
    transaction.readWholeTable();
  const std::vector<AddFile> files = candidates();
  if (!readsRows()) {
    removeFiles(transaction, files, nowMs);
    return !files.empty();
  }
  numTasks = std::min(numTasks, static_cast<int>(files.size()));
  for (int i = 0; i < numTasks; ++i) workers_.push_back(std::make_unique<Worker>(*this, i));
  std::atomic<size_t> next = 0;
  runTasks(numTasks, [&](int task) {
    Worker& worker = *workers_[static_cast<size_t>(task)];
    for (size_t i = next++; i < files.size(); i = next++) worker.editFile(files[i], nowMs);
    worker.finish();
  });
  for (const auto& worker : workers_) worker->addTo(transaction, &metrics_, &touchedPartitions_);
  return metrics_.numTouchedRows > 0;
}

CommitOutcome TableEdit::commit(Transaction& transaction) {
  try {
    CommitOutcome outcome = transaction.commit();
    if (!std::holds_alternative<Conflicted>(outcome)) handOver();
    return outcome;
  } catch (...) {
    handOver();
    throw;
  }
}

void TableEdit::handOver() {
  for (const auto& worker : workers_) worker->handOver();
  workers_.clear();
}

void TableEdit::discard() noexcept {
  for (const auto& worker : workers_) worker->discard();
  workers_.clear();
}

}  // namespace thalweg::delta
