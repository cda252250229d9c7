// DROP FEATURE of what lies with the files: deletion vectors, ids of rows.
#include <set>

#include "commands/feature_traces.h"
#include "delta/files/partition_values.h"
#include "delta/log/file_paths.h"
#include "delta/maintain/optimize.h"
#include "delta/scan/vector_files.h"
#include "delta/snapshot/table_features.h"

namespace thalweg {
namespace {

using delta::SnapshotPtr;

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
        record.read(fields, delta::Statistics::LeftOut);
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

}  // namespace

std::vector<RemovableFeature> fileFeatures() {
  return {
      {"deletionVectors", true, hasNoVectors, removeVectors, usesVectors},
      {"rowTracking",
       false,
       hasNoRowIds,
       removeRowIds,
       neverUsed,
       {std::string(delta::kRowTracking), std::string(delta::kRowTrackingSuspended),
        "delta.rowTracking.materializedRowIdColumnName",
        "delta.rowTracking.materializedRowCommitVersionColumnName"},
       {"delta.rowTracking"}},
  };
}

}  // namespace thalweg
