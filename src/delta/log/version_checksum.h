// The file V.crc: a version's totals, its protocol and metadata, written after the commit and never overwritten.
// Optional for every reader; an unreadable one is ignored with a warning.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "delta/actions/actions.h"
#include "storage/file_system.h"

namespace thalweg::delta {

struct VersionChecksum {
  std::optional<std::string> txnId;
  int64_t tableSizeBytes = 0;
  int64_t numFiles = 0;
  std::optional<int64_t> inCommitTimestamp;  // ms
  std::optional<std::vector<SetTransaction>> setTransactions;
  std::optional<std::vector<DomainMetadata>> domainMetadata;
  Metadata metadata;
  Protocol protocol;
};

// More set transactions or domains than this are left out of the file, as Spark does.
inline constexpr size_t kMaxChecksumTransactions = 100;
inline constexpr size_t kMaxChecksumDomains = 10;

std::string toChecksumJson(const VersionChecksum& checksum);
// nullopt where the text is not such an object or a required field is missing.
std::optional<VersionChecksum> parseChecksum(std::string_view json);

// nullopt where the file is absent or unreadable (the latter is logged).
std::optional<VersionChecksum> readChecksum(FileSystem& fileSystem, const std::string& logPath, int64_t version);
// Leaves an existing file alone.
void writeChecksum(FileSystem& fileSystem, const std::string& logPath, int64_t version, const VersionChecksum& checksum);

}  // namespace thalweg::delta
