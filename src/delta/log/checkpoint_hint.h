// The file _last_checkpoint: a hint where the newest checkpoint is. Never trusted: absent, stale or broken is
// no error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "delta/actions/action_reader.h"
#include "storage/file_system.h"

namespace thalweg::delta {

// A V2 checkpoint's top level, as the hint repeats it for readers that then need not open it.
struct TopLevelHint {
  std::string path;  // the file's name
  int64_t sizeInBytes = 0;
  int64_t modificationTime = 0;             // ms
  std::vector<std::string> nonFileActions;  // lines of JSON
  std::vector<Sidecar> sidecars;
};

struct CheckpointHint {
  int64_t version = 0;
  int64_t size = 0;  // actions in the checkpoint
  std::optional<int32_t> parts;
  std::optional<int64_t> sizeInBytes;
  std::optional<int64_t> numOfAddFiles;
  std::optional<TopLevelHint> v2;  // written only: readers here open the file itself
};

// nullopt where the text is no such object, has no version, or carries a checksum that does not hold.
std::optional<CheckpointHint> parseCheckpointHint(std::string_view json);

// With a checksum; version, size and parts first, as old readers want them. Of a V2 checkpoint, more than
// thirty actions or sidecars are left out, as Spark does.
std::string toCheckpointHintJson(const CheckpointHint& hint);

// The protocol's checksum of the hint: the MD5 (hexadecimal) of the object's canonical form without its field
// "checksum". nullopt where the text is no JSON object.
std::optional<std::string> checkpointHintChecksum(std::string_view json);

// nullopt where the file is absent, unreadable or broken (the latter two are logged).
std::optional<CheckpointHint> readCheckpointHint(FileSystem& fileSystem, const std::string& logPath);
void writeCheckpointHint(FileSystem& fileSystem, const std::string& logPath, const CheckpointHint& hint);

}  // namespace thalweg::delta
