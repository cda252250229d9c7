// A folder of numbered text files, each written once: the offset log and the commit log of a checkpoint.
// Format: Spark's "v1" line, then lines, no newline at the end; files whose names are not plain numbers are ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/fault_points.h"
#include "storage/file_system.h"

namespace thalweg {

// Used by one query's thread. What add returns from is durable.
class MetadataLog {
 public:
  struct FaultPoints {
    FaultPoint before, temporary, after;
  };
  MetadataLog(Location folder, FaultPoints faultPoints);

  std::optional<int64_t> latest() const;
  bool has(int64_t batchId) const;
  // The file's text without its version line; empty where there is none. Throws Error where the version is not 1 (UNSUPPORTED_FEATURE: it is 2) or the
  // file is cut short (naming it).
  std::optional<std::string> read(int64_t batchId) const;
  // Throws Error CONCURRENT_STREAM_LOG_UPDATE where the file exists already: another query runs on this checkpoint.
  void add(int64_t batchId, const std::string& text);
  // Removes files below `batchId`, oldest first.
  void purgeBelow(int64_t batchId);

 private:
  std::vector<int64_t> batchIds() const;
  std::string pathOf(int64_t batchId) const;
  Location folder_;
  FaultPoints faultPoints_;
};

}  // namespace thalweg
