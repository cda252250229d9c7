// The files of a log that make up one version: a checkpoint, or none, and the commits after it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "storage/file_system.h"

namespace thalweg::delta {

// A complete checkpoint: one file, or all parts in their order.
struct CheckpointFiles {
  int64_t version = 0;
  std::vector<FileInfo> files;
};

struct LogSegment {
  int64_t version = 0;  // what the files give when replayed
  std::optional<CheckpointFiles> checkpoint;
  std::vector<FileInfo>
      commits;  // checkpoint's version + 1 to version, or 0 to version; ascending and contiguous
};

// Checkpoints that were found unreadable: their files' paths.
using BadCheckpoints = std::set<std::string>;

// Lists `logPath` and chooses the files for `target`, or for the newest version. The hint only shortens the
// listing: where it leads to nothing, all is listed. Of several checkpoints at one version a UUID one is
// preferred, then the multi-part one with most parts, then the classic one; incomplete, empty and `bad` ones
// are passed over for older ones. JSON commits are used even where compacted files cover them (some of those
// in the field are not reconciled). nullopt: no commit and no checkpoint at all. Throws Error
// DELTA_VERSIONS_NOT_CONTIGUOUS where a commit is missing inside the range, DELTA_TRUNCATED_TRANSACTION_LOG
// where the log's beginning is gone and no checkpoint stands for it, and VERSION_NOT_FOUND's Delta form,
// DELTA_VERSION_NOT_FOUND, where `target` is past the newest version.
std::optional<LogSegment> listLogSegment(FileSystem& fileSystem, const std::string& logPath,
                                         std::optional<int64_t> target = std::nullopt,
                                         const BadCheckpoints& bad = {});

// All commit files, ascending.
std::vector<FileInfo> listCommits(FileSystem& fileSystem, const std::string& logPath,
                                  int64_t fromVersion = 0);

// The text of a commit's file; nothing where it is gone, as a clean-up of the log may take it after a listing
// showed it.
std::optional<std::string> readCommitText(FileSystem& fileSystem, const std::string& path);

// The oldest version that can still be built from `logPath`'s files: 0 where commit 0 is there, else the
// oldest complete checkpoint whose later commits are there. nullopt where there is none.
std::optional<int64_t> earliestRecreatableVersion(FileSystem& fileSystem, const std::string& logPath);

}  // namespace thalweg::delta
