#include "sinks/delta/delta_write.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <set>

#include <arrow/record_batch.h>

#include "common/error.h"
#include "common/uuid.h"
#include "delta/files/column_mapping.h"
#include "delta/files/dependent_rules.h"
#include "delta/files/partition_values.h"
#include "delta/files/partitioned_writer.h"
#include "delta/files/row_tracking.h"
#include "delta/maintain/auto_compaction.h"
#include "delta/maintain/compaction.h"
#include "delta/modify/change_writer.h"
#include "delta/snapshot/clustering.h"
#include "delta/snapshot/table_features.h"
#include "delta/snapshot/table_properties.h"
#include "delta/snapshot/type_widening.h"
#include "storage/uri_path.h"
#include "types/column_metadata.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

// Delta's own measure for an optimized write, spark.databricks.delta.optimizeWrite.binSize: of rows in
// memory.
constexpr int64_t kOptimizedTaskBytes = int64_t{512} << 20;

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
  for (const char* name : {"replaceOn", "replaceUsing"}) {
    if (options.has(name)) throw unsupported(std::string("the Delta write option ") + name);
  }
  DeltaWriteOptions parsed;
  parsed.partitionBy = std::move(partitionBy);
  parsed.mergeSchema = options.getBool("mergeSchema", false);
  parsed.overwriteSchema = options.getBool("overwriteSchema", false);
  const std::string overwriteMode = options.getOr("partitionOverwriteMode", "static");
  parsed.dynamicOverwrite = equalsIgnoreCase(overwriteMode, "dynamic");
  if (!parsed.dynamicOverwrite && !equalsIgnoreCase(overwriteMode, "static")) {
    throw Error("DELTA_ILLEGAL_OPTION",
                "'" + overwriteMode + "' is no partitionOverwriteMode: STATIC and DYNAMIC are.",
                {{"name", "partitionOverwriteMode"},
                 {"input", overwriteMode},
                 {"explain", "must be 'STATIC' or 'DYNAMIC'"}});
  }
  parsed.maxRecordsPerFile = options.getLong("maxRecordsPerFile").value_or(0);
  parsed.userMetadata = options.get("userMetadata");
  for (const auto& [key, option] : options.entries()) {
    if (!key.starts_with("delta.")) continue;
    delta::checkTableProperty(option.name, option.value, /*allowUnknown=*/false);
    parsed.properties[delta::tablePropertyName(option.name)] = option.value;
  }
  parsed.replaceWhere = options.get("replaceWhere");
  parsed.txnAppId = options.get("txnAppId");
  parsed.txnVersion = options.getLong("txnVersion");
  if (options.has("optimizeWrite")) parsed.optimizeWrite = options.getBool("optimizeWrite", false);
  for (const char* key :
       {delta::kAutoCompactSetting, delta::kAutoCompactMinFilesSetting, delta::kAutoCompactMaxSizeSetting}) {
    if (const auto value = options.get(key)) parsed.autoCompaction[key] = *value;
  }
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

void DeltaWrite::settleProtocol() {
  const std::string uri = log_->table().uri();
  const std::set<std::string> wanted = delta::takeFeatureRequests(&metadata_, uri);
  std::set<std::string> features = wanted;
  if (request_.newTable && !request_.newTable->clusterBy.empty())
    features.insert({"clustering", "domainMetadata"});
  if (!snapshot_) {
    protocol_ = delta::protocolForNewTable(metadata_, uri, features);
    return checkDefaults();
  }
  delta::checkWritable(snapshot_->protocol(), uri);
  protocol_ = snapshot_->protocol();
  if (!metadataChanged_) return;
  protocol_ = delta::upgradedProtocol(protocol_, metadata_, uri, features);
  protocolChanged_ = !(protocol_ == snapshot_->protocol());
  checkDefaults();
}

// Unlike other features this one is not switched on by its use.
void DeltaWrite::checkDefaults() const {
  if (delta::supportsFeature(protocol_, "allowColumnDefaults")) return;
  for (const StructField& column : plan_.tableSchema->fields()) {
    if (!hasMetadataKey(column.metadata, delta::kCurrentDefault)) continue;
    throw Error(
        "WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED",
        "The column " + column.name +
            " has a default: the table needs the property 'delta.feature.allowColumnDefaults' = 'supported'.",
        {{"commandType", "CREATE TABLE"}});
  }
}

void DeltaWrite::settleRules() {
  std::vector<bool> given;
  for (size_t i = 0; i < plan_.dataColumns.size(); ++i) {
    given.push_back(plan_.dataColumns[i] >= 0);
    const StructField& column = plan_.tableSchema->fields()[i];
    const bool explicitly = metadataFlag(column.metadata, delta::kIdentityAllowExplicitInsert);
    if (!given.back() || !delta::isIdentity(column) || explicitly) continue;
    if (request_.newTable && request_.newTable->declared) continue;
    throw Error("DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED",
                "The column " + column.name +
                    " is GENERATED ALWAYS AS IDENTITY: the table gives its values. Leave it out.",
                {{"columnName", column.name}});
  }
  rules_ = std::make_unique<delta::RowRules>(metadata_, plan_.tableSchema, given, engine_.expressions.get());
  if (!options_.replaceWhere) return;
  if (!engine_.expressions)
    throw unsupported("the Delta write option replaceWhere without an evaluator of SQL");
  if (!request_.overwrite) return;
  rules_->requireReplaceWhere(*options_.replaceWhere, *engine_.expressions);
  // A condition that cannot be one is said before any row is read.
  if (snapshot_) replaceCondition_ = engine_.expressions->condition(*options_.replaceWhere, *snapshot_);
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
      request_.upsertKey,
      delta::makeTableLayout(log_->table(), metadata_, plan_.tableSchema, engine_.timeZone),
      std::move(changes));
}

bool DeltaWrite::replacesSchema() const {
  return snapshot_ && request_.overwrite && options_.overwriteSchema;
}

void DeltaWrite::settleSchema() {
  delta::WriteSchemaOptions rules;
  rules.mergeSchema = options_.mergeSchema;
  rules.streaming = request_.streaming;
  rules.canCast = static_cast<bool>(engine_.cast);
  if (!snapshot_ || replacesSchema() || request_.newTable) return settleNewSchema(rules);
  metadata_ = snapshot_->metadata();
  rules.columnMapping = delta::columnMappingMode(metadata_) != delta::ColumnMappingMode::None;
  rules.widenTypes = delta::tableFlag(metadata_, delta::kEnableTypeWidening);
  settlePartitioning(metadata_);
  plan_ = delta::planWriteSchema(*snapshot_->schema(), *request_.schema, rules);
  if (!plan_.schemaChanged) return;
  if (engine_.expressions) delta::checkWidenedColumns(metadata_, *plan_.tableSchema, *engine_.expressions);
  metadata_.schemaString = toSchemaJson(*plan_.tableSchema);
  delta::assignColumnMapping(&metadata_, delta::PhysicalNames::Generated);
  plan_.tableSchema = metadata_.schema();
  metadataChanged_ = true;
}

// A table that is made, made anew, or gets another schema.
void DeltaWrite::settleNewSchema(delta::WriteSchemaOptions rules) {
  const bool replacesTable = snapshot_ && request_.newTable;
  if (snapshot_ && !replacesTable) {
    metadata_ = snapshot_->metadata();
  } else {
    metadata_.id = randomUuid();
    metadata_.createdTime = log_->clock().nowMillis();
  }
  if (request_.newTable) {
    metadata_.description = request_.newTable->description;
    metadata_.configuration = request_.newTable->configuration;
  }
  if (!request_.streaming && (!snapshot_ || replacesTable))
    metadata_.configuration.insert(options_.properties.begin(), options_.properties.end());
  // Without vectors every changed row would rewrite its file.
  if (!snapshot_ && request_.upsertKey)
    metadata_.configuration.emplace(delta::kEnableDeletionVectors, "true");
  delta::nameRowIdColumns(&metadata_);
  rules.columnMapping = delta::columnMappingMode(metadata_) != delta::ColumnMappingMode::None;
  const bool declared = request_.newTable && request_.newTable->declared;
  SchemaPtr schema = delta::newTableSchema(*request_.schema, options_.partitionBy, rules);
  if (declared) schema = request_.schema;
  metadata_.schemaString = toSchemaJson(*schema);
  metadata_.partitionColumns = canonicalNames(*schema, options_.partitionBy);
  if (snapshot_ && rules.columnMapping) {
    // Ids are never given twice, to the readers of older versions.
    const auto recorded = snapshot_->metadata().configuration.find("delta.columnMapping.maxColumnId");
    if (recorded != snapshot_->metadata().configuration.end()) metadata_.configuration.insert(*recorded);
  }
  delta::assignColumnMapping(&metadata_, delta::PhysicalNames::Generated);
  metadataChanged_ = !snapshot_ || replacesTable ||
                     metadata_.schemaString != snapshot_->metadata().schemaString ||
                     metadata_.partitionColumns != snapshot_->metadata().partitionColumns;
  plan_ = delta::planWriteSchema(*metadata_.schema(), *request_.schema, rules);
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
  if (request_.newTable || replacesSchema()) setClustering(transaction);
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
      const delta::AddFile file = record.toAdd();
      if (options_.dynamicOverwrite && !isReplaced(file)) return;
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
  if (request_.streaming || upsert_) return std::nullopt;
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

void DeltaWrite::setClustering(delta::Transaction& transaction) const {
  const std::string name(delta::kClusteringDomain);
  std::optional<delta::DomainMetadata> domain;
  if (request_.newTable && !request_.newTable->clusterBy.empty())
    domain = delta::clusteringDomain(metadata_, request_.newTable->clusterBy);
  const bool had = snapshot_ && snapshot_->domainMetadata().contains(name);
  // As Delta has it, a write that replaces the schema and says no clustering leaves the table without any.
  if (had && !request_.newTable) domain = delta::clusteringDomain(metadata_, {});
  if (!domain && had) domain = {name, snapshot_->domainMetadata().at(name).configuration, true};
  if (domain) transaction.setDomain(*domain);
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
