#include "delta/log/log_segment.h"

#include <algorithm>
#include <map>

#include "common/error.h"
#include "delta/log/checkpoint_hint.h"
#include "delta/log/log_files.h"

namespace thalweg::delta {
namespace {

struct Listing {
  std::map<int64_t, FileInfo> commits;
  // Complete checkpoints, the preferred one of each version.
  std::map<int64_t, CheckpointFiles> checkpoints;

  bool empty() const { return commits.empty() && checkpoints.empty(); }
};

// A candidate's rank at its version: greater is preferred.
struct Rank {
  int kind = 0;
  int32_t parts = 0;
  std::string name;
  auto operator<=>(const Rank&) const = default;
};

int kindRank(LogFileKind kind) {
  switch (kind) {
    case LogFileKind::UuidCheckpoint:
      return 3;
    case LogFileKind::MultiPartCheckpoint:
      return 2;
    default:
      return 1;
  }
}

class ListingBuilder {
 public:
  explicit ListingBuilder(const BadCheckpoints& bad) : bad_(bad) {}

  void add(const FileInfo& file) {
    const auto name = parseLogFileName(file.name());
    if (!name || file.isDirectory) return;
    if (name->kind == LogFileKind::Commit) listing_.commits.insert_or_assign(name->version, file);
    if (!name->isCheckpoint() || file.sizeBytes == 0 || bad_.contains(file.path)) return;
    if (name->kind == LogFileKind::MultiPartCheckpoint) {
      parts_[{name->version, name->parts}].insert_or_assign(name->part, file);
    } else {
      offer(name->version, Rank{kindRank(name->kind), 1, std::string(file.name())}, {file});
    }
  }

  Listing finish() && {
    for (auto& [key, files] : parts_) {
      const auto [version, count] = key;
      if (static_cast<int64_t>(files.size()) != count) continue;
      std::vector<FileInfo> ordered;
      for (auto& [part, file] : files) ordered.push_back(std::move(file));
      offer(version, Rank{kindRank(LogFileKind::MultiPartCheckpoint), count, ""}, std::move(ordered));
    }
    return std::move(listing_);
  }

 private:
  void offer(int64_t version, Rank rank, std::vector<FileInfo> files) {
    const auto it = ranks_.find(version);
    if (it != ranks_.end() && it->second >= rank) return;
    ranks_.insert_or_assign(version, std::move(rank));
    listing_.checkpoints.insert_or_assign(version, CheckpointFiles{version, std::move(files)});
  }

  const BadCheckpoints& bad_;
  Listing listing_;
  std::map<int64_t, Rank> ranks_;
  std::map<std::pair<int64_t, int32_t>, std::map<int32_t, FileInfo>> parts_;
};

// A listing may lag behind what was put, and one that runs while commits are added may show one of them and
// not the one before it: commits from `first` to the newest one listed, or to the target where that is later,
// are looked up by name where it left them out. Only the newest can be missed so: the first that is not there
// ends the search.
void fillGaps(FileSystem& fileSystem, const std::string& logPath, int64_t first,
              std::optional<int64_t> target, std::map<int64_t, FileInfo>& commits) {
  const int64_t listed = commits.empty() ? first - 1 : commits.rbegin()->first;
  const auto lookUp = [&](int64_t version) {
    if (commits.contains(version)) return true;
    const auto file = fileSystem.stat(logPath + "/" + commitFileName(version));
    if (file) commits.emplace(version, *file);
    return file.has_value();
  };
  for (int64_t version = target.value_or(listed); version > listed; --version) {
    if (!lookUp(version)) break;
  }
  for (int64_t version = listed; version >= first; --version) {
    if (!lookUp(version)) return;
  }
}

Listing listFrom(FileSystem& fileSystem, const std::string& logPath, int64_t version,
                 const BadCheckpoints& bad, std::optional<int64_t> target = std::nullopt) {
  ListingBuilder builder(bad);
  for (const FileInfo& file : fileSystem.listFrom(logPath, firstNameOfVersion(version))) builder.add(file);
  Listing listing = std::move(builder).finish();
  fillGaps(fileSystem, logPath, version, target, listing.commits);
  return listing;
}

[[noreturn]] void throwNotContiguous(const std::string& logPath, int64_t missing, int64_t version) {
  throw Error("DELTA_VERSIONS_NOT_CONTIGUOUS",
              "The Delta log " + logPath + " has no commit " + commitFileName(missing) + ", which version " +
                  std::to_string(version) + " needs. Restore the file from a backup.",
              {{"startVersion", std::to_string(missing)},
               {"endVersion", std::to_string(version)},
               {"versionToLoad", std::to_string(version)}});
}

[[noreturn]] void throwTruncated(const std::string& logPath, int64_t version) {
  throw Error("DELTA_TRUNCATED_TRANSACTION_LOG",
              "Version " + std::to_string(version) + " cannot be built from the Delta log " + logPath +
                  ": its first commits are gone and no complete checkpoint replaces them. Restore " +
                  commitFileName(0) + " or a checkpoint from a backup.",
              {{"path", logPath}, {"version", std::to_string(version)}});
}

[[noreturn]] void throwVersionNotFound(const std::string& logPath, int64_t target, int64_t newest) {
  throw Error(
      "DELTA_VERSION_NOT_FOUND",
      "Version " + std::to_string(target) + " of the Delta table with log " + logPath +
          " does not exist; its newest version is " + std::to_string(newest) + ".",
      {{"userVersion", std::to_string(target)}, {"earliest", "0"}, {"latest", std::to_string(newest)}});
}

LogSegment chooseSegment(const std::string& logPath, Listing&& listing, std::optional<int64_t> target) {
  LogSegment segment;
  int64_t newest = -1;
  if (!listing.commits.empty()) newest = listing.commits.rbegin()->first;
  if (!listing.checkpoints.empty()) newest = std::max(newest, listing.checkpoints.rbegin()->first);
  segment.version = target.value_or(newest);
  if (segment.version > newest || segment.version < 0) throwVersionNotFound(logPath, segment.version, newest);

  auto checkpoint = listing.checkpoints.upper_bound(segment.version);
  if (checkpoint != listing.checkpoints.begin()) segment.checkpoint = std::move((--checkpoint)->second);

  int64_t next = segment.checkpoint ? segment.checkpoint->version + 1 : 0;
  if (next == 0 && !listing.commits.contains(0)) throwTruncated(logPath, segment.version);
  for (; next <= segment.version; ++next) {
    const auto commit = listing.commits.find(next);
    if (commit == listing.commits.end()) throwNotContiguous(logPath, next, segment.version);
    segment.commits.push_back(std::move(commit->second));
  }
  return segment;
}

}  // namespace

std::optional<LogSegment> listLogSegment(FileSystem& fileSystem, const std::string& logPath,
                                         std::optional<int64_t> target, const BadCheckpoints& bad) {
  if (const auto hint = readCheckpointHint(fileSystem, logPath)) {
    if (!target || hint->version <= *target) {
      Listing tail = listFrom(fileSystem, logPath, hint->version, bad, target);
      if (tail.checkpoints.contains(hint->version)) return chooseSegment(logPath, std::move(tail), target);
    }
  }
  Listing all = listFrom(fileSystem, logPath, 0, bad, target);
  if (all.empty()) return std::nullopt;
  return chooseSegment(logPath, std::move(all), target);
}

std::vector<FileInfo> listCommits(FileSystem& fileSystem, const std::string& logPath, int64_t fromVersion) {
  Listing listing = listFrom(fileSystem, logPath, fromVersion, {});
  std::vector<FileInfo> commits;
  commits.reserve(listing.commits.size());
  for (auto& [version, file] : listing.commits) commits.push_back(std::move(file));
  return commits;
}

std::optional<std::string> readCommitText(FileSystem& fileSystem, const std::string& path) {
  try {
    return fileSystem.readAll(path);
  } catch (const Error& error) {
    if (error.condition() == "PATH_NOT_FOUND") return std::nullopt;
    throw;
  }
}

std::optional<int64_t> earliestRecreatableVersion(FileSystem& fileSystem, const std::string& logPath) {
  const Listing listing = listFrom(fileSystem, logPath, 0, {});
  if (listing.empty()) return std::nullopt;
  if (listing.commits.contains(0)) return 0;
  const int64_t newest = listing.commits.empty() ? -1 : listing.commits.rbegin()->first;
  for (const auto& [version, checkpoint] : listing.checkpoints) {
    int64_t next = version + 1;
    while (next <= newest && listing.commits.contains(next)) ++next;
    if (next > newest) return version;
  }
  return std::nullopt;
}

}  // namespace thalweg::delta
