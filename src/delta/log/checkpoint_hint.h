// The file _last_checkpoint: a hint where the newest checkpoint is. Never trusted: absent, stale or broken is no error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/file_system.h"

namespace thalweg::delta {

struct CheckpointHint {
  int64_t version = 0;
  int64_t size = 0;  // actions in the checkpoint
  std::optional<int32_t> parts;
  std::optional<int64_t> sizeInBytes;
  std::optional<int64_t> numOfAddFiles;
};

// nullopt where the text is no such object, has no version, or carries a checksum that does not hold.
std::optional<CheckpointHint> parseCheckpointHint(std::string_view json);

// With a checksum; version, size and parts first, as old readers want them.
std::string toCheckpointHintJson(const CheckpointHint& hint);

// The protocol's checksum of the hint: the MD5 (hexadecimal) of the object's canonical form without its field
// "checksum". nullopt where the text is no JSON object.
std::optional<std::string> checkpointHintChecksum(std::string_view json);

// nullopt where the file is absent, unreadable or broken (the latter two are logged).
std::optional<CheckpointHint> readCheckpointHint(FileSystem& fileSystem, const std::string& logPath);
void writeCheckpointHint(FileSystem& fileSystem, const std::string& logPath, const CheckpointHint& hint);

}  // namespace thalweg::delta
