// The log of the files that a stream has taken, sources/<i>/ of a checkpoint, in Spark's format: a JSON line
// a file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "connector/compacted_log.h"
#include "storage/file_system.h"

namespace thalweg {

struct SourceLogEntry {
  std::string uri;  // "file:///data/in/a.json"
  int64_t timestampMs = 0;
  int64_t batchId = -1;

  bool operator==(const SourceLogEntry&) const = default;
};

// `place` names the file in errors. Unknown keys are passed over. Throws Error
// STREAMING_CHECKPOINT_LOG_CORRUPT.
std::vector<SourceLogEntry> parseSourceLog(std::string_view contents, const std::string& place);
std::string formatSourceLog(const std::vector<SourceLogEntry>& entries);

// Used by one thread; other processes may write the same log, and then one of them gets an Error.
class SourceLog {
 public:
  using Limits = CompactedLog::Limits;
  SourceLog(Location folder, const Clock& clock, Limits limits = {});

  // The newest entry's number as of the last call that looked or wrote; −1 for an empty log.
  int64_t latest() const { return log_.latest(); }
  // All entries, oldest first. Throws STREAMING_CHECKPOINT_LOG_CORRUPT where one between is missing.
  void restore(const std::function<void(const SourceLogEntry&)>& use) const;
  // Writes entry latest() + 1, durable on return. Throws Error CONCURRENT_STREAM_LOG_UPDATE where another run
  // wrote it.
  void add(const std::vector<SourceLogEntry>& entries);
  // The files of the entries first…last. Throws STREAMING_CHECKPOINT_LOG_CORRUPT for an entry that is
  // nowhere.
  std::vector<SourceLogEntry> read(int64_t first, int64_t last) const;

 private:
  CompactedLog log_;
  std::vector<SourceLogEntry> lastAdded_;
};

}  // namespace thalweg
