// What ends a stream over a Delta table: changes of its schema, its identity and its protocol, and commits
// that take rows away.
#pragma once

#include <cstdint>
#include <string>

#include "delta/changes/commit_changes.h"
#include "sources/delta/delta_stream_options.h"
#include "sources/delta/streamed_metadata.h"

namespace thalweg {

// Holds commits against what the stream reads by. Immutable; any thread.
class StreamGuard {
 public:
  // `table` names it in errors.
  StreamGuard(const StreamedMetadata& reading, std::string table, DeltaStreamOptions options);

  // Throws where rows of this metadata cannot be read under the stream's schema, Error
  // DELTA_SCHEMA_CHANGED_WITH_VERSION or DELTA_SCHEMA_CHANGED_WITH_STARTING_OPTIONS (a restart reads on where
  // columns were added or widened), DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG (columns
  // renamed or dropped), DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE, and DELTA_MISSING_CHANGE_DATA where
  // the stream reads the change feed and the table does not keep it.
  void checkMetadata(const delta::Metadata& metadata, int64_t version) const;
  // Of these, whether it is the same table.
  void checkIdentity(const delta::Metadata& metadata, int64_t version) const;
  // And that no columns were renamed or dropped.
  void checkColumns(const delta::Metadata& metadata, int64_t version) const;
  // Only the last of these.
  void checkFeed(const delta::Metadata& metadata, int64_t version) const;

  // All that can be wrong with a commit: the above, its protocol, and (unless the change feed is read)
  // removed rows, Error DELTA_SOURCE_TABLE_IGNORE_CHANGES and DELTA_SOURCE_IGNORE_DELETE. Where a schema log
  // follows the schema (`isFollowed`), of the metadata only its table counts. Returns whether the stream
  // takes the commit's files.
  bool admits(const delta::CommitChanges& commit, bool isFollowed) const;

 private:
  int64_t version_;
  delta::Metadata metadata_;
  SchemaPtr schema_;
  bool widensTypes_;
  std::string table_;
  DeltaStreamOptions options_;
};

}  // namespace thalweg
