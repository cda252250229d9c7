#include "delta/changes/change_range.h"

#include <map>

#include "common/error.h"
#include "delta/changes/schema_changes.h"
#include "delta/log/log_files.h"
#include "delta/log/log_segment.h"
#include "delta/log/version_checksum.h"
#include "delta/snapshot/table_features.h"

namespace thalweg::delta {
namespace {

[[noreturn]] void throwNotKept(const Snapshot& reading, int64_t version, const ChangeRange& range) {
  throw Error(
      "DELTA_MISSING_CHANGE_DATA",
      fmt::format(
          "The changes of versions {} to {} of the Delta table {} cannot be read: at version {} its "
          "change feed was off. DESCRIBE HISTORY shows when the property delta.enableChangeDataFeed was "
          "set; read from a version after that.",
          range.first, range.last, reading.table().uri(), version),
      {{"startVersion", std::to_string(range.first)},
       {"endVersion", std::to_string(range.last)},
       {"version", std::to_string(version)},
       {"key", std::string(kEnableChangeDataFeed)}});
}

// `listed`: the commits that are there.
[[noreturn]] void throwGone(const Snapshot& reading, int64_t version, const ChangeRange& range,
                            const std::map<int64_t, int64_t>& listed) {
  const auto next = listed.upper_bound(version);
  const int64_t earliest = next == listed.end() ? range.last + 1 : next->first;
  throw Error(
      "DELTA_MISSING_FILES_UNEXPECTED_VERSION",
      fmt::format("The changes of versions {} to {} of the Delta table {} cannot be read: the log has no "
                  "commit of version {} any more. Read from a version on after which all commits are there "
                  "(and consider a longer delta.logRetentionDuration).",
                  range.first, range.last, reading.table().uri(), version),
      {{"startVersion", std::to_string(version)},
       {"earliestVersion", std::to_string(earliest)},
       {"option", ""}});
}

// Whether rows of a version with this metadata can be read with the reader's schema.
void checkSchema(const Snapshot& reading, const Metadata& metadata, int64_t version, const ChangeRange& range,
                 const char* condition) {
  const bool before = version <= reading.version();
  const bool fits =
      before ? !renamesOrDropsColumns(metadata, reading.metadata()) &&
                   isReadCompatible(*metadata.schema(), *reading.schema(), {.forbidTighterNulls = true})
             : !renamesOrDropsColumns(reading.metadata(), metadata) &&
                   isReadCompatible(*reading.schema(), *metadata.schema(), {.forbidTighterNulls = false});
  if (fits) return;
  throw Error(
      condition,
      fmt::format(
          "The changes of versions {} to {} of the Delta table {} cannot be read together: they are read "
          "with the schema of version {}, {}, and version {} has {}. Read the versions before and after "
          "the change apart.",
          range.first, range.last, reading.table().uri(), reading.version(), reading.schema()->simpleString(),
          version, metadata.schema()->simpleString()),
      {{"start", std::to_string(range.first)},
       {"end", std::to_string(range.last)},
       {"readSchema", reading.schema()->simpleString()},
       {"readVersion", std::to_string(reading.version())},
       {"incompatibleVersion", std::to_string(version)},
       {"config", ""}});
}

}  // namespace

Metadata metadataAt(DeltaLog& log, int64_t version) {
  if (auto checksum = readChecksum(*log.table().fileSystem, log.logPath(), version))
    return std::move(checksum->metadata);
  return log.snapshotAt(version)->metadata();
}

std::vector<ChangedFile> readChanges(DeltaLog& log, const ChangeRange& range, const Snapshot& reading) {
  const Metadata first = metadataAt(log, range.first);
  if (!tableFlag(first, kEnableChangeDataFeed)) throwNotKept(reading, range.first, range);
  FileSystem& files = *log.table().fileSystem;
  std::map<int64_t, int64_t> times;
  for (const CommitTime& time : readFileTimes(files, log.logPath(), range.first, range.last))
    times.emplace(time.version, time.timestampMs);
  const bool partitioned = !reading.partitionColumns().empty();
  std::vector<ChangedFile> changed;
  for (int64_t version = range.first; version <= range.last; ++version) {
    // A listing may leave out a commit that is there, and show one that goes before it is read.
    const auto commit = readCommitChanges(files, log.logPath(), version);
    if (!commit) throwGone(reading, version, range, times);
    if (commit->metadata && !tableFlag(*commit->metadata, kEnableChangeDataFeed))
      throwNotKept(reading, version, range);
    if (commit->metadata && version > range.first)
      checkSchema(reading, *commit->metadata, version, range,
                  "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE");
    if (commit->knownToChangeNothing && !commit->hasChangeFiles()) continue;
    const auto listed = times.find(version);
    const int64_t fileTimeMs = listed == times.end() ? commit->fileTimeMs : listed->second;
    const int64_t timeMs = commit->inCommitTimestampMs.value_or(fileTimeMs);
    auto here = changedFiles(*commit, commit->files, timeMs, partitioned);
    std::move(here.begin(), here.end(), std::back_inserter(changed));
  }
  checkSchema(reading, first, range.first, range, "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA");
  return changed;
}

}  // namespace thalweg::delta
