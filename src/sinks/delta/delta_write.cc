#include "sinks/delta/delta_write.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <set>

#include <arrow/record_batch.h>

#include "common/error.h"
#include "delta/files/partition_values.h"
#include "delta/files/partitioned_writer.h"
#include "delta/maintain/auto_compaction.h"
#include "delta/maintain/compaction.h"
#include "delta/modify/change_writer.h"
#include "delta/snapshot/table_features.h"
#include "types/column_metadata.h"

namespace thalweg {
namespace {

// Delta's own measure for an optimized write, spark.databricks.delta.optimizeWrite.binSize: of rows in
// memory.
constexpr int64_t kOptimizedTaskBytes = int64_t{512} << 20;

}  // namespace

// The rows of one task.
class DeltaWrite::Task : public TaskWriter {
 public:
  Task(DeltaWrite& write, int taskId) : write_(write), writer_(write.layout_, taskId) {
    if (write.upsert_) upsert_.emplace(*write.upsert_);
  }
  ~Task() override {
    if (!closed_) writer_.abort();
  }

  void write(const std::shared_ptr<arrow::RecordBatch>& batch) override {
    const auto rows = write_.rules_->apply(
        delta::adaptRows(*batch, *write_.request_.schema, write_.plan_, write_.engine_.cast));
    if (upsert_)
      upsert_->write(writer_, rows);
    else
      writer_.write(rows);
    numRows_ += batch->num_rows();
  }

  void close() override {
    write_.takeFiles(writer_.close(), numRows_);
    if (upsert_) upsert_->close();
    closed_ = true;
  }

 private:
  DeltaWrite& write_;
  delta::PartitionedWriter writer_;
  std::optional<delta::Upsert::Task> upsert_;
  int64_t numRows_ = 0;
  bool closed_ = false;
};

DeltaWrite::DeltaWrite(std::shared_ptr<delta::DeltaLog> log, delta::SnapshotPtr snapshot,
                       DeltaWriteOptions options, DeltaWriteRequest request, DeltaWriteEngine engine)
    : log_(std::move(log)),
      snapshot_(std::move(snapshot)),
      options_(std::move(options)),
      request_(std::move(request)),
      engine_(std::move(engine)) {
  request_.schema = withoutQueryMarks(*request_.schema);
  settleSchema();
  settleProtocol();
  settleRules();
  layout_ = delta::makeDataFileLayout(log_->table(), metadata_, protocol_);
  layout_.maxRecordsPerFile = options_.maxRecordsPerFile;
  if (request_.upsertKey) settleUpsert();
}

std::unique_ptr<TaskWriter> DeltaWrite::openTask(int taskId) {
  return std::make_unique<Task>(*this, taskId);
}

void DeltaWrite::takeFiles(std::vector<delta::AddFile> files, int64_t numRows) {
  const std::lock_guard lock(mutex_);
  numRows_ += numRows;
  for (delta::AddFile& file : files) files_.push_back(std::move(file));
}

void DeltaWrite::fillMetrics(const delta::RemovalMetrics& removal) {
  int64_t bytes = removal.numAddedBytes;
  for (const delta::AddFile& file : files_) bytes += file.size;
  const auto numFiles = static_cast<int64_t>(files_.size()) + removal.numAddedFiles;
  auto& metrics = request_.operation.metrics;
  // A table made without rows has none to count, as Spark has it.
  if (request_.newTable && request_.newTable->declared) return;
  if (request_.streaming) {
    metrics = {{"numRemovedFiles", removal.numRemovedFiles},
               {"numAddedFiles", numFiles},
               {"numOutputRows", numRows_},
               {"numOutputBytes", bytes}};
    return;
  }
  metrics = {
      {"numFiles", numFiles}, {"numOutputRows", numRows_ + removal.numCopiedRows}, {"numOutputBytes", bytes}};
  if (request_.overwrite && snapshot_) {
    metrics.emplace_back("numRemovedFiles", removal.numRemovedFiles);
    metrics.emplace_back("numRemovedBytes", removal.numRemovedBytes);
  }
  if (!options_.replaceWhere) return;
  metrics.emplace_back("numCopiedRows", removal.numCopiedRows);
  metrics.emplace_back("numAddedChangeFiles",
                       removal.numAddedChangeFiles + static_cast<int64_t>(changeFiles_.size()));
  if (replaced_ && replaced_->metrics().rowsKnown)
    metrics.emplace_back("numDeletedRows", removal.numDeletedRows);
}

void DeltaWrite::commit() {
  request_.operation.userMetadata = options_.userMetadata;
  delta::Transaction transaction(log_, snapshot_);
  if (const auto moved = rules_->schemaAfter(metadata_)) {
    metadata_.schemaString = *moved;
    metadataChanged_ = true;
    request_.operation.tags.emplace_back("delta.identity.schemaUpdate", "true");
  }
  if (metadataChanged_) transaction.setMetadata(metadata_);
  if (!snapshot_ || protocolChanged_) transaction.setProtocol(protocol_);
  if (!snapshot_ || request_.newTable || replacesSchema()) setClustering(transaction);
  if (options_.readVersion) transaction.readWholeTable();
  if (request_.transaction) {
    transaction.readTransaction(request_.transaction->appId);
    request_.transaction->lastUpdated = log_->clock().nowMillis();
    transaction.setTransaction(*request_.transaction);
  }
  if (upsert_)
    transaction.planFiles([this](delta::Transaction& upserting) { planUpsert(upserting); });
  else
    planAppend(transaction);
  const delta::CommitOutcome outcome = replaced_ ? replaced_->commit(transaction) : transaction.commit();
  if (const auto* conflict = std::get_if<delta::Conflicted>(&outcome)) {
    abort();
    throw Error(conflict->error);
  }
  committed_ = std::get<delta::Committed>(outcome).snapshot;
  if (upsert_) upsert_->committed();
  if (options_.compactBehind && committed_) delta::compactSoon(log_, committed_);
  compactAfterCommit();
}

void DeltaWrite::planAppend(delta::Transaction& transaction) {
  for (const delta::AddFile& file : files_) transaction.add(file);
  const int64_t now = log_->clock().nowMillis();
  if (!request_.overwrite) {
    fillMetrics({});
  } else if (snapshot_ && options_.replaceWhere) {
    planReplaceWhere(transaction, now);
  } else {
    planOverwrite(transaction, now);
  }
  transaction.setOperation(request_.operation);
}

// Of all rows, or of the partitions that rows have come for.
void DeltaWrite::planOverwrite(delta::Transaction& transaction, int64_t now) {
  delta::RemovalMetrics removal;
  const auto partitions = std::make_shared<std::set<delta::PartitionValues>>();
  const auto columns = delta::storedPartitionColumns(layout_);
  const auto canonical = [columns, zone = engine_.timeZone](const delta::AddFile& file) {
    return delta::canonicalPartitionValues(file.partitionValues, columns, zone);
  };
  const auto isReplaced = [partitions, canonical](const delta::AddFile& file) {
    return partitions->contains(canonical(file));
  };
  if (options_.dynamicOverwrite) {
    for (const delta::AddFile& file : files_) partitions->insert(canonical(file));
    transaction.readMatching(isReplaced);
  } else {
    transaction.readWholeTable();
  }
  if (snapshot_) {
    snapshot_->files().forEachLive([&](const delta::FileRecord& record) {
      if (options_.dynamicOverwrite && !isReplaced(record.toAdd(delta::Statistics::LeftOut))) return;
      const delta::AddFile file = record.toAdd(delta::Statistics::IfKnown);
      transaction.remove(delta::removalOf(file, now));
      ++removal.numRemovedFiles;
      removal.numRemovedBytes += file.size;
    });
  }
  fillMetrics(removal);
}

void DeltaWrite::planReplaceWhere(delta::Transaction& transaction, int64_t now) {
  replaced_ = std::make_unique<delta::TableEdit>(
      *snapshot_, delta::RowEdit{replaceCondition_, {}, engine_.timeZone}, engine_.cancellation);
  try {
    replaced_->run(transaction, engine_.numTasks, runTasks(), now);
    // Where change files say what went, they must say what came, too.
    if (replaced_->metrics().removal.numAddedChangeFiles > 0) planInsertChanges(transaction);
  } catch (...) {
    abort();
    throw;
  }
  fillMetrics(replaced_->metrics().removal);
}

delta::RunTasks DeltaWrite::runTasks() const {
  if (engine_.runTasks) return engine_.runTasks;
  return [](int count, const std::function<void(int)>& task) {
    for (int i = 0; i < count; ++i) task(i);
  };
}

std::optional<BatchWrite::Gathering> DeltaWrite::gathering() const {
  if (upsert_) return std::nullopt;
  if (!options_.optimizeWrite.value_or(delta::tableFlag(metadata_, "delta.autoOptimize.optimizeWrite")))
    return std::nullopt;
  Gathering wanted;
  wanted.bytes = kOptimizedTaskBytes;
  for (const std::string& name : metadata_.partitionColumns) {
    const int column = plan_.tableSchema->fieldIndex(name, /*caseSensitive=*/false);
    const int data = plan_.dataColumns[static_cast<size_t>(column)];
    if (data >= 0) wanted.columns.push_back(data);
  }
  return wanted;
}

void DeltaWrite::compactAfterCommit() const {
  if (request_.streaming || (request_.newTable && request_.newTable->declared)) return;
  const auto rules = delta::autoCompactionRules(metadata_, [this](const std::string& key) {
    const auto found = options_.autoCompaction.find(key);
    return found == options_.autoCompaction.end() ? std::nullopt : std::optional(found->second);
  });
  if (!rules) return;
  std::set<delta::PartitionValues> touched;
  for (const delta::AddFile& file : files_) touched.insert(file.partitionValues);
  delta::compactAfterWrite(log_, touched, *rules, engine_.numTasks, runTasks(), engine_.cancellation);
}

void DeltaWrite::planInsertChanges(delta::Transaction& transaction) {
  const auto readLayout =
      delta::makeTableLayout(log_->table(), metadata_, plan_.tableSchema, engine_.timeZone);
  delta::DataFileReadOptions options;
  for (size_t i = 0; i < plan_.tableSchema->fields().size(); ++i)
    options.columns.push_back(static_cast<int>(i));
  options.cancellation = engine_.cancellation;
  const auto count = static_cast<int>(files_.size());
  const int numTasks = std::min(engine_.numTasks, count);
  std::atomic<int> next = 0;
  runTasks()(numTasks, [&](int task) {
    delta::ChangeWriter writer(layout_, task);
    for (int i = next++; i < count; i = next++) {
      delta::DataFileReader reader(readLayout, files_[static_cast<size_t>(i)], options);
      while (const auto rows = reader.next()) writer.write(rows, delta::kChangeInsert);
    }
    std::vector<delta::AddFile> written = writer.finish();
    const std::lock_guard lock(mutex_);
    std::move(written.begin(), written.end(), std::back_inserter(changeFiles_));
  });
  transaction.addFileActions(delta::changeActions(changeFiles_));
}

void DeltaWrite::planUpsert(delta::Transaction& transaction) {
  try {
    fillUpsertMetrics(upsert_->plan(transaction, files_, log_->clock().nowMillis()));
  } catch (...) {
    abort();
    throw;
  }
  transaction.setOperation(request_.operation);
}

void DeltaWrite::fillUpsertMetrics(const delta::RemovalMetrics& removal) {
  int64_t bytes = 0;
  for (const delta::AddFile& file : files_) bytes += file.size;
  request_.operation.metrics = {
      {"numRemovedFiles", removal.numRemovedFiles},
      {"numAddedFiles", static_cast<int64_t>(files_.size()) + removal.numAddedFiles},
      {"numOutputRows", numRows_},
      {"numOutputBytes", bytes + removal.numAddedBytes},
      {"numRemovedBytes", removal.numRemovedBytes},
      {"numDeletedRows", removal.numDeletedRows},
      {"numCopiedRows", removal.numCopiedRows},
      {"numDeletionVectorsAdded", removal.numDeletionVectorsAdded},
      {"numDeletionVectorsUpdated", removal.numDeletionVectorsUpdated},
      {"numDeletionVectorsRemoved", removal.numDeletionVectorsRemoved},
      {"numAddedChangeFiles", removal.numAddedChangeFiles}};
}

void DeltaWrite::abort() noexcept {
  const std::lock_guard lock(mutex_);
  if (upsert_) upsert_->discard();
  if (replaced_) replaced_->discard();
  delta::removeUncommitted(log_->table(), files_);
  delta::removeUncommitted(log_->table(), changeFiles_);
  files_.clear();
  changeFiles_.clear();
}

}  // namespace thalweg
