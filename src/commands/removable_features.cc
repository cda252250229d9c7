#include "commands/removable_features.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/table_rewrite.h"
#include "common/error.h"
#include "common/json_text.h"
#include "common/options.h"
#include "delta/checkpoint/checkpoint_writer.h"
#include "delta/checkpoint/log_clean_up.h"
#include "delta/files/column_mapping.h"
#include "delta/files/partition_values.h"
#include "delta/files/row_rules.h"
#include "delta/log/checkpoint_reader.h"
#include "delta/log/file_paths.h"
#include "delta/log/log_files.h"
#include "delta/log/log_segment.h"
#include "delta/maintain/optimize.h"
#include "delta/scan/vector_files.h"
#include "delta/snapshot/table_features.h"
#include "delta/snapshot/type_widening.h"

namespace thalweg {
namespace {

using delta::SnapshotPtr;
using nlohmann::ordered_json;

constexpr const char* kInCommitProvenance[] = {"delta.inCommitTimestampEnablementTimestamp",
                                               "delta.inCommitTimestampEnablementVersion"};

bool mentions(const delta::Metadata& metadata, std::string_view key) {
  return metadata.schemaString.find("\"" + std::string(key)) != std::string::npos;
}

const delta::Metadata* metadataOf(const delta::Action& action) {
  return std::get_if<delta::Metadata>(&action);
}

// One commit that sets properties and takes others away, named as Spark names it.
void changeProperties(const DroppedFrom& table, const std::vector<std::string>& unset,
                      const std::vector<std::pair<std::string, std::string>>& set,
                      delta::Operation operation) {
  const SnapshotPtr snapshot = table.log->require();
  delta::Metadata changed = snapshot->metadata();
  for (const std::string& key : unset) {
    std::erase_if(changed.configuration,
                  [&](const auto& entry) { return equalsIgnoreCase(entry.first, key); });
  }
  for (const auto& [key, value] : set) changed.configuration[key] = value;
  delta::Transaction transaction(table.log, snapshot);
  transaction.setMetadata(std::move(changed));
  transaction.setOperation(std::move(operation));
  delta::requireCommitted(transaction.commit());
}

void unsetProperties(const DroppedFrom& table, const std::vector<std::string>& keys,
                     const std::vector<std::pair<std::string, std::string>>& set = {}) {
  ordered_json names = keys;
  for (const auto& [key, value] : set) names.push_back(key);
  delta::Operation operation;
  operation.name = "UNSET TBLPROPERTIES";
  operation.parameters = {{"properties", delta::jsonText(toJsonText(names))}, {"ifExists", "true"}};
  changeProperties(table, keys, set, std::move(operation));
}

void setProperties(const DroppedFrom& table,
                   const std::vector<std::pair<std::string, std::string>>& properties) {
  ordered_json said = ordered_json::object();
  for (const auto& [key, value] : properties) said[key] = value;
  delta::Operation operation;
  operation.name = "SET TBLPROPERTIES";
  operation.parameters = {{"properties", delta::jsonText(toJsonText(said))}};
  changeProperties(table, {}, properties, std::move(operation));
}

// A schema's JSON with the fields' metadata keys that begin so left out.
void eraseFieldKeys(ordered_json& json, const std::string& front) {
  if (json.is_object()) {
    if (const auto metadata = json.find("metadata"); metadata != json.end() && metadata->is_object()) {
      std::vector<std::string> keys;
      for (const auto& [key, value] : metadata->items()) {
        if (key.starts_with(front)) keys.push_back(key);
      }
      for (const std::string& key : keys) metadata->erase(key);
    }
    for (auto& [key, value] : json.items()) {
      if (key != "metadata") eraseFieldKeys(value, front);
    }
  } else if (json.is_array()) {
    for (auto& element : json) eraseFieldKeys(element, front);
  }
}

// The snapshot has parsed it before: it is sound, and its depth is bounded.
std::string withoutFieldKeys(const std::string& schemaString, const std::string& front) {
  ordered_json json = ordered_json::parse(schemaString);
  eraseFieldKeys(json, front);
  return toJsonText(json);
}

bool nothingToClean(const DroppedFrom&) {
  return false;
}
bool alwaysClean(const delta::Snapshot&) {
  return true;
}
bool neverUsed(const delta::Action&) {
  return false;
}

// ---- checkConstraints

std::vector<std::string> constraintNames(const delta::Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const auto& [key, value] : snapshot.metadata().configuration) {
    if (key.starts_with(delta::kConstraintPrefix))
      names.push_back("`" + key.substr(std::string_view(delta::kConstraintPrefix).size()) + "`");
  }
  return names;
}

bool hasNoConstraints(const delta::Snapshot& snapshot) {
  return constraintNames(snapshot).empty();
}

// Dropping a feature never changes which rows a table takes.
bool requireNoConstraints(const DroppedFrom& table) {
  const auto names = constraintNames(*table.log->require());
  if (names.empty()) return false;
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  throw Error("DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE",
              "The feature checkConstraints cannot be dropped while the table has constraints: drop " + list +
                  " first.",
              {{"constraints", list}});
}

// ---- deletionVectors

bool hasNoVectors(const delta::Snapshot& snapshot) {
  return !delta::tableFlag(snapshot.metadata(), delta::kEnableDeletionVectors) &&
         snapshot.files().totals().numDeletionVectors == 0;
}

void purge(const DroppedFrom& table) {
  delta::OptimizeRequest request;
  request.kind = delta::OptimizeRequest::Kind::Purge;
  request.operation.name = "REORG";
  request.operation.parameters = {{"predicate", delta::jsonText("[]")}, {"applyPurge", "true"}};
  TaskPool& pool = table.session->pool();
  const auto runTasks = [&](int count, const std::function<void(int)>& task) { pool.runAll(count, task); };
  delta::optimizeTable(table.log, table.log->require(), request, pool.numSlots(), runTasks,
                       &table.session->cancellation());
}

// Vectors that only tombstones still name would look like strays to clients that know no vectors: the files
// that hold them get tombstones of their own.
void commitVectorTombstones(const DroppedFrom& table) {
  const SnapshotPtr snapshot = table.log->require();
  const int64_t nowMs = table.log->clock().nowMillis();
  std::set<std::string> vectorFiles;
  std::set<std::string> there;
  delta::FileFields fields;
  snapshot->files().forEachTombstone(
      nowMs - delta::deletedFileRetentionMs(snapshot->metadata()), [&](const delta::FileRecord& record) {
        record.read(fields);
        if (!fields.deletionVector) {
          there.insert(delta::canonicalFilePath(fields.path, snapshot->table().path));
        } else if (fields.deletionVector->storageType == "u") {
          vectorFiles.insert(delta::relativeVectorPath(fields.deletionVector->pathOrInlineDv));
        }
      });
  delta::Transaction transaction(table.log, snapshot);
  for (const std::string& path : vectorFiles) {
    if (there.contains(path)) continue;
    delta::RemoveFile remove;
    remove.path = path;
    remove.deletionTimestamp = nowMs;
    remove.dataChange = false;
    transaction.remove(std::move(remove));
  }
  delta::Operation operation;
  operation.name = "Deletion Vector Tombstones";
  transaction.setOperation(std::move(operation));
  delta::requireCommitted(transaction.commit());
}

bool removeVectors(const DroppedFrom& table) {
  const bool found = !hasNoVectors(*table.log->require());
  if (found) unsetProperties(table, {std::string(delta::kEnableDeletionVectors)});
  purge(table);
  commitVectorTombstones(table);
  return found;
}

bool usesVectors(const delta::Action& action) {
  if (const auto* metadata = metadataOf(action))
    return delta::tableFlag(*metadata, delta::kEnableDeletionVectors);
  if (const auto* add = std::get_if<delta::AddFile>(&action)) return add->deletionVector.has_value();
  const auto* remove = std::get_if<delta::RemoveFile>(&action);
  return remove && remove->deletionVector;
}

// ---- v2Checkpoint

bool restsOnNoV2Checkpoint(const delta::Snapshot& snapshot) {
  if (delta::hasV2Policy(snapshot.metadata())) return false;
  const auto segment =
      delta::listLogSegment(*snapshot.table().fileSystem, snapshot.logPath(), snapshot.version());
  return !segment || !segment->checkpoint ||
         !isV2Checkpoint(*snapshot.table().fileSystem, *segment->checkpoint);
}

bool switchV2Off(const DroppedFrom& table) {
  if (restsOnNoV2Checkpoint(*table.log->require())) return false;
  setProperties(table, {{std::string(delta::kCheckpointPolicy), "classic"}});
  return true;
}

bool usesV2(const delta::Action& action) {
  const auto* metadata = metadataOf(action);
  return metadata && delta::hasV2Policy(*metadata);
}

// ---- inCommitTimestamp

std::vector<std::string> inCommitProvenance(const delta::Metadata& metadata) {
  std::vector<std::string> keys;
  for (const char* key : kInCommitProvenance) {
    if (metadata.configuration.contains(key)) keys.emplace_back(key);
  }
  return keys;
}

bool hasNoCommitTimes(const delta::Snapshot& snapshot) {
  return !delta::tableFlag(snapshot.metadata(), delta::kEnableInCommitTimestamps) &&
         inCommitProvenance(snapshot.metadata()).empty();
}

bool switchCommitTimesOff(const DroppedFrom& table) {
  const SnapshotPtr snapshot = table.log->require();
  if (hasNoCommitTimes(*snapshot)) return false;
  std::vector<std::pair<std::string, std::string>> off;
  if (delta::tableFlag(snapshot->metadata(), delta::kEnableInCommitTimestamps))
    off.emplace_back(delta::kEnableInCommitTimestamps, "false");
  unsetProperties(table, inCommitProvenance(snapshot->metadata()), off);
  return true;
}

// ---- typeWidening

bool hasNoWidenedTypes(const delta::Snapshot& snapshot) {
  return !delta::tableFlag(snapshot.metadata(), delta::kEnableTypeWidening) &&
         !mentions(snapshot.metadata(), "delta.typeChanges");
}

bool switchWideningOff(const DroppedFrom& table) {
  const SnapshotPtr snapshot = table.log->require();
  if (hasNoWidenedTypes(*snapshot)) return false;
  if (!mentions(snapshot->metadata(), "delta.typeChanges")) {
    unsetProperties(table, {std::string(delta::kEnableTypeWidening)});
    return false;
  }
  // Every file gets the types of today; what says otherwise goes in the same commit.
  delta::Metadata changed = snapshot->metadata();
  changed.schemaString = withoutFieldKeys(changed.schemaString, "delta.typeChanges");
  std::erase_if(changed.configuration,
                [](const auto& entry) { return equalsIgnoreCase(entry.first, delta::kEnableTypeWidening); });
  delta::Operation operation;
  operation.name = "REORG";
  operation.parameters = {{"predicate", delta::jsonText("[]")}, {"applyPurge", "true"}};
  rewriteTable(table.log, snapshot, std::move(changed), std::move(operation), *table.session);
  return true;
}

bool usesWidening(const delta::Action& action) {
  const auto* metadata = metadataOf(action);
  return metadata && mentions(*metadata, "delta.typeChanges");
}

// ---- columnMapping

bool hasNoMapping(const delta::Snapshot& snapshot) {
  return delta::columnMappingMode(snapshot.metadata()) == delta::ColumnMappingMode::None &&
         !mentions(snapshot.metadata(), "delta.columnMapping.");
}

// Without mapping, columns have in files the names that they are shown by.
void requireStorableNames(const DataType& type) {
  for (const StructField& field : type.fields()) {
    if (field.name.find_first_of(" ,;{}()\n\t=") != std::string::npos) {
      throw Error("DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING",
                  "The column '" + field.name +
                      "' has a name that files cannot have, so the table keeps its column mapping: "
                      "rename it first (no spaces and none of ,;{}()=).",
                  {{"invalidColumnNames", field.name}});
    }
    if (field.type->id() == TypeId::Struct) requireStorableNames(*field.type);
  }
}

bool removeMapping(const DroppedFrom& table) {
  const SnapshotPtr snapshot = table.log->require();
  if (hasNoMapping(*snapshot)) return false;
  requireStorableNames(*snapshot->schema());
  delta::Metadata changed = snapshot->metadata();
  changed.schemaString = withoutFieldKeys(changed.schemaString, "delta.columnMapping.");
  std::erase_if(changed.configuration, [](const auto& entry) {
    return toLowerAscii(entry.first).starts_with("delta.columnmapping.");
  });
  delta::Operation operation;
  operation.name = "REMOVE COLUMN MAPPING";
  rewriteTable(table.log, snapshot, std::move(changed), std::move(operation), *table.session);
  return true;
}

bool usesMapping(const delta::Action& action) {
  const auto* metadata = metadataOf(action);
  return metadata && delta::columnMappingMode(*metadata) != delta::ColumnMappingMode::None;
}

// ---- domainMetadata

bool hasNoDomains(const delta::Snapshot& snapshot) {
  return snapshot.domainMetadata().empty();
}

bool removeDomains(const DroppedFrom& table) {
  const SnapshotPtr snapshot = table.log->require();
  if (hasNoDomains(*snapshot)) return false;
  delta::Transaction transaction(table.log, snapshot);
  int64_t count = 0;
  for (const auto& [name, domain] : snapshot->domainMetadata()) {
    transaction.setDomain({domain.domain, domain.configuration, true});
    ++count;
  }
  delta::Operation operation;
  operation.name = "DOMAIN METADATA CLEANUP";
  operation.parameters = {{"domainMetadataRemovedCount", std::to_string(count)}};
  transaction.setOperation(std::move(operation));
  delta::requireCommitted(transaction.commit());
  return true;
}

// ---- rowTracking

bool hasNoRowIds(const delta::Snapshot& snapshot) {
  if (delta::tableFlag(snapshot.metadata(), delta::kRowTracking)) return false;
  if (!delta::tableFlag(snapshot.metadata(), delta::kRowTrackingSuspended)) return false;
  bool clean = true;
  delta::FileFields fields;
  snapshot.files().forEachLive([&](const delta::FileRecord& record) {
    record.read(fields, delta::Statistics::LeftOut);
    clean &= !fields.baseRowId && !fields.defaultRowCommitVersion;
  });
  return clean;
}

// In files that others add meanwhile there are none: row ids are suspended before.
bool removeRowIds(const DroppedFrom& table) {
  if (hasNoRowIds(*table.log->require())) return false;
  setProperties(table, {{std::string(delta::kRowTracking), "false"},
                        {std::string(delta::kRowTrackingSuspended), "true"}});
  const SnapshotPtr snapshot = table.log->require();
  delta::Transaction transaction(table.log, snapshot);
  bool any = false;
  snapshot->files().forEachLive([&](const delta::FileRecord& record) {
    delta::AddFile file = record.toAdd();
    if (!file.baseRowId && !file.defaultRowCommitVersion) return;
    transaction.readFile(file);
    file.baseRowId.reset();
    file.defaultRowCommitVersion.reset();
    file.dataChange = false;
    transaction.add(std::move(file));
    any = true;
  });
  if (!any) return true;
  delta::Operation operation;
  operation.name = "ROW TRACKING UNBACKFILL";
  operation.parameters = {{"batchId", delta::jsonText("0")}};
  transaction.setOperation(std::move(operation));
  delta::requireCommitted(transaction.commit());
  return true;
}

// ---- checkpointProtection

bool hasNoProtection(const delta::Snapshot& snapshot) {
  return !snapshot.metadata().configuration.contains(std::string(delta::kCheckpointProtection));
}

bool removeProtectedHistory(const DroppedFrom& table) {
  if (!isProtectedHistoryGone(*table.log->require())) {
    commitBarrier(table);
    const SnapshotPtr snapshot = table.log->require();
    const int64_t retentionMs = delta::truncateHistoryRetentionMs(snapshot->metadata());
    delta::cleanUpLog(*snapshot, delta::cleanUpCutoffMs(table.log->clock().nowMillis(), retentionMs,
                                                        delta::CleanUpGranularity::Minute));
    if (!isProtectedHistoryGone(*snapshot)) {
      const std::string period =
          delta::tableProperty(snapshot->metadata(), "delta.dropFeatureTruncateHistory.retentionDuration")
              .value_or("24 hours");
      throw Error("DELTA_FEATURE_DROP_CHECKPOINT_PROTECTION_WAIT_FOR_RETENTION_PERIOD",
                  "The table's history still holds versions that use dropped features, so "
                  "checkpointProtection stays. "
                  "Run the statement again when they are older than " +
                      period + ".",
                  {{"truncateHistoryLogRetentionPeriod", period}});
    }
  }
  unsetProperties(table, {std::string(delta::kCheckpointProtection)});
  return false;
}

const std::vector<RemovableFeature>& removableFeatures() {
  static const std::vector<RemovableFeature> kFeatures = {
      {"checkConstraints", false, hasNoConstraints, requireNoConstraints, neverUsed},
      {"columnMapping",
       true,
       hasNoMapping,
       removeMapping,
       usesMapping,
       {},
       {},
       {"icebergCompatV1", "icebergCompatV2"}},
      {"deletionVectors", true, hasNoVectors, removeVectors, usesVectors},
      {"v2Checkpoint", true, restsOnNoV2Checkpoint, switchV2Off, usesV2},
      {"vacuumProtocolCheck", true, alwaysClean, nothingToClean, neverUsed},
      {"typeWidening", true, hasNoWidenedTypes, switchWideningOff, usesWidening},
      {"typeWidening-preview", true, hasNoWidenedTypes, switchWideningOff, usesWidening},
      {"inCommitTimestamp", false, hasNoCommitTimes, switchCommitTimesOff, neverUsed},
      {"domainMetadata",
       false,
       hasNoDomains,
       removeDomains,
       neverUsed,
       {},
       {},
       {"clustering", "rowTracking"}},
      {"rowTracking",
       false,
       hasNoRowIds,
       removeRowIds,
       neverUsed,
       {std::string(delta::kRowTracking), std::string(delta::kRowTrackingSuspended),
        "delta.rowTracking.materializedRowIdColumnName",
        "delta.rowTracking.materializedRowCommitVersionColumnName"},
       {"delta.rowTracking"}},
      {"checkpointProtection", false, hasNoProtection, removeProtectedHistory, neverUsed},
  };
  return kFeatures;
}

}  // namespace

bool isV2Checkpoint(FileSystem& fileSystem, const delta::CheckpointFiles& checkpoint) {
  const auto name = delta::parseLogFileName(checkpoint.files.front().name());
  return (name && name->kind == delta::LogFileKind::UuidCheckpoint) ||
         !delta::sidecarNames(fileSystem, checkpoint).empty();
}

const RemovableFeature* findRemovableFeature(std::string_view name) {
  for (const RemovableFeature& feature : removableFeatures()) {
    if (feature.name == name) return &feature;
  }
  return nullptr;
}

void commitBarrier(const DroppedFrom& table) {
  delta::Transaction transaction(table.log, table.log->require());
  delta::Operation operation;
  operation.name = "Empty Commit";
  transaction.setOperation(std::move(operation));
  delta::requireCommitted(transaction.commit());
  delta::writeCheckpoint(*table.log->require(), table.log->clock(), table.log->checkpointSettings());
}

bool isProtectedHistoryGone(const delta::Snapshot& snapshot) {
  const int64_t protectedBefore =
      delta::checkpointProtectionVersion(snapshot.protocol(), snapshot.metadata());
  if (protectedBefore <= 0) return true;
  FileSystem& fileSystem = *snapshot.table().fileSystem;
  const auto earliest = delta::earliestReliableCheckpoint(fileSystem, snapshot.logPath());
  if (!earliest || *earliest < protectedBefore) return false;
  const auto commits = delta::listCommits(fileSystem, snapshot.logPath());
  return commits.empty() || delta::parseLogFileName(commits.front().name())->version >= protectedBefore;
}

}  // namespace thalweg
