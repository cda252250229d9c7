#include "sources/delta/commit_feed.h"

#include <algorithm>

#include "common/error.h"
#include "delta/log/log_files.h"
#include "delta/log/log_segment.h"

namespace thalweg {
namespace {

// Commits are kept up to this many files in all: more are read again.
constexpr size_t kMostKeptFiles = 50'000;

Error commitsGone(const std::string& table, int64_t wanted, int64_t next) {
  return Error(
      "DELTA_MISSING_FILES_UNEXPECTED_VERSION",
      fmt::format(
          "The stream goes on at version {} of the Delta table {}, but the log has only versions from "
          "{} on: it was cleaned up. Start with a new checkpoint (and consider a longer "
          "delta.logRetentionDuration), or set the option failOnDataLoss to false to go on without them.",
          wanted, table, next),
      {{"startVersion", std::to_string(wanted)},
       {"earliestVersion", std::to_string(next)},
       {"option", "failOnDataLoss"}});
}

}  // namespace

CommitFeed::CommitFeed(std::shared_ptr<delta::DeltaLog> log, std::string tableId, bool failOnDataLoss)
    : log_(std::move(log)), tableId_(std::move(tableId)), failOnDataLoss_(failOnDataLoss) {}

std::optional<delta::CommitStamp> CommitFeed::stampOf(int64_t version) const {
  if (version < 0) return std::nullopt;
  const auto file = log_->table().fileSystem->stat(log_->logPath() + "/" + delta::commitFileName(version));
  if (!file) return std::nullopt;
  return delta::CommitStamp{file->modificationTimeMs, file->sizeBytes};
}

CommitPtr CommitFeed::load(int64_t version) {
  auto read = delta::readCommitChanges(*log_->table().fileSystem, log_->logPath(), version);
  if (!read) return nullptr;
  const auto commit = std::make_shared<const delta::CommitChanges>(std::move(*read));
  while (!kept_.empty() && keptFiles_ + commit->files.size() > kMostKeptFiles) {
    // The latest is asked for last again.
    const auto last = std::prev(kept_.end());
    keptFiles_ -= last->second->files.size();
    kept_.erase(last);
  }
  kept_.emplace(version, commit);
  keptFiles_ += commit->files.size();
  end_ = End{version + 1, delta::CommitStamp{commit->fileTimeMs, commit->sizeBytes}};
  return commit;
}

CommitPtr CommitFeed::at(int64_t version) {
  if (const auto kept = kept_.find(version); kept != kept_.end()) return kept->second;
  if (end_ && end_->version == version && end_->before) {
    return end_->before == stampOf(version - 1) ? load(version) : lookAgain(version);
  }
  if (CommitPtr commit = load(version)) return commit;
  return lookAgain(version);
}

// The commit is not there, or the one before it is not what it was: the table may have no such version yet,
// may have lost it, or may be another table.
CommitPtr CommitFeed::lookAgain(int64_t version) {
  const delta::SnapshotPtr newest = log_->require();
  if (newest->metadata().id != tableId_) {
    throw Error("DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
                "The Delta table at " + log_->table().uri() + " was replaced by another one (id " +
                    newest->metadata().id + ", before " + tableId_ +
                    "). Start with a new checkpoint to read it.",
                {{"newTableId", newest->metadata().id}, {"oldTableId", tableId_}});
  }
  if (newest->version() < version) {
    end_ = End{version, stampOf(version - 1)};
    return nullptr;
  }
  // It may have come meanwhile.
  if (CommitPtr commit = load(version)) return commit;
  const auto later = delta::listCommits(*log_->table().fileSystem, log_->logPath(), version);
  const int64_t next =
      later.empty() ? newest->version() + 1 : delta::parseLogFileName(later.front().name())->version;
  if (failOnDataLoss_) throw commitsGone(log_->table().uri(), version, next);
  return later.empty() ? nullptr : load(next);
}

int64_t CommitFeed::timestampMs(const delta::CommitChanges& commit) {
  if (commit.inCommitTimestampMs) return *commit.inCommitTimestampMs;
  int64_t timeMs = commit.fileTimeMs;
  if (lastTime_ && lastTime_->version == commit.version) return lastTime_->timestampMs;
  if (lastTime_ && lastTime_->version + 1 == commit.version) {
    timeMs = std::max(timeMs, lastTime_->timestampMs + 1);
  } else {
    const auto times =
        delta::readFileTimes(*log_->table().fileSystem, log_->logPath(), commit.version, commit.version);
    if (!times.empty()) timeMs = times.front().timestampMs;
  }
  lastTime_ = delta::CommitTime{commit.version, timeMs};
  return timeMs;
}

void CommitFeed::forgetBefore(int64_t version) {
  while (!kept_.empty() && kept_.begin()->first < version) {
    keptFiles_ -= kept_.begin()->second->files.size();
    kept_.erase(kept_.begin());
  }
}

}  // namespace thalweg
