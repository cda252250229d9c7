#include "delta/maintain/vacuum.h"

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json_text.h"
#include "common/logging.h"
#include "common/options.h"
#include "delta/actions/action_reader.h"
#include "delta/commit/transaction.h"
#include "delta/files/column_mapping.h"
#include "delta/files/partition_values.h"
#include "delta/log/file_paths.h"
#include "delta/log/log_files.h"
#include "delta/log/log_segment.h"
#include "delta/maintain/protected_files.h"
#include "delta/scan/vector_files.h"
#include "delta/snapshot/table_features.h"
#include "storage/folder_access.h"

namespace thalweg::delta {
namespace {

constexpr std::string_view kChangeFolder = "_change_data";
constexpr const char* kLastVacuumName = "_last_vacuum_info";
constexpr const char* kLastVacuumKey = "latestCommitVersionOutsideOfRetentionWindow";

// What of a folder may go.
struct Candidate {
  std::string path;  // absolute
  int64_t sizeBytes = 0;
  bool isFolder = false;
};
using CandidateVisitor = std::function<void(const Candidate&)>;

// Folders of partition columns, whose names may begin like hidden ones.
std::vector<std::string> partitionPrefixes(const Snapshot& snapshot) {
  const SchemaPtr physical = physicalSchema(snapshot.schema(), columnMappingMode(snapshot.metadata()));
  std::vector<std::string> prefixes;
  for (const std::string& name : snapshot.partitionColumns()) {
    const int index = snapshot.schema()->fieldIndex(name, /*caseSensitive=*/false);
    for (const Schema* schema : {snapshot.schema().get(), physical.get()})
      prefixes.push_back(escapeForFolder(schema->fields()[static_cast<size_t>(index)].name) + "=");
  }
  return prefixes;
}

// One pass over a table's folder.
class FolderWalk {
 public:
  FolderWalk(const Snapshot& snapshot, const ProtectedFiles& needed, int64_t cutoffMs,
             const CancellationToken* cancellation)
      : table_(snapshot.table()),
        needed_(needed),
        cutoffMs_(cutoffMs),
        cancellation_(cancellation),
        prefixes_(partitionPrefixes(snapshot)) {}

  void run(const CandidateVisitor& visit) { visitFolder("", visit); }
  int64_t numDirectories() const { return numDirectories_; }

 private:
  bool isHidden(std::string_view name, bool isTop) const {
    if (!name.starts_with('_') && !name.starts_with('.')) return false;
    if (isTop && name == kChangeFolder) return false;
    return std::none_of(prefixes_.begin(), prefixes_.end(),
                        [&](const std::string& prefix) { return name.starts_with(prefix); });
  }

  // True where there is nothing in it.
  bool visitFolder(const std::string& relative, const CandidateVisitor& visit) {
    ++numDirectories_;
    const std::string folder = relative.empty() ? table_.path : table_.path + "/" + relative;
    std::vector<FileInfo> folders;
    bool isEmpty = true;
    forEachEntry(*table_.fileSystem, folder, [&](const FileInfo& entry, bool isLink) {
      if (cancellation_) cancellation_->throwIfCancelled();
      isEmpty = false;
      if (isHidden(entry.name(), relative.empty()) || (isLink && entry.isDirectory)) return;
      if (entry.isDirectory) return folders.push_back(entry);
      const std::string path =
          relative.empty() ? std::string(entry.name()) : relative + "/" + std::string(entry.name());
      if (entry.modificationTimeMs < cutoffMs_ && !needed_.contains(path))
        visit({entry.path, entry.sizeBytes, false});
    });
    for (const FileInfo& below : folders) {
      const std::string path =
          relative.empty() ? std::string(below.name()) : relative + "/" + std::string(below.name());
      // A folder that another writer is about to use is young.
      if (visitFolder(path, visit) && below.modificationTimeMs < cutoffMs_ && path != kChangeFolder)
        visit({below.path, 0, true});
    }
    return isEmpty;
  }

  const Location& table_;
  const ProtectedFiles& needed_;
  int64_t cutoffMs_;
  const CancellationToken* cancellation_;
  std::vector<std::string> prefixes_;
  int64_t numDirectories_ = 0;
};

class Vacuum {
 public:
  Vacuum(const std::shared_ptr<DeltaLog>& log, const VacuumRequest& request,
         const CancellationToken* cancellation)
      : log_(log), request_(request), cancellation_(cancellation), snapshot_(log->require()) {}

  VacuumReport run() {
    const Metadata& metadata = snapshot_->metadata();
    checkWritable(snapshot_->protocol(), snapshot_->metadata(), log_->table().uri());
    tableRetentionMs_ = deletedFileRetentionMs(metadata);
    retentionMs_ = request_.retentionMs.value_or(tableRetentionMs_);
    checkRetention();
    cutoffMs_ = log_->clock().nowMillis() - retentionMs_;
    lookAtLog();
    protectNeeded();
    VacuumReport report;
    eachCandidate(&report, [&](const Candidate& candidate) {
      ++report.numDeleted;
      report.sizeBytes += candidate.sizeBytes;
      if (request_.dryRun && report.paths.size() < kMaxShownPaths)
        report.paths.push_back(snapshot_->table().fileSystem->uriOf(candidate.path));
    });
    if (request_.dryRun) return report;
    commitStart(report);
    return deleteAll();
  }

 private:
  void checkRetention() const {
    if (retentionMs_ < 0) {
      throw Error("DELTA_VACUUM_RETENTION_PERIOD_NEGATIVE",
                  "VACUUM cannot retain a negative number of hours.");
    }
    if (!request_.checkRetention || retentionMs_ >= tableRetentionMs_) return;
    throw Error(
        "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT",
        "Files that readers, writers under way and time travel may need would be deleted: the table retains "
        "them for " +
            std::to_string(tableRetentionMs_ / 3'600'000) +
            " hours (delta.deletedFileRetentionDuration). Retain as many, or, where certainly nobody uses "
            "the "
            "table, set spark.databricks.delta.retentionDurationCheck.enabled to false.",
        {{"configuredRetentionHours", std::to_string(tableRetentionMs_ / 3'600'000)}});
  }

  void protectNeeded() {
    needed_ = std::make_unique<ProtectedFiles>(log_->table().path);
    needed_->addSnapshot(*snapshot_, cutoffMs_);
    const Metadata& metadata = snapshot_->metadata();
    // A snapshot remembers removals as long as the table's property said when they were looked at: who set it
    // may have said less before.
    const bool mayHaveForgotten =
        retentionMs_ > tableRetentionMs_ || tableProperty(metadata, "delta.deletedFileRetentionDuration");
    if (mayHaveForgotten || tableFlag(metadata, kEnableChangeDataFeed))
      needed_->addCommits(*snapshot_, cutoffMs_);
    needed_->finish();
  }

  // Commits that are older than the retention are done with once they were vacuumed.
  void lookAtLog() {
    for (const CommitTime& commit : readCommitTimes(*snapshot_)) {
      if (!firstCommit_) firstCommit_ = commit.version;
      if (commit.timestampMs < cutoffMs_) lastOldCommit_ = commit.version;
    }
  }

  void eachCandidate(VacuumReport* report, const CandidateVisitor& visit) {
    if (request_.lite) return eachRemoved(report, visit);
    FolderWalk walk(*snapshot_, *needed_, cutoffMs_, cancellation_);
    walk.run(visit);
    report->numDirectories = walk.numDirectories();
  }

  [[noreturn]] static void throwCannotVacuumLite() {
    throw Error(
        "DELTA_CANNOT_VACUUM_LITE",
        "The log no longer has all commits since the last vacuum, so that it cannot say which files were "
        "removed. Run VACUUM without LITE.");
  }

  // What the log says was removed since the last vacuum.
  void eachRemoved(VacuumReport* report, const CandidateVisitor& visit) {
    report->numDirectories = 1;
    const auto last = lastVacuumed();
    if (firstCommit_.value_or(0) > last.value_or(-1) + 1) throwCannotVacuumLite();
    FileSystem& files = *snapshot_->table().fileSystem;
    std::set<std::string> seen;
    for (const FileInfo& commit : listCommits(files, snapshot_->logPath(), last.value_or(0))) {
      if (parseLogFileName(commit.name())->version > lastOldCommit_.value_or(-1)) break;
      if (cancellation_) cancellation_->throwIfCancelled();
      const auto text = readCommitText(files, commit.path);
      if (!text) throwCannotVacuumLite();
      readActions(*text, commit.path, [&](Action&& action) {
        if (const auto* change = std::get_if<AddCdcFile>(&action)) visitRemoved(change->path, &seen, visit);
        const auto* remove = std::get_if<RemoveFile>(&action);
        if (!remove || remove->deletionTimestamp.value_or(0) >= cutoffMs_) return;
        visitRemoved(remove->path, &seen, visit);
        if (remove->deletionVector && remove->deletionVector->storageType == "u")
          visitFile(relativeVectorPath(remove->deletionVector->pathOrInlineDv), &seen, visit);
      });
    }
  }

  void visitRemoved(const std::string& logPath, std::set<std::string>* seen, const CandidateVisitor& visit) {
    visitFile(canonicalFilePath(logPath, log_->table().path), seen, visit);
  }

  void visitFile(const std::string& path, std::set<std::string>* seen, const CandidateVisitor& visit) {
    const bool isOutside =
        path.starts_with('/') || path.find(':') != std::string::npos || path.find("..") != std::string::npos;
    if (isOutside || needed_->contains(path) || !seen->insert(path).second) return;
    const auto file = snapshot_->table().fileSystem->stat(log_->table().path + "/" + path);
    if (!file || file->isDirectory || file->modificationTimeMs >= cutoffMs_) return;
    visit({file->path, file->sizeBytes, false});
  }

  std::string hintPath() const { return snapshot_->logPath() + "/" + kLastVacuumName; }

  std::optional<int64_t> lastVacuumed() const {
    FileSystem& files = *snapshot_->table().fileSystem;
    if (!files.stat(hintPath())) return std::nullopt;
    const auto json = nlohmann::json::parse(files.readAll(hintPath()), nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains(kLastVacuumKey) || !json[kLastVacuumKey].is_number_integer())
      return std::nullopt;
    return json[kLastVacuumKey].get<int64_t>();
  }

  void commit(const Operation& operation) {
    if (!request_.logged) return;
    // What it records rests on nothing in the table: whoever was first, it is said on top of him.
    constexpr int kMaxAttempts = 10;
    for (int attempt = 1;; ++attempt) {
      Transaction transaction(log_, log_->require());
      transaction.setOperation(operation);
      const CommitOutcome outcome = transaction.commit();
      const auto* conflict = std::get_if<Conflicted>(&outcome);
      if (!conflict) return;
      if (attempt == kMaxAttempts) throw Error(conflict->error);
    }
  }

  void commitStart(const VacuumReport& planned) {
    Operation start;
    start.name = "VACUUM START";
    start.parameters = {{"retentionCheckEnabled", request_.checkRetention ? "true" : "false"},
                        {"defaultRetentionMillis", std::to_string(tableRetentionMs_)}};
    if (request_.retentionMs)
      start.parameters.emplace_back("specifiedRetentionMillis", std::to_string(retentionMs_));
    start.metrics = {{"numFilesToDelete", planned.numDeleted}, {"sizeOfDataToDelete", planned.sizeBytes}};
    commit(start);
  }

  void commitEnd(const VacuumReport& report, const char* status) {
    Operation end;
    end.name = "VACUUM END";
    end.parameters = {{"status", jsonText(status)}};
    end.metrics = {{"numDeletedFiles", report.numDeleted}, {"numVacuumedDirectories", report.numDirectories}};
    commit(end);
  }

  // Versions that came since the files were counted may need some again (RESTORE): they are asked too.
  VacuumReport deleteAll() {
    VacuumReport report;
    try {
      snapshot_ = log_->require();
      needed_->addSnapshot(*snapshot_, cutoffMs_);
      needed_->finish();
      FileSystem& files = *snapshot_->table().fileSystem;
      eachCandidate(&report, [&](const Candidate& candidate) {
        if (candidate.isFolder) {
          report.numDeleted += removeEmptyDirectory(files, candidate.path);
          return;
        }
        files.remove(candidate.path);
        ++report.numDeleted;
        report.sizeBytes += candidate.sizeBytes;
      });
    } catch (...) {
      const Error failure = currentExceptionAsError();
      try {
        commitEnd(report, "FAILED");
      } catch (...) {
        logWarn("The end of a failed VACUUM of {} was not recorded: {}", log_->table().uri(),
                currentExceptionAsError().message());
      }
      throw failure;
    }
    if (lastOldCommit_) {
      const nlohmann::json hint = {{kLastVacuumKey, *lastOldCommit_}};
      snapshot_->table().fileSystem->writeAtomically(hintPath(), toJsonText(hint));
    }
    commitEnd(report, "COMPLETED");
    return report;
  }

  std::shared_ptr<DeltaLog> log_;
  const VacuumRequest& request_;
  const CancellationToken* cancellation_;
  SnapshotPtr snapshot_;
  int64_t tableRetentionMs_ = 0;
  int64_t retentionMs_ = 0;
  int64_t cutoffMs_ = 0;
  std::optional<int64_t> firstCommit_;    // that the log has
  std::optional<int64_t> lastOldCommit_;  // the newest one before the cutoff
  std::unique_ptr<ProtectedFiles> needed_;
};

}  // namespace

VacuumReport vacuumTable(const std::shared_ptr<DeltaLog>& log, const VacuumRequest& request,
                         const CancellationToken* cancellation) {
  return Vacuum(log, request, cancellation).run();
}

}  // namespace thalweg::delta
