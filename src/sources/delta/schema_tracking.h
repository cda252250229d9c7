// A stream over a Delta table that follows its schema: what it reads by is in a log of its own, and changes
// only between two runs of the query, where the user can see it.
//
// A batch never passes a commit that changes the schema, the protocol or a property of Delta's: it ends at
// that commit's place kAtMetadataChange. The next batch is empty and ends at kAfterMetadataChange: when its
// offset is durable, the new metadata goes into the log and the query ends with
// DELTA_STREAMING_METADATA_EVOLUTION. The next run reads by it, unless columns were renamed, dropped or
// widened and the user has not let that through.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "delta/changes/commit_changes.h"
#include "delta/scan/deletion_vector.h"
#include "delta/snapshot/delta_log.h"
#include "sources/delta/delta_stream_options.h"
#include "sources/delta/schema_log.h"

namespace thalweg {

// What load() shows: the newest of the log's schemas, the table's own where there is no log yet or the
// options name none. Commits behind the entry that only change metadata are looked into, and the last of them
// becomes a new entry, so that changes one after the other end a query once. Throws Error as SchemaLog.
SchemaPtr loadedSchema(delta::DeltaLog& log, const delta::Snapshot& table,
                       const SchemaTrackingOptions& options, const delta::AddressResolver& resolve);

// Used by one thread.
class SchemaTracking {
 public:
  // The query that the source is part of.
  struct Query {
    Location sourceFolder;  // <checkpoint>/sources/<i>
    std::map<std::string, std::string> settings;
  };

  // Null where the options name no schemaTrackingLocation. Throws Error as SchemaLog,
  // DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT, DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT where the
  // log is another source's, DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION for changes
  // that neither an option nor a setting lets through, and DELTA_SCHEMA_CHANGED_WITH_VERSION for those that
  // nothing could.
  static std::unique_ptr<SchemaTracking> open(std::shared_ptr<delta::DeltaLog> log,
                                              const delta::Snapshot& table,
                                              const SchemaTrackingOptions& options, const Query& query,
                                              const delta::AddressResolver& resolve);

  // What this run reads by: the log's newest entry, or the table as it was opened.
  const StreamedMetadata& reading() const { return reading_; }
  const Location& logFolder() const { return entries_.folder(); }

  // False until the first batch: nothing is in the log. From then on commits need no other check of their
  // schema.
  bool isInitialized() const { return entries_.current().has_value(); }
  // Puts a first entry into the log: the table at `version`. Throws Error DELTA_STREAMING_METADATA_EVOLUTION
  // where that is not what this run reads by, DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE where it cannot
  // be built.
  void initialize(int64_t version);
  // The same for a batch that was planned without a log: the metadata by which all rows of the versions can
  // be read. Throws besides Error DELTA_STREAMING_SCHEMA_LOG_INIT_FAILED_INCOMPATIBLE_METADATA where there is
  // none.
  void initializeFor(int64_t firstVersion, int64_t lastVersion);

  // Whether the commit changes what this run reads by.
  bool isChangedBy(const delta::CommitChanges& commit) const;
  // Where the commit does, puts it into the log and throws Error DELTA_STREAMING_METADATA_EVOLUTION.
  void follow(const delta::CommitChanges& commit);
  // The same for the version with whose rows the stream begins; the entry takes the place of the newest one.
  void followInitial(const delta::Snapshot& initial);

 private:
  SchemaTracking(std::shared_ptr<delta::DeltaLog> log, SchemaLog entries, const StreamedMetadata& table,
                 std::string sourceFolder);
  void checkLetThrough(const SchemaTrackingOptions& options, const Query& query) const;
  bool isChange(const std::optional<delta::Metadata>& metadata,
                const std::optional<delta::Protocol>& protocol, int64_t version) const;
  delta::SnapshotPtr snapshotAt(int64_t version) const;
  void begin(int64_t version, const delta::Metadata& metadata, const delta::Protocol& protocol);
  [[noreturn]] void throwEvolution(const delta::Metadata& metadata, const delta::Protocol& protocol) const;

  const std::shared_ptr<delta::DeltaLog> log_;
  SchemaLog entries_;
  // The version up to which changes are in the entry that this run opened with; none: it began without one.
  const std::optional<int64_t> followedUpTo_;
  const StreamedMetadata reading_;
  const std::string sourceFolder_;
};

}  // namespace thalweg
