#include "delta/snapshot/history.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <date/date.h>
#include <simdjson.h>

#include "common/error.h"
#include "delta/actions/action_reader.h"
#include "delta/log/log_files.h"
#include "delta/log/log_segment.h"
#include "delta/snapshot/clustering.h"
#include "delta/snapshot/snapshot.h"
#include "delta/snapshot/table_features.h"

namespace thalweg::delta {
namespace {

namespace dom = simdjson::dom;

int64_t versionOf(const FileInfo& commit) {
  return parseLogFileName(commit.name())->version;
}

std::optional<std::string> text(const dom::object& object, const char* name) {
  std::string_view value;
  if (object[name].get(value)) return std::nullopt;
  return std::string(value);
}

std::map<std::string, std::string> texts(const dom::object& object, const char* name) {
  std::map<std::string, std::string> result;
  dom::object members;
  if (object[name].get(members)) return result;
  for (const auto [key, value] : members) {
    std::string_view plain;
    if (value.is_null()) continue;
    result.insert_or_assign(std::string(key),
                            value.get(plain) ? std::string(simdjson::minify(value)) : std::string(plain));
  }
  return result;
}

std::map<std::string, std::optional<std::string>> optionalTexts(const dom::object& object, const char* name) {
  std::map<std::string, std::optional<std::string>> result;
  for (auto& [key, value] : texts(object, name)) result.emplace(key, std::move(value));
  dom::object members;
  if (object[name].get(members)) return result;
  for (const auto [key, value] : members) {
    if (value.is_null()) result.insert_or_assign(std::string(key), std::nullopt);
  }
  return result;
}

void fillEntry(HistoryEntry& entry, const CommitInfo& info) {
  dom::parser parser;
  dom::object object;
  if (parser.parse(info.json).get(object)) return;
  entry.userId = text(object, "userId");
  entry.userName = text(object, "userName");
  entry.operation = text(object, "operation");
  entry.operationParameters = optionalTexts(object, "operationParameters");
  int64_t number = 0;
  if (!object["readVersion"].get(number)) entry.readVersion = number;
  entry.isolationLevel = text(object, "isolationLevel");
  bool flag = false;
  if (!object["isBlindAppend"].get(flag)) entry.isBlindAppend = flag;
  entry.operationMetrics = texts(object, "operationMetrics");
  entry.userMetadata = text(object, "userMetadata");
  entry.engineInfo = text(object, "engineInfo");
}

// Of a listed commit that may be gone by now.
struct ListedCommit {
  bool isThere = false;
  std::optional<CommitInfo> info;  // the first
};

ListedCommit readCommitInfo(FileSystem& fileSystem, const FileInfo& commit) {
  ListedCommit found;
  const auto text = readCommitText(fileSystem, commit.path);
  if (!text) return found;
  found.isThere = true;
  readActions(*text, commit.path, [&](Action&& action) {
    if (auto* info = std::get_if<CommitInfo>(&action); info && !found.info) found.info = std::move(*info);
  });
  return found;
}

std::vector<CommitTime> risingTimes(const std::vector<FileInfo>& commits) {
  std::vector<CommitTime> times;
  times.reserve(commits.size());
  for (const FileInfo& commit : commits) {
    int64_t timestamp = commit.modificationTimeMs;
    if (!times.empty()) timestamp = std::max(timestamp, times.back().timestampMs + 1);
    times.push_back({versionOf(commit), timestamp});
  }
  return times;
}

// The version from which on commits carry their own time; nullopt where none does.
std::optional<int64_t> inCommitSince(const Metadata& metadata) {
  if (!tableFlag(metadata, kEnableInCommitTimestamps)) return std::nullopt;
  const auto textValue = tableProperty(metadata, "delta.inCommitTimestampEnablementVersion");
  if (!textValue) return 0;
  int64_t version = 0;
  const auto [end, error] =
      std::from_chars(textValue->data(), textValue->data() + textValue->size(), version);
  return error == std::errc() ? version : 0;
}

// Commits that are gone by the time that theirs is asked for leave `times`.
void useInCommitTimes(FileSystem& fileSystem, const std::vector<FileInfo>& commits, int64_t since,
                      std::vector<CommitTime>& times) {
  std::vector<CommitTime> kept;
  kept.reserve(times.size());
  for (size_t i = 0; i < commits.size(); ++i) {
    CommitTime time = times[i];
    if (time.version >= since) {
      const ListedCommit commit = readCommitInfo(fileSystem, commits[i]);
      if (!commit.isThere) continue;
      if (commit.info)
        time.timestampMs = readCommitInfoFields(*commit.info).inCommitTimestamp.value_or(time.timestampMs);
    }
    kept.push_back(time);
  }
  times = std::move(kept);
}

// Commits among which a time is looked up: their times rise, as those of all need not. Files' times are those
// of the copy where a log was copied, which may be after in-commit timestamps.
struct CommitWindow {
  std::vector<CommitTime> times;
  bool hasNewest = true;
};

CommitWindow windowAround(const Snapshot& newest, std::vector<CommitTime> times, int64_t timestampMs) {
  const auto since = inCommitSince(newest.metadata());
  const auto first = std::find_if(times.begin(), times.end(),
                                  [&](const CommitTime& time) { return since && time.version >= *since; });
  if (first == times.begin() || first == times.end()) return {std::move(times), true};
  if (timestampMs >= first->timestampMs) return {{first, times.end()}, true};
  return {{times.begin(), first}, false};
}

std::string timeText(int64_t ms) {
  return date::format("%F %T", date::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(ms)));
}

}  // namespace

std::vector<HistoryEntry> readHistory(FileSystem& fileSystem, const std::string& logPath,
                                      std::optional<size_t> limit) {
  const std::vector<FileInfo> commits = listCommits(fileSystem, logPath);
  const std::vector<CommitTime> times = risingTimes(commits);
  const size_t count = std::min(limit.value_or(commits.size()), commits.size());
  std::vector<HistoryEntry> history;
  for (size_t i = commits.size(); i-- > commits.size() - count;) {
    const ListedCommit commit = readCommitInfo(fileSystem, commits[i]);
    if (!commit.isThere) continue;
    HistoryEntry entry;
    entry.version = times[i].version;
    entry.timestampMs = times[i].timestampMs;
    if (commit.info) {
      fillEntry(entry, *commit.info);
      if (const auto own = readCommitInfoFields(*commit.info).inCommitTimestamp) entry.timestampMs = *own;
    }
    history.push_back(std::move(entry));
  }
  return history;
}

std::vector<CommitTime> readCommitTimes(const Snapshot& snapshot) {
  FileSystem& fileSystem = *snapshot.table().fileSystem;
  std::vector<FileInfo> commits = listCommits(fileSystem, snapshot.logPath());
  // Commits that others made since do not belong to this snapshot.
  std::erase_if(commits, [&](const FileInfo& commit) { return versionOf(commit) > snapshot.version(); });
  std::vector<CommitTime> times = risingTimes(commits);
  if (const auto since = inCommitSince(snapshot.metadata()))
    useInCommitTimes(fileSystem, commits, *since, times);
  return times;
}

std::vector<CommitTime> readFileTimes(FileSystem& fileSystem, const std::string& logPath, int64_t first,
                                      int64_t last) {
  // As far back as Delta looks for times that do not rise.
  constexpr int64_t kBefore = 100;
  std::vector<FileInfo> commits = listCommits(fileSystem, logPath, std::max<int64_t>(first - kBefore, 0));
  std::erase_if(commits, [&](const FileInfo& commit) { return versionOf(commit) > last; });
  std::vector<CommitTime> times = risingTimes(commits);
  std::erase_if(times, [&](const CommitTime& time) { return time.version < first; });
  return times;
}

namespace {

[[noreturn]] void throwAfterNewest(const Snapshot& newest, int64_t timestampMs, int64_t newestTimeMs) {
  throw Error("DELTA_TIMESTAMP_GREATER_THAN_COMMIT",
              "The time " + timeText(timestampMs) + " UTC is after the newest version of the Delta table " +
                  newest.table().path + ", which is of " + timeText(newestTimeMs) + " UTC.",
              {{"providedTimestamp", timeText(timestampMs)},
               {"lastCommitTimestamp", timeText(newestTimeMs)},
               {"maximumTimestamp", timeText(newestTimeMs)}});
}

}  // namespace

int64_t firstVersionSince(const Snapshot& newest, int64_t timestampMs) {
  const auto [times, hasNewest] = windowAround(newest, readCommitTimes(newest), timestampMs);
  const auto found =
      std::lower_bound(times.begin(), times.end(), timestampMs,
                       [](const CommitTime& time, int64_t value) { return time.timestampMs < value; });
  if (found != times.end()) return found->version;
  if (!hasNewest) return times.back().version + 1;
  throwAfterNewest(newest, timestampMs, times.empty() ? newest.timestampMs() : times.back().timestampMs);
}

int64_t versionAtTimestamp(const Snapshot& newest, int64_t timestampMs, OutOfRange outOfRange) {
  const auto earliest = earliestRecreatableVersion(*newest.table().fileSystem, newest.logPath());
  std::vector<CommitTime> all = readCommitTimes(newest);
  std::erase_if(all, [&](const CommitTime& time) { return !earliest || time.version < *earliest; });
  const auto [times, hasNewest] = windowAround(newest, std::move(all), timestampMs);
  if (times.empty()) {
    throw Error("DELTA_NO_RECREATABLE_HISTORY_FOUND",
                "No version of the Delta table " + newest.table().path +
                    " has both its commit and all that is needed to "
                    "build it in the log, so none can be chosen by time.",
                {{"logPath", newest.logPath()}});
  }
  const auto after =
      std::upper_bound(times.begin(), times.end(), timestampMs,
                       [](int64_t value, const CommitTime& time) { return value < time.timestampMs; });
  const Error::Parameters parameters = {{"userTimestamp", timeText(timestampMs)},
                                        {"commitTs", timeText(times.front().timestampMs)},
                                        {"timestampString", timeText(times.front().timestampMs)}};
  if (after == times.begin()) {
    if (outOfRange == OutOfRange::Clamp) return times.front().version;
    throw Error("DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION",
                "The Delta table " + newest.table().path + " has no version as old as " +
                    timeText(timestampMs) + " UTC: its oldest one is of " +
                    timeText(times.front().timestampMs) + " UTC.",
                parameters);
  }
  const bool isAfterNewest = hasNewest && after == times.end() && timestampMs > times.back().timestampMs;
  if (isAfterNewest && outOfRange == OutOfRange::Throw)
    throwAfterNewest(newest, timestampMs, times.back().timestampMs);
  return std::prev(after)->version;
}

TableDetail describeDetail(const Snapshot& snapshot) {
  const Metadata& metadata = snapshot.metadata();
  TableDetail detail;
  detail.id = metadata.id;
  detail.name = metadata.name;
  detail.description = metadata.description;
  detail.location = snapshot.table().uri();
  detail.createdAtMs = metadata.createdTime;
  detail.lastModifiedMs = snapshot.timestampMs();
  detail.partitionColumns = metadata.partitionColumns;
  for (const auto& path : clusteringColumns(snapshot))
    detail.clusteringColumns.push_back(fmt::format("{}", fmt::join(path, ".")));
  detail.numFiles = snapshot.numFiles();
  detail.sizeInBytes = snapshot.sizeInBytes();
  detail.properties = metadata.configuration;
  detail.minReaderVersion = snapshot.protocol().minReaderVersion;
  detail.minWriterVersion = snapshot.protocol().minWriterVersion;
  std::set<std::string> features;
  for (const std::string& name : writerFeatures(snapshot.protocol())) features.insert(name);
  for (const std::string& name : readerFeatures(snapshot.protocol())) features.insert(name);
  detail.tableFeatures.assign(features.begin(), features.end());
  return detail;
}

}  // namespace thalweg::delta
