// Names of the files of a Delta log. Versions are 20 digits, zero padded; anything else in the folder is
// skipped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace thalweg::delta {

inline constexpr std::string_view kLogFolder = "_delta_log";
inline constexpr std::string_view kSidecarFolder = "_sidecars";
inline constexpr std::string_view kLastCheckpointName = "_last_checkpoint";

enum class LogFileKind {
  Commit,               // V.json
  Compacted,            // A.B.compacted.json: the reconciled actions of commits A to B
  Checksum,             // V.crc
  ClassicCheckpoint,    // V.checkpoint.parquet
  MultiPartCheckpoint,  // V.checkpoint.part.parts.parquet
  UuidCheckpoint,       // V.checkpoint.<unique>.json or .parquet
};

struct LogFileName {
  LogFileKind kind;
  int64_t version = 0;
  int64_t endVersion = 0;  // Compacted: B, else version
  int32_t part = 0;        // MultiPartCheckpoint: 1 to parts
  int32_t parts = 0;

  bool isCheckpoint() const { return kind >= LogFileKind::ClassicCheckpoint; }
};

// nullopt for names that are none of these: hidden files, staged commits, hints, temporary files.
std::optional<LogFileName> parseLogFileName(std::string_view name);

std::string commitFileName(int64_t version);
std::string checksumFileName(int64_t version);
std::string classicCheckpointFileName(int64_t version);
std::string partCheckpointFileName(int64_t version, int32_t part, int32_t parts);
// The unique part makes the name one that no other writer has.
std::string uuidCheckpointFileName(int64_t version, std::string_view unique, bool parquet);
// Below kSidecarFolder.
std::string sidecarFileName(int64_t version, int64_t part, int64_t parts, std::string_view unique);
// The least name of a version's files ("<20 digits>."), where listing a log's tail starts.
std::string firstNameOfVersion(int64_t version);

}  // namespace thalweg::delta
