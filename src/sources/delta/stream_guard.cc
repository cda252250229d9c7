#include "sources/delta/stream_guard.h"

#include "common/error.h"
#include "delta/changes/schema_changes.h"
#include "delta/snapshot/table_features.h"

namespace thalweg {
namespace {

Error schemaChanged(const Schema& read, const Schema& data, int64_t version, bool retryable, bool hasStart) {
  std::string text =
      fmt::format("The schema of the streamed Delta table changed at version {}, from {} to {}. ", version,
                  read.simpleString(), data.simpleString());
  text += retryable ? "Start the query again: it then reads on with the new schema."
                    : "Rows of both cannot be read together: start with a new checkpoint.";
  if (hasStart)
    text +=
        " The checkpoint is what the query goes on from; startingVersion and startingTimestamp only count "
        "without one.";
  return Error(hasStart ? "DELTA_SCHEMA_CHANGED_WITH_STARTING_OPTIONS" : "DELTA_SCHEMA_CHANGED_WITH_VERSION",
               text,
               {{"version", std::to_string(version)},
                {"readSchema", read.simpleString()},
                {"dataSchema", data.simpleString()}});
}

}  // namespace

StreamGuard::StreamGuard(const StreamedMetadata& reading, std::string table, DeltaStreamOptions options)
    : version_(reading.version),
      metadata_(reading.metadata),
      schema_(reading.schema),
      widensTypes_(delta::supportsFeature(reading.protocol, "typeWidening") ||
                   delta::supportsFeature(reading.protocol, "typeWidening-preview")),
      table_(std::move(table)),
      options_(std::move(options)) {}

void StreamGuard::checkFeed(const delta::Metadata& metadata, int64_t version) const {
  if (!options_.readChangeFeed || delta::tableFlag(metadata, delta::kEnableChangeDataFeed)) return;
  const std::string at = std::to_string(version);
  throw Error(
      "DELTA_MISSING_CHANGE_DATA",
      "The Delta table " + table_ + " kept no change data at version " + at +
          ": switch it on with the property delta.enableChangeDataFeed, and read from a version after that.",
      {{"startVersion", at}, {"endVersion", at}, {"version", at}, {"key", "delta.enableChangeDataFeed"}});
}

void StreamGuard::checkIdentity(const delta::Metadata& metadata, int64_t version) const {
  if (metadata.id == metadata_.id) return;
  const bool backfilling = version < version_;
  const std::string& older = backfilling ? metadata.id : metadata_.id;
  const std::string& newer = backfilling ? metadata_.id : metadata.id;
  throw Error("DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
              "The Delta table at " + table_ + " was replaced by another one (id " + newer + ", before " +
                  older + "). Start with a new checkpoint to read it.",
              {{"newTableId", newer}, {"oldTableId", older}});
}

void StreamGuard::checkColumns(const delta::Metadata& metadata, int64_t version) const {
  checkIdentity(metadata, version);
  const bool backfilling = version < version_;
  const delta::Metadata& older = backfilling ? metadata : metadata_;
  const delta::Metadata& newer = backfilling ? metadata_ : metadata;
  if (delta::renamesOrDropsColumns(older, newer)) {
    throw Error("DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG",
                fmt::format("Columns of the streamed Delta table {} were renamed or dropped between {} and "
                            "{} (version {}): set the "
                            "option schemaTrackingLocation to a folder under the query's checkpoint to go "
                            "on, or start with a new "
                            "checkpoint.",
                            table_, older.schema()->simpleString(), newer.schema()->simpleString(), version),
                {{"readSchema", older.schema()->simpleString()},
                 {"incompatibleSchema", newer.schema()->simpleString()},
                 {"docLink", ""}});
  }
}

void StreamGuard::checkMetadata(const delta::Metadata& metadata, int64_t version) const {
  checkColumns(metadata, version);
  const SchemaPtr data = metadata.schema();
  const bool backfilling = version < version_;
  const bool samePartitions = metadata.partitionColumns == metadata_.partitionColumns;
  // Rows of a narrower type than the reader's can be read; a wider one is read after a restart.
  const delta::ReadCompatibility older{.allowWidenedTypes = widensTypes_ && backfilling};
  if (!samePartitions || !delta::isReadCompatible(*data, *schema_, older)) {
    const bool retryable =
        !backfilling && delta::isReadCompatible(*schema_, *data, {.allowWidenedTypes = widensTypes_});
    throw schemaChanged(*schema_, *data, version, retryable, options_.hasStart());
  }
  checkFeed(metadata, version);
}

bool StreamGuard::admits(const delta::CommitChanges& commit, bool isFollowed) const {
  if (commit.protocol) delta::checkReadable(*commit.protocol, table_);
  if (commit.metadata && isFollowed) checkIdentity(*commit.metadata, commit.version);
  if (commit.metadata && !isFollowed) checkMetadata(*commit.metadata, commit.version);
  if (options_.readChangeFeed) return !commit.knownToChangeNothing || commit.hasChangeFiles();
  const delta::RemoveFile* removed = commit.firstRemove();
  if (!removed) return true;
  const std::string at = std::to_string(commit.version);
  if (commit.hasAdds() && !options_.allowsChanges()) {
    const std::string what = commit.operation.empty() ? removed->path : commit.operation;
    throw Error("DELTA_SOURCE_TABLE_IGNORE_CHANGES",
                "Version " + at + " of the streamed Delta table " + table_ + " changed rows (" + what +
                    "), which a stream of rows cannot express. Set the option skipChangeCommits to leave "
                    "such commits "
                    "out, or readChangeFeed to read what changed; or start with a new checkpoint.",
                {{"changeInfo", what}, {"version", at}, {"dataPath", table_}});
  }
  if (!commit.hasAdds() && !options_.allowsDeletes()) {
    throw Error("DELTA_SOURCE_IGNORE_DELETE",
                "Version " + at + " of the streamed Delta table " + table_ +
                    " deleted rows (for example of " + removed->path +
                    "). Set the option ignoreDeletes to go on without them.",
                {{"removedFile", removed->path}, {"version", at}, {"dataPath", table_}});
  }
  return !options_.skipChangeCommits;
}

}  // namespace thalweg
