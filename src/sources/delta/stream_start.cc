#include "sources/delta/stream_start.h"

#include "common/error.h"
#include "common/fault_points.h"
#include "delta/log/log_files.h"
#include "delta/log/log_segment.h"
#include "sources/delta/delta_time_travel.h"
#include "storage/resolved_put.h"

namespace thalweg {
namespace {

constexpr std::string_view kHeader = "v1\n";

// Its commit must be in the log, or be the next one.
void checkVersionExists(delta::DeltaLog& log, const delta::Snapshot& opened, int64_t version) {
  FileSystem& files = *log.table().fileSystem;
  if (version == opened.version() + 1 || files.stat(log.logPath() + "/" + delta::commitFileName(version)))
    return;
  const auto commits = delta::listCommits(files, log.logPath());
  const int64_t first = commits.empty() ? 0 : delta::parseLogFileName(commits.front().name())->version;
  throw Error(
      "DELTA_VERSION_NOT_FOUND",
      fmt::format(
          "The stream cannot start at version {} of the Delta table {}: its log has versions {} to {}.",
          version, log.table().uri(), first, opened.version()),
      {{"userVersion", std::to_string(version)},
       {"earliest", std::to_string(first)},
       {"latest", std::to_string(opened.version())}});
}

}  // namespace

DeltaSourceOffset resolveStart(delta::DeltaLog& log, const delta::Snapshot& opened,
                               const DeltaStreamOptions& options, const std::string& timeZone) {
  DeltaSourceOffset start{opened.metadata().id, opened.version(), DeltaSourceOffset::kBeforeFirst, false};
  if (options.startLatest) {
    start.version = log.require()->version() + 1;
  } else if (options.startingVersion) {
    checkVersionExists(log, opened, *options.startingVersion);
    start.version = *options.startingVersion;
  } else if (options.startingTimestamp) {
    start.version = delta::firstVersionSince(opened, parseTravelTime(*options.startingTimestamp, timeZone));
  } else {
    start.isInitialSnapshot = true;
  }
  return start;
}

std::optional<DeltaSourceOffset> readStart(const Location& metadataFolder) {
  const Location file = metadataFolder.child("0");
  if (!file.fileSystem->stat(file.path)) return std::nullopt;
  const std::string text = file.fileSystem->readAll(file.path);
  if (!text.starts_with(kHeader)) {
    throw Error("STREAMING_CHECKPOINT_LOG_CORRUPT",
                "The file " + file.path + " of the checkpoint does not hold where a Delta stream began.",
                {{"path", file.path}});
  }
  return DeltaSourceOffset::parse(std::string_view(text).substr(kHeader.size()));
}

DeltaSourceOffset keepStart(const Location& metadataFolder, const DeltaSourceOffset& start) {
  const Location file = metadataFolder.child("0");
  passFaultPoint(FaultPoint::SourceLogBefore);
  const PutOutcome outcome =
      putIfAbsentResolved(*file.fileSystem, file.path, std::string(kHeader) + start.toJson());
  passFaultPoint(FaultPoint::SourceLogAfter);
  return outcome == PutOutcome::Done ? start : *readStart(metadataFolder);
}

}  // namespace thalweg
