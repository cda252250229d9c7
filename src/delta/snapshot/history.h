// A table's history: its commits' times and what they say of themselves.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/file_system.h"

namespace thalweg::delta {

class Snapshot;

// One row of DESCRIBE HISTORY. Values of the maps are as the commit has them: texts unquoted, other JSON as
// its text.
struct HistoryEntry {
  int64_t version = 0;
  int64_t timestampMs = 0;
  std::optional<std::string> userId;
  std::optional<std::string> userName;
  std::optional<std::string> operation;
  std::map<std::string, std::optional<std::string>> operationParameters;  // JSON null: nullopt
  std::optional<int64_t> readVersion;
  std::optional<std::string> isolationLevel;
  std::optional<bool> isBlindAppend;
  std::map<std::string, std::string> operationMetrics;
  std::optional<std::string> userMetadata;
  std::optional<std::string> engineInfo;
};

// The newest `limit` commits (all where there is none) that are still in the log, newest first; fewer where a
// clean-up of the log takes some meanwhile. Commits that have no commitInfo give version and time only.
std::vector<HistoryEntry> readHistory(FileSystem& fileSystem, const std::string& logPath,
                                      std::optional<size_t> limit = {});

struct CommitTime {
  int64_t version = 0;
  int64_t timestampMs = 0;
};

// The times of all commits in the log, by version: a commit whose file seems no younger than the one before
// it counts one millisecond later. In-commit timestamps are used from the version on that switched them on
// (`snapshot`, the newest, says which); where the log was copied, the times before them may be later ones.
std::vector<CommitTime> readCommitTimes(const Snapshot& snapshot);

// The times of the commits [first, last] that the log has, by their files' modification times alone, made to
// rise as above over the commits before them.
std::vector<CommitTime> readFileTimes(FileSystem& fileSystem, const std::string& logPath, int64_t first,
                                      int64_t last);

enum class OutOfRange { Throw, Clamp };

// The newest version whose time is at or before `timestampMs`, looked up, as by Delta, among the versions
// with in-commit timestamps from the first of these on and among those without before it. Throws Error
// DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION before the oldest version that can be built, and
// DELTA_TIMESTAMP_GREATER_THAN_COMMIT after the newest one; Clamp gives the nearest version instead.
int64_t versionAtTimestamp(const Snapshot& newest, int64_t timestampMs,
                           OutOfRange outOfRange = OutOfRange::Throw);

// The oldest version still in the log whose time is at or after `timestampMs`: where readers of changes
// start. Throws Error DELTA_TIMESTAMP_GREATER_THAN_COMMIT after the newest one.
int64_t firstVersionSince(const Snapshot& newest, int64_t timestampMs);

// DESCRIBE DETAIL.
struct TableDetail {
  std::string format = "delta";
  std::string id;
  std::optional<std::string> name;
  std::optional<std::string> description;
  std::string location;
  std::optional<int64_t> createdAtMs;
  int64_t lastModifiedMs = 0;
  std::vector<std::string> partitionColumns;
  std::vector<std::string> clusteringColumns;  // logical names, nested ones dotted
  int64_t numFiles = 0;
  int64_t sizeInBytes = 0;
  std::map<std::string, std::string> properties;
  int32_t minReaderVersion = 0;
  int32_t minWriterVersion = 0;
  std::vector<std::string> tableFeatures;  // sorted
};
TableDetail describeDetail(const Snapshot& snapshot);

}  // namespace thalweg::delta
