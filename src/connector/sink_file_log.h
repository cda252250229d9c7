// The log of the files that a file sink has written, <output>/_spark_metadata/, in Spark's format: a JSON
// line a file, a log file a batch. Where there is one, it says which files of the folder count.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "connector/compacted_log.h"

namespace thalweg {

inline constexpr std::string_view kSinkLogFolder = "_spark_metadata";

struct SinkFileEntry {
  std::string uri;  // "file:///data/out/part-0.parquet"
  int64_t sizeBytes = 0;
  int64_t modificationTimeMs = 0;

  bool operator==(const SinkFileEntry&) const = default;
};

// Used by one thread; other processes may write the same log, and then one of them gets an Error.
class SinkFileLog {
 public:
  using Limits = CompactedLog::Limits;
  static constexpr int64_t kKeepAll = std::numeric_limits<int64_t>::max();
  // Of the output folder. Entries of files older than `retentionMs` leave the log at its next compaction, the
  // files themselves stay.
  SinkFileLog(const Location& output, const Clock& clock, int64_t retentionMs = kKeepAll, Limits limits = {});

  // The newest batch that is in the log; −1 for none.
  int64_t latest() const { return log_.latest(); }
  // The files that count, oldest batch first. Throws STREAMING_CHECKPOINT_LOG_CORRUPT.
  std::vector<SinkFileEntry> files() const;
  // Looks whether the log has an entry of this batch's own now, whoever wrote it; those that a compaction
  // stands for are gone in time.
  bool has(int64_t batchId) const { return log_.has(batchId); }
  // Publishes a batch's files; batches between the newest one and this have none. `batchId` is above
  // latest(). Durable on return. Throws Error CONCURRENT_STREAM_LOG_UPDATE where another run wrote it.
  void add(int64_t batchId, const std::vector<SinkFileEntry>& files);

 private:
  bool isKept(int64_t modificationTimeMs) const;

  CompactedLog log_;
  const Clock& clock_;
  int64_t retentionMs_;
};

// The text of one file of the log, for all that it holds. Entries whose action is "delete" take earlier ones
// of their path away. Throws STREAMING_CHECKPOINT_LOG_CORRUPT.
std::vector<SinkFileEntry> parseSinkFileLog(std::string_view contents, const std::string& place);

}  // namespace thalweg
