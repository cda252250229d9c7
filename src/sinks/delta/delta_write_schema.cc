// What a write makes of its table before it has rows: schema, partitioning, protocol, rules.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "common/error.h"
#include "common/uuid.h"
#include "delta/files/column_mapping.h"
#include "delta/files/dependent_rules.h"
#include "delta/files/row_tracking.h"
#include "delta/snapshot/clustering.h"
#include "delta/snapshot/metadata_rules.h"
#include "delta/snapshot/protocol_choice.h"
#include "delta/snapshot/statistics_columns.h"
#include "delta/snapshot/table_features.h"
#include "delta/snapshot/type_widening.h"
#include "sinks/delta/delta_write.h"
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

std::vector<std::string> dotted(const std::vector<std::vector<std::string>>& paths) {
  std::vector<std::string> names;
  for (const auto& path : paths) names.push_back(fmt::format("{}", fmt::join(path, ".")));
  return names;
}

bool sameNames(const std::vector<std::string>& left, const std::vector<std::string>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const auto& a, const auto& b) { return equalsIgnoreCase(a, b); });
}

}  // namespace

void DeltaWrite::settleProtocol() {
  if (metadataChanged_) delta::checkNewMetadata(snapshot_ ? &snapshot_->metadata() : nullptr, metadata_);
  const std::string uri = log_->table().uri();
  const std::set<std::string> wanted = delta::takeFeatureRequests(&metadata_, uri);
  std::set<std::string> features = wanted;
  if (!options_.clusterBy.empty()) features.insert({"clustering", "domainMetadata"});
  if (!snapshot_) {
    protocol_ = delta::protocolForNewTable(metadata_, uri, features);
    return checkDefaults();
  }
  delta::checkWritable(snapshot_->protocol(), snapshot_->metadata(), uri);
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
  if (!options_.partitionBy.empty() && !options_.clusterBy.empty()) {
    throw Error("DELTA_CLUSTER_BY_WITH_PARTITIONED_BY",
                "A table is partitioned or clustered, not both: leave one of the two out.");
  }
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
  if (!snapshot_ || replacesTable) delta::checkStatisticsColumns(metadata_);
  metadataChanged_ = !snapshot_ || replacesTable || !options_.clusterBy.empty() ||
                     metadata_.schemaString != snapshot_->metadata().schemaString ||
                     metadata_.partitionColumns != snapshot_->metadata().partitionColumns;
  plan_ = delta::planWriteSchema(*metadata_.schema(), *request_.schema, rules);
}

void DeltaWrite::settlePartitioning(const delta::Metadata& table) const {
  if (!options_.partitionBy.empty() && !sameNames(options_.partitionBy, table.partitionColumns)) {
    throw Error(
        "DELTA_METADATA_MISMATCH",
        fmt::format("The write is partitioned by [{}] and the table by [{}]. Leave partitionBy out, or "
                    "name the table's columns.",
                    fmt::join(options_.partitionBy, ", "), fmt::join(table.partitionColumns, ", ")));
  }
  if (options_.clusterBy.empty()) return;
  const std::vector<std::string> given = dotted(options_.clusterBy);
  const std::vector<std::string> there = dotted(delta::clusteringColumns(*snapshot_));
  if (sameNames(given, there)) return;
  throw Error(
      "DELTA_CLUSTERING_COLUMNS_MISMATCH",
      fmt::format("The write is clustered by [{}] and the table by [{}]. Leave clusterBy out, or name "
                  "the table's columns.",
                  fmt::join(given, ", "), fmt::join(there, ", ")),
      {{"providedClusteringColumns", fmt::format("{}", fmt::join(given, ","))},
       {"existingClusteringColumns", fmt::format("{}", fmt::join(there, ","))}});
}

void DeltaWrite::setClustering(delta::Transaction& transaction) const {
  const std::string name(delta::kClusteringDomain);
  std::optional<delta::DomainMetadata> domain;
  const bool had = snapshot_ && snapshot_->domainMetadata().contains(name);
  if (!options_.clusterBy.empty())
    domain = delta::clusteringDomain(metadata_, options_.clusterBy);
  else if (had && !request_.newTable)
    // As Delta has it, a write that replaces the schema and says no clustering leaves the table without any.
    domain = delta::clusteringDomain(metadata_, {});
  if (!domain && had) domain = {name, snapshot_->domainMetadata().at(name).configuration, true};
  if (domain) transaction.setDomain(*domain);
}

}  // namespace thalweg
