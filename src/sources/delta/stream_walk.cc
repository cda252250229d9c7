#include "sources/delta/stream_walk.h"

#include <algorithm>

#include "common/error.h"
#include "delta/snapshot/table_features.h"

namespace thalweg {
namespace {

int64_t sizeOf(const delta::FileAction& file) {
  const int64_t size = std::visit(
      [](const auto& action) -> int64_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(action)>, delta::RemoveFile>) {
          return action.size.value_or(0);
        } else {
          return action.size;
        }
      },
      file);
  return std::max<int64_t>(size, 0);
}

const std::string& pathOf(const delta::FileAction& file) {
  return std::visit([](const auto& action) -> const std::string& { return action.path; }, file);
}

DeltaSourceOffset atMetadataChange(const std::string& tableId, const delta::CommitChanges& commit) {
  return {tableId, commit.version, DeltaSourceOffset::kAtMetadataChange, false};
}

DeltaSourceOffset nextVersion(const DeltaSourceOffset& done) {
  return {done.tableId, done.version + 1, DeltaSourceOffset::kBeforeFirst, false};
}

}  // namespace

StreamWalk::StreamWalk(std::shared_ptr<delta::DeltaLog> log, delta::SnapshotPtr opened,
                       const StreamedMetadata& reading, SchemaTracking* tracking,
                       const DeltaStreamOptions& options)
    : log_(std::move(log)),
      options_(options),
      tableId_(opened->metadata().id),
      metadata_(reading.metadata),
      tracking_(tracking),
      guard_(reading, log_->table().uri(), options),
      feed_(log_, tableId_, options.failOnDataLoss),
      opened_(std::move(opened)) {}

DeltaSourceOffset StreamWalk::advance(const DeltaSourceOffset& from, BatchAdmission& admission,
                                      std::optional<int64_t> bound) {
  bound_ = bound;
  if (!from.isInitialSnapshot) {
    initialFiles_.reset();
    opened_.reset();
  } else if (options_.withEventTimeOrder) {
    return nextVersion(from);
  }
  return options_.readChangeFeed ? advanceChanges(from, admission) : advanceRows(from, admission);
}

const InitialFiles& StreamWalk::initialFiles(int64_t version) {
  if (initialFiles_ && initialFiles_->version() == version) return *initialFiles_;
  initialFiles_.reset();
  delta::SnapshotPtr snapshot;
  try {
    snapshot = opened_ && opened_->version() == version ? opened_ : log_->snapshotAt(version);
  } catch (const Error& error) {
    throw Error(
        "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE",
        fmt::format("Version {} of the Delta table {}, with whose rows the stream began, cannot be built any "
                    "more: {} Start with a new checkpoint.",
                    version, log_->table().uri(), error.text()))
        .withCause(error);
  }
  if (isFollowed()) tracking_->followInitial(*snapshot);
  return initialFiles_.emplace(std::move(snapshot));
}

int64_t StreamWalk::initialTimeMs() {
  const int64_t version = initialFiles_->version();
  if (delta::tableFlag(metadata_, delta::kEnableInCommitTimestamps)) return initialFiles_->timestampMs();
  const auto times = delta::readFileTimes(*log_->table().fileSystem, log_->logPath(), version, version);
  return times.empty() ? initialFiles_->timestampMs() : times.front().timestampMs;
}

DeltaSourceOffset StreamWalk::advanceRows(DeltaSourceOffset at, BatchAdmission& admission) {
  if (at.isInitialSnapshot) {
    const InitialFiles& files = initialFiles(at.version);
    int64_t next = at.nextFile();
    while (next < files.size() && admission.admitFile(std::max<int64_t>(files.at(next).sizeBytes(), 0)))
      ++next;
    if (next < files.size()) return {tableId_, at.version, next - 1, true};
    at = nextVersion(at);
  }
  while (!isBeyondBound(at.version)) {
    const CommitPtr commit = feed_.at(at.version);
    if (!commit) break;
    if (commit->version != at.version)
      at = {tableId_, commit->version, DeltaSourceOffset::kBeforeFirst, false};
    const bool takesFiles = guard_.admits(*commit, isFollowed());
    if (isBarrier(*commit)) return atMetadataChange(tableId_, *commit);
    if (takesFiles) {
      int64_t index = -1;
      for (const delta::FileAction& file : commit->files) {
        if (!std::holds_alternative<delta::AddFile>(file) || ++index <= at.index) continue;
        if (!admission.admitFile(sizeOf(file))) return at;
        at.index = index;
      }
    }
    at = nextVersion(at);
  }
  return at;
}

DeltaSourceOffset StreamWalk::takeInitialChanges(DeltaSourceOffset at, BatchAdmission& admission) {
  const InitialFiles& files = initialFiles(at.version);
  for (int64_t index = at.nextFile(); index < files.size(); ++index) {
    if (isExcluded(std::string(files.at(index).logPath()))) continue;
    if (!admission.admitFile(std::max<int64_t>(files.at(index).sizeBytes(), 0))) return at;
    at.index = index;
  }
  return nextVersion(at);
}

// Delta's rules to the letter, for offsets are compared byte by byte: a limited batch that ends with change
// files ends at the last of them, and others at the next version's beginning; a version's beginning and end
// count as files where a commit is taken whole.
DeltaSourceOffset StreamWalk::takeChanges(const delta::CommitChanges& commit, bool takesFiles,
                                          const DeltaSourceOffset& from, BatchAdmission& admission) const {
  struct Wanted {
    int64_t index;
    int64_t bytes;
  };
  const bool hasChangeFiles = commit.hasChangeFiles();
  std::vector<Wanted> wanted;
  int64_t bytes = 0;
  int64_t index = -1;
  for (const delta::FileAction& file : commit.files) {
    if (std::holds_alternative<delta::AddCdcFile>(file) != hasChangeFiles) continue;
    if (++index <= from.index || !takesFiles || isExcluded(pathOf(file))) continue;
    wanted.push_back({index, sizeOf(file)});
    bytes += wanted.back().bytes;
  }
  if (admission.isUnlimited()) return nextVersion(from);
  if (hasChangeFiles) {
    if (wanted.empty()) return nextVersion(from);
    if (!admission.admitTogether(wanted.size(), bytes)) return from;
    return {tableId_, commit.version, wanted.back().index, false};
  }
  if (commit.hasDeletionVectors()) {
    const size_t marks = from.index == DeltaSourceOffset::kBeforeFirst ? 2 : 1;
    return admission.admitTogether(wanted.size() + marks, bytes) ? nextVersion(from) : from;
  }
  DeltaSourceOffset at = from;
  admission.pass();
  for (const Wanted& file : wanted) {
    if (!admission.admitFile(file.bytes)) return at;
    at.index = file.index;
  }
  return nextVersion(at);
}

DeltaSourceOffset StreamWalk::advanceChanges(DeltaSourceOffset at, BatchAdmission& admission) {
  if (at.isInitialSnapshot) {
    at = takeInitialChanges(at, admission);
    if (at.isInitialSnapshot) return at;
  }
  DeltaSourceOffset end = at;
  while (!isBeyondBound(at.version) && admission.hasCapacity()) {
    const CommitPtr commit = feed_.at(at.version);
    if (!commit) break;
    if (commit->version != at.version)
      at = {tableId_, commit->version, DeltaSourceOffset::kBeforeFirst, false};
    const bool takesFiles = guard_.admits(*commit, isFollowed());
    if (isBarrier(*commit)) return atMetadataChange(tableId_, *commit);
    const DeltaSourceOffset reached = takeChanges(*commit, takesFiles, at, admission);
    const bool whole = reached.version > at.version || (commit->hasChangeFiles() && reached != at);
    // Change files that were behind already, or do not count, end nothing.
    const bool nothing = commit->hasChangeFiles() && reached.version > at.version && !admission.isUnlimited();
    if (!nothing && reached != at) end = reached;
    if (!whole) break;
    at = reached.version > at.version ? reached : nextVersion(reached);
  }
  return end;
}

std::vector<delta::ChangedFile> StreamWalk::filesBetween(const DeltaSourceOffset& from,
                                                         const DeltaSourceOffset& end) {
  std::vector<delta::ChangedFile> files;
  int64_t after = from.index;
  int64_t version = from.version;
  if (from.isInitialSnapshot) {
    planInitial(from, end, files);
    ++version;
    after = DeltaSourceOffset::kBeforeFirst;
  }
  while (version < end.version || (version == end.version && end.index >= 0 && !end.isInitialSnapshot)) {
    const CommitPtr commit = feed_.at(version);
    if (!commit || commit->version > end.version) {
      if (!options_.failOnDataLoss) break;
      throw Error(
          "DELTA_STREAMING_TRAILING_COMMIT_MISSING",
          fmt::format("The batch of the stream over {} goes up to version {}, but its log has no version {}.",
                      log_->table().uri(), end.version, version),
          {{"expectedVersion", std::to_string(end.version)}, {"seenVersion", std::to_string(version - 1)}});
    }
    const int64_t last = commit->version == end.version ? end.index : INT64_MAX;
    if (guard_.admits(*commit, isFollowed())) planCommit(*commit, after, last, files);
    version = commit->version + 1;
    after = DeltaSourceOffset::kBeforeFirst;
  }
  return files;
}

void StreamWalk::planInitial(const DeltaSourceOffset& start, const DeltaSourceOffset& end,
                             std::vector<delta::ChangedFile>& files) {
  const InitialFiles& all = initialFiles(start.version);
  const bool endsWithin = end.isInitialSnapshot && end.version == start.version;
  const int64_t last = endsWithin ? std::min(end.index, all.size() - 1) : all.size() - 1;
  const int64_t timeMs = options_.readChangeFeed ? initialTimeMs() : 0;
  for (int64_t index = start.nextFile(); index <= last; ++index) {
    if (isExcluded(std::string(all.at(index).logPath()))) continue;
    delta::ChangedFile file{all.at(index).toAdd(delta::Statistics::LeftOut), "insert"};
    file.version = start.version;
    file.timestampMs = timeMs;
    files.push_back(std::move(file));
  }
}

void StreamWalk::planCommit(const delta::CommitChanges& commit, int64_t after, int64_t last,
                            std::vector<delta::ChangedFile>& files) {
  const bool hasChangeFiles = commit.hasChangeFiles();
  std::vector<delta::FileAction> wanted;
  int64_t index = -1;
  for (const delta::FileAction& file : commit.files) {
    const bool counts = options_.readChangeFeed
                            ? std::holds_alternative<delta::AddCdcFile>(file) == hasChangeFiles
                            : std::holds_alternative<delta::AddFile>(file);
    if (!counts || ++index <= after || index > last || isExcluded(pathOf(file))) continue;
    wanted.push_back(file);
  }
  if (options_.readChangeFeed) {
    auto changed =
        delta::changedFiles(commit, wanted, feed_.timestampMs(commit), !metadata_.partitionColumns.empty());
    std::move(changed.begin(), changed.end(), std::back_inserter(files));
    return;
  }
  for (delta::FileAction& file : wanted) files.push_back({std::move(std::get<delta::AddFile>(file))});
}

}  // namespace thalweg
