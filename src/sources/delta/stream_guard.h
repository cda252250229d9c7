// What ends a stream over a Delta table: changes of its schema, its identity and its protocol, and commits
// that take rows away.
#pragma once

#include <cstdint>
#include <string>

#include "delta/changes/commit_changes.h"
#include "delta/snapshot/snapshot.h"
#include "sources/delta/delta_stream_options.h"

namespace thalweg {

// Holds commits against the version that the stream was opened with. Immutable; any thread.
class StreamGuard {
 public:
  StreamGuard(const delta::Snapshot& opened, DeltaStreamOptions options);

  // Throws where rows of this metadata cannot be read under the stream's schema, Error
  // DELTA_SCHEMA_CHANGED_WITH_VERSION or DELTA_SCHEMA_CHANGED_WITH_STARTING_OPTIONS (a restart reads on where
  // columns were added), DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG (columns renamed, dropped
  // or of another type), DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE, and DELTA_MISSING_CHANGE_DATA where
  // the stream reads the change feed and the table does not keep it.
  void checkMetadata(const delta::Metadata& metadata, int64_t version) const;
  // Of these, whether it is the same table, and that no columns were renamed, dropped or given another type.
  void checkColumns(const delta::Metadata& metadata, int64_t version) const;
  // Only the last of these.
  void checkFeed(const delta::Metadata& metadata, int64_t version) const;

  // All that can be wrong with a commit: the above, its protocol, and (unless the change feed is read)
  // removed rows, Error DELTA_SOURCE_TABLE_IGNORE_CHANGES and DELTA_SOURCE_IGNORE_DELETE. Returns whether the
  // stream takes the commit's files.
  bool admits(const delta::CommitChanges& commit) const;

 private:
  int64_t version_;
  delta::Metadata metadata_;
  SchemaPtr schema_;
  bool widensTypes_;
  std::string table_;
  DeltaStreamOptions options_;
};

}  // namespace thalweg
