// A query's checkpoint folder, in Spark's layout: metadata, offsets/, commits/, sources/<i>/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "connector/stream_source.h"
#include "streaming/checkpoint/metadata_log.h"

namespace thalweg {

// offsets/<N>: what batch N reads up to, and what it must run under on every replay.
struct OffsetEntry {
  int64_t watermarkMs = 0;
  int64_t timestampMs = 0;
  std::map<std::string, std::string> configuration;
  std::vector<std::optional<SourceOffset>> offsets;  // one a source, in plan order; none: '-'
};

std::string formatOffsetEntry(const OffsetEntry& entry);
// Throws Error STREAMING_CHECKPOINT_LOG_CORRUPT naming `where`.
OffsetEntry parseOffsetEntry(const std::string& text, const std::string& where);

// commits/<N>: batch N is in the sink.
struct CommitEntry {
  int64_t nextWatermarkMs = 0;
};

class Checkpoint {
 public:
  // Opens a folder, made as needed: a new query's id is written, an old one's read. A folder with offsets or commits but
  // without its id is refused (STREAMING_CHECKPOINT_MISSING_METADATA_FILE).
  explicit Checkpoint(Location folder);

  const std::string& queryId() const { return queryId_; }
  const Location& folder() const { return folder_; }
  Location sourceFolder(int index) const;

  MetadataLog& offsets() { return offsets_; }
  MetadataLog& commits() { return commits_; }
  std::optional<OffsetEntry> readOffsets(int64_t batchId) const;
  void writeOffsets(int64_t batchId, const OffsetEntry& entry) { offsets_.add(batchId, formatOffsetEntry(entry)); }
  std::optional<CommitEntry> readCommit(int64_t batchId) const;
  void writeCommit(int64_t batchId, const CommitEntry& entry);

  // At a query's start: files go that writers left unfinished who were killed more than a day ago. Those of the state go
  // when it is cleaned.
  void removeAbandonedFiles();

 private:
  Location folder_;
  std::string queryId_;
  MetadataLog offsets_;
  MetadataLog commits_;
};

}  // namespace thalweg
