#include "delta/maintain/restore.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <date/date.h>

#include "common/error.h"
#include "delta/commit/transaction.h"
#include "delta/files/row_rules.h"
#include "delta/log/log_segment.h"
#include "delta/scan/table_layout.h"
#include "delta/scan/vector_files.h"
#include "delta/snapshot/clustering.h"
#include "delta/snapshot/history.h"
#include "delta/snapshot/protocol_choice.h"
#include "delta/snapshot/table_features.h"
#include "types/column_metadata.h"
#include "types/schema_json.h"

namespace thalweg::delta {
namespace {

std::string timeText(int64_t ms) {
  return date::format("%F %T", date::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(ms)));
}

SnapshotPtr versionOf(DeltaLog& log, const Snapshot& newest, int64_t version) {
  const auto earliest = earliestRecreatableVersion(*log.table().fileSystem, log.logPath()).value_or(0);
  // The newest version is the table as it is.
  if (version >= earliest && version <= newest.version()) return log.snapshotAt(version);
  const std::string last = std::to_string(newest.version());
  throw Error("DELTA_CANNOT_RESTORE_TABLE_VERSION",
              "The table cannot become version " + std::to_string(version) +
                  " again: there are the versions " + std::to_string(earliest) + " to " + last + ".",
              {{"version", std::to_string(version)},
               {"startVersion", std::to_string(earliest)},
               {"endVersion", last}});
}

SnapshotPtr versionAt(DeltaLog& log, const Snapshot& newest, int64_t timestampMs) {
  try {
    return log.snapshotAt(versionAtTimestamp(newest, timestampMs));
  } catch (const Error& error) {
    const bool earlier = error.condition() == "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION";
    if (!earlier && error.condition() != "DELTA_TIMESTAMP_GREATER_THAN_COMMIT") throw;
    const auto times = readCommitTimes(newest);
    const int64_t bound = earlier && !times.empty() ? times.front().timestampMs : newest.timestampMs();
    throw Error(earlier ? "DELTA_CANNOT_RESTORE_TIMESTAMP_EARLIER" : "DELTA_CANNOT_RESTORE_TIMESTAMP_GREATER",
                "The table cannot become again what it was at " + timeText(timestampMs) + " UTC: its " +
                    (earlier ? "oldest" : "newest") + " version is of " + timeText(bound) + " UTC.",
                {{"requestedTimestamp", timeText(timestampMs)},
                 {earlier ? "earliestTimestamp" : "latestTimestamp", timeText(bound)}});
  }
}

// A file, and that of its vector.
bool isThere(const AddFile& file, const TableLayout& layout) {
  const Location place = locateFile(layout, file.path);
  if (!place.fileSystem->stat(place.path)) return false;
  if (!file.deletionVector || file.deletionVector->storageType == "i") return true;
  const std::string& named = file.deletionVector->pathOrInlineDv;
  const Location vector = file.deletionVector->storageType == "p"
                              ? locateFile(layout, named)
                              : layout.table.child(relativeVectorPath(named));
  return vector.fileSystem->stat(vector.path).has_value();
}

void checkFilesExist(const Snapshot& wanted, const std::vector<AddFile>& files, const RunTasks& runTasks,
                     const CancellationToken* cancellation) {
  constexpr size_t kFilesPerTask = 256;
  constexpr size_t kMaxShown = 100;
  const TableLayoutPtr layout = makeTableLayout(wanted);
  std::mutex mutex;
  std::set<std::string> missing;
  runTasks(static_cast<int>((files.size() + kFilesPerTask - 1) / kFilesPerTask), [&](int task) {
    const size_t first = static_cast<size_t>(task) * kFilesPerTask;
    for (size_t i = first; i < std::min(first + kFilesPerTask, files.size()); ++i) {
      if (cancellation) cancellation->throwIfCancelled();
      if (isThere(files[i], *layout)) continue;
      const std::lock_guard lock(mutex);
      missing.insert(files[i].path);
    }
  });
  if (missing.empty()) return;
  std::string names;
  size_t shown = 0;
  for (const std::string& path : missing) {
    if (shown++ == kMaxShown) break;
    names += (names.empty() ? "" : ", ") + path;
  }
  throw Error("DELTA_FILE_NOT_FOUND",
              "Version " + std::to_string(wanted.version()) + " needs " + std::to_string(missing.size()) +
                  " files that are gone, as VACUUM takes them: " + names +
                  ". Restore a later version, or set spark.sql.files.ignoreMissingFiles to do without them.",
              {{"path", names}});
}

// The clustering columns are in a domain of their own; others' domains stay.
void restoreClustering(const Snapshot& current, const Snapshot& wanted, Transaction& transaction) {
  const std::string name(kClusteringDomain);
  const auto now = current.domainMetadata().find(name);
  const auto then = wanted.domainMetadata().find(name);
  if (then != wanted.domainMetadata().end()) {
    if (now == current.domainMetadata().end() || now->second.configuration != then->second.configuration)
      transaction.setDomain(then->second);
  } else if (now != current.domainMetadata().end()) {
    transaction.setDomain({name, now->second.configuration, /*removed=*/true});
  }
}

// Identity columns never give a value out twice: they go on where they are now.
Metadata restoredMetadata(const Snapshot& current, const Snapshot& wanted) {
  Metadata metadata = wanted.metadata();
  std::vector<StructField> fields = wanted.schema()->fields();
  bool moved = false;
  for (StructField& field : fields) {
    const int index = current.schema()->fieldIndex(field.name, /*caseSensitive=*/false);
    if (index < 0) continue;
    const auto step = metadataNumber(field.metadata, kIdentityStep);
    const auto then = metadataNumber(field.metadata, kIdentityHighWaterMark);
    const auto now = metadataNumber(current.schema()->fields()[static_cast<size_t>(index)].metadata,
                                    kIdentityHighWaterMark);
    if (!step || !now || (then && (*step > 0 ? *now <= *then : *now >= *then))) continue;
    field.metadata = withMetadataKey(field.metadata, kIdentityHighWaterMark, std::to_string(*now));
    moved = true;
  }
  if (moved) metadata.schemaString = toSchemaJson(*DataType::structOf(std::move(fields)));
  return metadata;
}

Operation operationOf(const RestoreRequest& request, const RestoreReport& report) {
  Operation operation;
  operation.name = "RESTORE";
  operation.parameters = {{"version", request.version ? std::to_string(*request.version) : "null"},
                          {"timestamp", request.timestampText ? jsonText(*request.timestampText) : "null"}};
  operation.metrics = {{"numRestoredFiles", report.numRestoredFiles},
                       {"removedFilesSize", report.removedFilesSize},
                       {"numRemovedFiles", report.numRemovedFiles},
                       {"restoredFilesSize", report.restoredFilesSize},
                       {"numOfFilesAfterRestore", report.numOfFilesAfterRestore},
                       {"tableSizeAfterRestore", report.tableSizeAfterRestore}};
  return operation;
}

}  // namespace

RestoreReport restoreTable(const std::shared_ptr<DeltaLog>& log, const RestoreRequest& request,
                           const RunTasks& runTasks, const CancellationToken* cancellation) {
  const SnapshotPtr current = log->require();
  const std::string table = log->table().uri();
  checkWritable(current->protocol(), current->metadata(), table);
  SnapshotPtr wanted = request.version ? versionOf(*log, *current, *request.version)
                                       : versionAt(*log, *current, *request.timestampMs);
  if (!wanted->files().loadStatistics()) wanted = reloadSnapshot(*wanted, log->clock());
  Transaction transaction(log, current);
  transaction.readWholeTable();
  RestoreReport report;
  report.tableSizeAfterRestore = wanted->sizeInBytes();
  report.numOfFilesAfterRestore = wanted->numFiles();
  std::vector<AddFile> restored;
  wanted->files().forEachLive([&](const FileRecord& record) {
    if (current->files().containsLive(record.logPath(), record.dvUniqueId())) return;
    AddFile file = record.toAdd();
    file.dataChange = true;
    report.restoredFilesSize += file.size;
    restored.push_back(std::move(file));
  });
  report.numRestoredFiles = static_cast<int64_t>(restored.size());
  if (!request.ignoreMissingFiles) checkFilesExist(*wanted, restored, runTasks, cancellation);
  for (AddFile& file : restored) transaction.add(std::move(file));
  const int64_t nowMs = log->clock().nowMillis();
  current->files().forEachLive([&](const FileRecord& record) {
    if (wanted->files().containsLive(record.logPath(), record.dvUniqueId())) return;
    ++report.numRemovedFiles;
    report.removedFilesSize += record.sizeBytes();
    transaction.remove(removalOf(record.toAdd(Statistics::IfKnown), nowMs));
  });
  const Metadata metadata = restoredMetadata(*current, *wanted);
  transaction.setMetadata(metadata);
  std::set<std::string> features;
  for (std::string& name : writerFeatures(wanted->protocol())) features.insert(std::move(name));
  for (std::string& name : readerFeatures(wanted->protocol())) features.insert(std::move(name));
  transaction.setProtocol(upgradedProtocol(current->protocol(), metadata, table, features));
  restoreClustering(*current, *wanted, transaction);
  transaction.setOperation(operationOf(request, report));
  requireCommitted(transaction.commit());
  return report;
}

}  // namespace thalweg::delta
