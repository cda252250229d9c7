#include "sources/delta/schema_tracking.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "delta/actions/action_reader.h"
#include "delta/changes/schema_changes.h"
#include "delta/log/log_files.h"
#include "delta/log/log_segment.h"
#include "delta/snapshot/table_features.h"
#include "sources/delta/schema_change_permission.h"
#include "storage/file_uri.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

using Json = nlohmann::json;

// The schema without what only writers of the table use.
Json comparable(const Schema& schema) {
  static constexpr const char* kOfWriters[] = {"delta.generationExpression", "delta.identity.start",
                                               "delta.identity.step", "delta.identity.highWaterMark",
                                               "delta.identity.allowExplicitInsert"};
  Json json = Json::parse(toSchemaJson(schema));
  for (Json& field : json["fields"]) {
    for (const char* key : kOfWriters) field["metadata"].erase(key);
  }
  return json;
}

std::map<std::string, std::string> deltaProperties(const delta::Metadata& metadata) {
  std::map<std::string, std::string> properties;
  for (const auto& [key, value] : metadata.configuration) {
    if (key.starts_with("delta.")) properties.emplace(key, value);
  }
  return properties;
}

bool sameFeatures(const std::optional<std::vector<std::string>>& left,
                  const std::optional<std::vector<std::string>>& right) {
  if (!left || !right) return left.has_value() == right.has_value();
  return std::set<std::string>(left->begin(), left->end()) ==
         std::set<std::string>(right->begin(), right->end());
}

bool sameProtocol(const delta::Protocol& left, const delta::Protocol& right) {
  return left.minReaderVersion == right.minReaderVersion && left.minWriterVersion == right.minWriterVersion &&
         sameFeatures(left.readerFeatures, right.readerFeatures) &&
         sameFeatures(left.writerFeatures, right.writerFeatures);
}

bool sameMetadata(const delta::Metadata& left, const delta::Metadata& right) {
  return comparable(*left.schema()) == comparable(*right.schema()) &&
         Json::parse(partitionSchemaJson(left)) == Json::parse(partitionSchemaJson(right)) &&
         deltaProperties(left) == deltaProperties(right);
}

bool hasAllFeaturesOf(const delta::Protocol& protocol, const delta::Protocol& other) {
  const auto features = [](const delta::Protocol& of) {
    std::set<std::string> all;
    for (const std::string& name : delta::readerFeatures(of)) all.insert(name);
    for (const std::string& name : delta::writerFeatures(of)) all.insert(name);
    return all;
  };
  const std::set<std::string> mine = features(protocol);
  const std::set<std::string> others = features(other);
  return std::includes(mine.begin(), mine.end(), others.begin(), others.end());
}

// What a commit says besides its files.
struct MetadataCommit {
  std::optional<delta::Metadata> metadata = {};
  std::optional<delta::Protocol> protocol = {};
  bool hasFiles = false;
};

std::optional<MetadataCommit> readMetadataCommit(const delta::DeltaLog& log, int64_t version) {
  FileSystem& files = *log.table().fileSystem;
  const std::string path = log.logPath() + "/" + delta::commitFileName(version);
  const auto text = delta::readCommitText(files, path);
  if (!text) return std::nullopt;
  MetadataCommit commit;
  delta::readActions(*text, path, [&](delta::Action&& action) {
    if (auto* metadata = std::get_if<delta::Metadata>(&action)) {
      commit.metadata = std::move(*metadata);
    } else if (auto* protocol = std::get_if<delta::Protocol>(&action)) {
      commit.protocol = std::move(*protocol);
    } else if (std::holds_alternative<delta::AddFile>(action) ||
               std::holds_alternative<delta::RemoveFile>(action) ||
               std::holds_alternative<delta::AddCdcFile>(action)) {
      commit.hasFiles = true;
    }
  });
  return commit;
}

// The last of the commits from the entry's on that change metadata and no file, as an entry: the rows between
// the two are none. Nothing where that is the entry's own.
std::optional<SchemaLogEntry> entryAhead(const delta::DeltaLog& log, const SchemaLogEntry& entry) {
  SchemaLogEntry ahead = entry;
  for (int64_t version = entry.commitVersion;; ++version) {
    const auto commit = readMetadataCommit(log, version);
    if (!commit || commit->hasFiles || (!commit->metadata && !commit->protocol)) break;
    ahead.commitVersion = version;
    if (commit->metadata) {
      ahead.dataSchemaJson = toSchemaJson(*commit->metadata->schema());
      ahead.partitionSchemaJson = partitionSchemaJson(*commit->metadata);
      ahead.configuration = commit->metadata->configuration;
    }
    if (commit->protocol) ahead.protocol = commit->protocol;
  }
  if (ahead.commitVersion == entry.commitVersion) return std::nullopt;
  return ahead;
}

SchemaLog openLog(const delta::Metadata& table, const SchemaTrackingOptions& options,
                  const delta::AddressResolver& resolve) {
  return SchemaLog(resolve(*options.location), table.id, options.trackingId);
}

bool isSet(const std::map<std::string, std::string>& settings, const char* name, bool fallback) {
  const auto found = settings.find(name);
  if (found == settings.end()) return fallback;
  return equalsIgnoreCase(found->second, "true");
}

void checkUnderCheckpoint(const Location& log, const SchemaTracking::Query& query) {
  if (isSet(query.settings, "spark.databricks.delta.streaming.allowSchemaLocationOutsideCheckpointLocation",
            false))
    return;
  // Below <checkpoint>/sources/<i>.
  std::string checkpoint = query.sourceFolder.path;
  for (int level = 0; level < 2; ++level) checkpoint.resize(checkpoint.find_last_of('/'));
  const std::string folder = query.sourceFolder.fileSystem->uriOf(checkpoint);
  if (log.uri().starts_with(folder + "/")) return;
  throw Error("DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT",
              "The schema log " + log.uri() + " of a Delta stream must lie under the query's checkpoint " +
                  folder + ": set schemaTrackingLocation to a folder there.",
              {{"schemaTrackingLocation", log.uri()}, {"checkpointLocation", folder}});
}

void checkOwnLog(const SchemaLog& log, const std::string& sourceFolder, const std::string& table,
                 const SchemaTracking::Query& query) {
  if (!log.current() || log.current()->sourceFolder == sourceFolder) return;
  if (!isSet(query.settings, "spark.databricks.delta.streaming.schemaTracking.metadataPathCheck.enabled",
             true))
    return;
  throw Error(
      ErrorKind::IllegalArgument, "DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT",
      "The schema log " + log.folder().uri() + " was written by the source " + log.current()->sourceFolder +
          ", but this one is " + sourceFolder +
          ". Give each source a schemaTrackingLocation or streamingSourceTrackingId of its own; where the "
          "checkpoint was moved, put it back.",
      {{"loc", log.folder().uri()}, {"table", table}});
}

}  // namespace

SchemaPtr loadedSchema(delta::DeltaLog& log, const delta::Snapshot& table,
                       const SchemaTrackingOptions& options, const delta::AddressResolver& resolve) {
  if (!options.location) return table.schema();
  SchemaLog entries = openLog(table.metadata(), options, resolve);
  if (!entries.current()) return table.schema();
  if (auto ahead = entryAhead(log, *entries.current()))
    entries.add(std::move(*ahead), log.table().uri(), /*replacing=*/true);
  return entries.current()->over(StreamedMetadata::of(table)).schema;
}

std::unique_ptr<SchemaTracking> SchemaTracking::open(std::shared_ptr<delta::DeltaLog> log,
                                                     const delta::Snapshot& table,
                                                     const SchemaTrackingOptions& options, const Query& query,
                                                     const delta::AddressResolver& resolve) {
  if (!options.location) return nullptr;
  SchemaLog entries = openLog(table.metadata(), options, resolve);
  checkUnderCheckpoint(entries.folder(), query);
  const std::string sourceFolder = displayPath(*query.sourceFolder.fileSystem, query.sourceFolder.path);
  checkOwnLog(entries, sourceFolder, log->table().uri(), query);
  const StreamedMetadata opened = StreamedMetadata::of(table);
  if (const auto previous = entries.previous(); previous && entries.current())
    checkSchemaChange(previous->over(opened), entries.current()->over(opened), options, query.settings,
                      sourceFolder);
  return std::unique_ptr<SchemaTracking>(
      new SchemaTracking(std::move(log), std::move(entries), opened, sourceFolder));
}

SchemaTracking::SchemaTracking(std::shared_ptr<delta::DeltaLog> log, SchemaLog entries,
                               const StreamedMetadata& table, std::string sourceFolder)
    : log_(std::move(log)),
      entries_(std::move(entries)),
      followedUpTo_(entries_.current() ? std::optional(entries_.current()->commitVersion) : std::nullopt),
      reading_(entries_.current() ? entries_.current()->over(table) : table),
      sourceFolder_(std::move(sourceFolder)) {}

bool SchemaTracking::isChange(const std::optional<delta::Metadata>& metadata,
                              const std::optional<delta::Protocol>& protocol, int64_t version) const {
  if (followedUpTo_ && *followedUpTo_ >= version) return false;
  return (protocol && !sameProtocol(*protocol, reading_.protocol)) ||
         (metadata && !sameMetadata(*metadata, reading_.metadata));
}

bool SchemaTracking::isChangedBy(const delta::CommitChanges& commit) const {
  return isChange(commit.metadata, commit.protocol, commit.version);
}

void SchemaTracking::follow(const delta::CommitChanges& commit) {
  if (!isChangedBy(commit)) return;
  const delta::Metadata& metadata = commit.metadata ? *commit.metadata : reading_.metadata;
  const delta::Protocol& protocol = commit.protocol ? *commit.protocol : reading_.protocol;
  entries_.add(SchemaLogEntry::of(commit.version, metadata, protocol, sourceFolder_), log_->table().uri());
  throwEvolution(metadata, protocol);
}

void SchemaTracking::followInitial(const delta::Snapshot& initial) {
  if (!isInitialized() || initial.version() < reading_.version) return;
  if (!isChange(initial.metadata(), initial.protocol(), initial.version())) return;
  entries_.add(SchemaLogEntry::of(initial.version(), initial.metadata(), initial.protocol(), sourceFolder_),
               log_->table().uri(),
               /*replacing=*/true);
  throwEvolution(initial.metadata(), initial.protocol());
}

delta::SnapshotPtr SchemaTracking::snapshotAt(int64_t version) const {
  try {
    return log_->snapshotAt(version);
  } catch (const Error& error) {
    throw Error(
        "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE",
        fmt::format(
            "Version {} of the Delta table {}, with whose schema the schema log is to begin, cannot be built "
            "any more: {} Start with a new checkpoint.",
            version, log_->table().uri(), error.text()))
        .withCause(error);
  }
}

void SchemaTracking::begin(int64_t version, const delta::Metadata& metadata,
                           const delta::Protocol& protocol) {
  entries_.add(SchemaLogEntry::of(version, metadata, protocol, sourceFolder_), log_->table().uri());
  if (isChange(metadata, protocol, version)) throwEvolution(metadata, protocol);
}

void SchemaTracking::initialize(int64_t version) {
  const delta::SnapshotPtr snapshot = snapshotAt(version);
  begin(version, snapshot->metadata(), snapshot->protocol());
}

void SchemaTracking::initializeFor(int64_t firstVersion, int64_t lastVersion) {
  const delta::SnapshotPtr first = snapshotAt(firstVersion);
  std::vector<delta::Metadata> all = {first->metadata()};
  delta::Protocol protocol = first->protocol();
  bool fits = true;
  for (int64_t version = firstVersion + 1; version <= lastVersion; ++version) {
    auto commit = readMetadataCommit(*log_, version);
    if (!commit) continue;
    if (commit->metadata) all.push_back(std::move(*commit->metadata));
    if (!commit->protocol) continue;
    fits = fits && hasAllFeaturesOf(*commit->protocol, protocol);
    protocol = std::move(*commit->protocol);
  }
  const delta::Metadata& newest = all.back();
  for (size_t i = 0; i + 1 < all.size(); ++i) {
    fits = fits && !delta::renamesOrDropsColumns(all[i], newest) &&
           delta::isReadCompatible(*all[i].schema(), *newest.schema());
  }
  if (!fits) {
    throw Error(
        "DELTA_STREAMING_SCHEMA_LOG_INIT_FAILED_INCOMPATIBLE_METADATA",
        fmt::format(
            "The batch that the checkpoint holds reads versions {} to {} of the Delta table {}, whose schema "
            "or "
            "protocol changed so between them that no schema fits all of its rows: a schema log cannot begin "
            "there. Start with a new checkpoint.",
            firstVersion, lastVersion, log_->table().uri()),
        {{"a", std::to_string(firstVersion)}, {"b", std::to_string(lastVersion)}});
  }
  begin(lastVersion, newest, protocol);
}

void SchemaTracking::throwEvolution(const delta::Metadata& metadata, const delta::Protocol& protocol) const {
  std::string properties;
  for (const auto& [key, value] : metadata.configuration)
    properties += (properties.empty() ? "" : ", ") + key + ":" + value;
  const std::string schema = metadata.schema()->simpleString();
  throw Error("DELTA_STREAMING_METADATA_EVOLUTION",
              "The schema, the properties or the protocol of the streamed Delta table " +
                  log_->table().uri() + " changed. The schema log " + entries_.folder().uri() +
                  " has the new ones: start the query again, and it reads on with them. Schema: " + schema +
                  "; properties: " + properties + ".",
              {{"schema", schema},
               {"config", properties},
               {"protocol", fmt::format("{},{}", protocol.minReaderVersion, protocol.minWriterVersion)}});
}

}  // namespace thalweg
