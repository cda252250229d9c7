#include "sinks/delta/delta_write.h"

#include <algorithm>

#include <arrow/record_batch.h>

#include "common/error.h"
#include "common/uuid.h"
#include "delta/files/column_mapping.h"
#include "delta/files/partitioned_writer.h"
#include "delta/maintain/compaction.h"
#include "delta/snapshot/table_features.h"
#include "storage/uri_path.h"
#include "types/column_metadata.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

// The partition columns in the schema's own spelling.
std::vector<std::string> canonicalNames(const Schema& schema, const std::vector<std::string>& names) {
  std::vector<std::string> canonical;
  for (const std::string& name : names) {
    canonical.push_back(
        schema.fields()[static_cast<size_t>(schema.fieldIndex(name, /*caseSensitive=*/false))].name);
  }
  return canonical;
}

bool sameNames(const std::vector<std::string>& left, const std::vector<std::string>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const auto& a, const auto& b) { return equalsIgnoreCase(a, b); });
}

}  // namespace

DeltaWriteOptions DeltaWriteOptions::parse(const Options& options, std::vector<std::string> partitionBy) {
  for (const char* name : {"replaceWhere", "replaceOn", "replaceUsing"}) {
    if (options.has(name)) throw unsupported(std::string("the Delta write option ") + name);
  }
  DeltaWriteOptions parsed;
  parsed.partitionBy = std::move(partitionBy);
  parsed.mergeSchema = options.getBool("mergeSchema", false);
  parsed.overwriteSchema = options.getBool("overwriteSchema", false);
  parsed.dynamicOverwrite = equalsIgnoreCase(options.getOr("partitionOverwriteMode", "static"), "dynamic");
  parsed.maxRecordsPerFile = options.getLong("maxRecordsPerFile").value_or(0);
  parsed.userMetadata = options.get("userMetadata");
  parsed.txnAppId = options.get("txnAppId");
  parsed.txnVersion = options.getLong("txnVersion");
  return parsed;
}

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
    const auto rows = delta::adaptRows(*batch, *write_.request_.schema, write_.plan_, write_.cast_);
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
                       DeltaWriteOptions options, DeltaWriteRequest request, delta::CastFunction cast)
    : log_(std::move(log)),
      snapshot_(std::move(snapshot)),
      options_(std::move(options)),
      request_(std::move(request)),
      cast_(std::move(cast)) {
  request_.schema = withoutQueryMarks(*request_.schema);
  settleSchema(cast_);
  const delta::Protocol protocol =
      snapshot_ ? snapshot_->protocol() : delta::protocolForNewTable(metadata_, log_->table().uri());
  if (snapshot_) delta::checkWritable(protocol, metadata_, log_->table().uri());
  layout_ = delta::makeDataFileLayout(log_->table(), metadata_, protocol);
  layout_.maxRecordsPerFile = options_.maxRecordsPerFile;
  if (request_.upsertKey) settleUpsert();
}

// What can be known at the start of a query must not end it in the middle.
void DeltaWrite::settleUpsert() {
  delta::checkRemovesRows(metadata_, log_->table().uri());
  for (const std::string& name : request_.upsertKey->names()) {
    const auto typeIn = [&](const Schema& schema) {
      return schema.fields()[static_cast<size_t>(schema.fieldIndex(name, /*caseSensitive=*/false))].type;
    };
    const DataTypePtr table = typeIn(*plan_.tableSchema);
    const DataTypePtr query = typeIn(*request_.schema);
    if (equals(*table, *query)) continue;
    // Two groups could become one row.
    throw Error(
        "DELTA_FAILED_TO_MERGE_FIELDS",
        fmt::format("The query groups by column {} as {}, and the table has it as {}: in update mode, which "
                    "finds rows by "
                    "their grouping columns, these are not cast. Cast the column before it is grouped by.",
                    name, query->sqlString(), table->sqlString()),
        {{"currentField", name}, {"updateField", name}});
  }
  std::optional<delta::DataFileLayout> changes;
  if (delta::tableFlag(metadata_, delta::kEnableChangeDataFeed)) changes = layout_;
  upsert_ = std::make_unique<delta::Upsert>(
      request_.upsertKey, delta::makeTableLayout(log_->table(), metadata_, plan_.tableSchema),
      std::move(changes));
}

void DeltaWrite::settleSchema(const delta::CastFunction& cast) {
  delta::WriteSchemaOptions rules;
  rules.mergeSchema = options_.mergeSchema;
  rules.streaming = request_.streaming;
  rules.canCast = static_cast<bool>(cast);
  if (snapshot_) {
    metadata_ = snapshot_->metadata();
    rules.columnMapping = delta::columnMappingMode(metadata_) != delta::ColumnMappingMode::None;
  }
  const bool replaceTable = snapshot_ && request_.newTable;
  const bool replaceSchema = snapshot_ && request_.overwrite && options_.overwriteSchema;
  if ((replaceSchema || replaceTable) && rules.columnMapping)
    throw unsupported("a new schema (overwriteSchema, CREATE OR REPLACE) on a table with column mapping");
  if (!snapshot_ || replaceSchema || replaceTable) {
    SchemaPtr schema = delta::newTableSchema(*request_.schema, options_.partitionBy, rules);
    if (request_.newTable && request_.newTable->keepNullability) schema = request_.schema;
    if (!snapshot_ || replaceTable) {
      metadata_ = {};
      metadata_.id = randomUuid();
      metadata_.createdTime = log_->clock().nowMillis();
    }
    if (request_.newTable) {
      metadata_.description = request_.newTable->description;
      metadata_.configuration = request_.newTable->configuration;
    }
    // Without vectors every changed row would rewrite its file.
    if (!snapshot_ && request_.upsertKey) metadata_.configuration.emplace(delta::kEnableDeletionVectors, "true");
    metadata_.schemaString = toSchemaJson(*schema);
    metadata_.partitionColumns = canonicalNames(*schema, options_.partitionBy);
    metadataChanged_ = !snapshot_ || replaceTable ||
                       metadata_.schemaString != snapshot_->metadata().schemaString ||
                       metadata_.partitionColumns != snapshot_->metadata().partitionColumns;
    plan_ = delta::planWriteSchema(*schema, *request_.schema, rules);
    if (replaceTable) checkFeatures();
    return;
  }
  settlePartitioning(metadata_);
  plan_ = delta::planWriteSchema(*snapshot_->schema(), *request_.schema, rules);
  if (plan_.schemaChanged) {
    metadata_.schemaString = toSchemaJson(*plan_.tableSchema);
    metadataChanged_ = true;
  }
}

// A replaced table keeps its protocol: what its new schema and properties ask for must be in it already.
void DeltaWrite::checkFeatures() const {
  const auto there = delta::writerFeatures(snapshot_->protocol());
  for (const std::string& feature :
       delta::writerFeatures(delta::protocolForNewTable(metadata_, log_->table().uri()))) {
    if (std::find(there.begin(), there.end(), feature) == there.end()) {
      throw unsupported("replacing a table by one that needs the feature " + feature +
                        ", which the table lacks (drop it and create it)");
    }
  }
}

void DeltaWrite::settlePartitioning(const delta::Metadata& table) const {
  if (options_.partitionBy.empty() || sameNames(options_.partitionBy, table.partitionColumns)) return;
  throw Error("DELTA_METADATA_MISMATCH",
              fmt::format("The write is partitioned by [{}] and the table by [{}]. Leave partitionBy out, or "
                          "name the table's "
                          "columns.",
                          fmt::join(options_.partitionBy, ", "), fmt::join(table.partitionColumns, ", ")));
}

std::unique_ptr<TaskWriter> DeltaWrite::openTask(int taskId) {
  return std::make_unique<Task>(*this, taskId);
}

void DeltaWrite::takeFiles(std::vector<delta::AddFile> files, int64_t numRows) {
  const std::lock_guard lock(mutex_);
  numRows_ += numRows;
  for (delta::AddFile& file : files) files_.push_back(std::move(file));
}

void DeltaWrite::fillMetrics(int64_t removedFiles, int64_t removedBytes) {
  int64_t bytes = 0;
  for (const delta::AddFile& file : files_) bytes += file.size;
  const auto numFiles = static_cast<int64_t>(files_.size());
  auto& metrics = request_.operation.metrics;
  // A table made without rows has none to count, as Spark has it.
  if (request_.newTable && request_.newTable->keepNullability) return;
  if (request_.streaming) {
    metrics = {{"numRemovedFiles", removedFiles},
               {"numAddedFiles", numFiles},
               {"numOutputRows", numRows_},
               {"numOutputBytes", bytes}};
    return;
  }
  metrics = {{"numFiles", numFiles}, {"numOutputRows", numRows_}, {"numOutputBytes", bytes}};
  if (request_.overwrite && snapshot_) {
    metrics.emplace_back("numRemovedFiles", removedFiles);
    metrics.emplace_back("numRemovedBytes", removedBytes);
  }
}

void DeltaWrite::commit() {
  request_.operation.userMetadata = options_.userMetadata;
  delta::Transaction transaction(log_, snapshot_);
  if (metadataChanged_) transaction.setMetadata(metadata_);
  if (request_.transaction) {
    transaction.readTransaction(request_.transaction->appId);
    request_.transaction->lastUpdated = log_->clock().nowMillis();
    transaction.setTransaction(*request_.transaction);
  }
  if (upsert_)
    transaction.planFiles([this](delta::Transaction& upserting) { planUpsert(upserting); });
  else
    planAppend(transaction);
  const delta::CommitOutcome outcome = transaction.commit();
  if (const auto* conflict = std::get_if<delta::Conflicted>(&outcome)) {
    abort();
    throw Error(conflict->error);
  }
  committed_ = std::get<delta::Committed>(outcome).snapshot;
  if (upsert_) upsert_->committed();
  if (options_.compactBehind && committed_) delta::compactSoon(log_, committed_);
}

void DeltaWrite::planAppend(delta::Transaction& transaction) {
  for (const delta::AddFile& file : files_) transaction.add(file);
  int64_t removedFiles = 0;
  int64_t removedBytes = 0;
  if (request_.overwrite) transaction.readWholeTable();
  if (request_.overwrite && snapshot_) {
    const int64_t now = log_->clock().nowMillis();
    snapshot_->files().forEachLive([&](const delta::FileRecord& record) {
      transaction.remove(delta::removalOf(record.toAdd(), now));
      ++removedFiles;
      removedBytes += record.sizeBytes();
    });
  }
  fillMetrics(removedFiles, removedBytes);
  transaction.setOperation(request_.operation);
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
  delta::removeUncommitted(log_->table(), files_);
  files_.clear();
}

}  // namespace thalweg
