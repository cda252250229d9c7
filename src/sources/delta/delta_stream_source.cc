#include "sources/delta/delta_stream_source.h"

#include <algorithm>

#include "common/error.h"
#include "common/logging.h"
#include "delta/changes/change_range.h"
#include "delta/files/column_mapping.h"
#include "sources/delta/delta_scan.h"
#include "sources/delta/delta_source_offset.h"
#include "sources/delta/delta_time_travel.h"
#include "sources/delta/schema_tracking.h"
#include "sources/delta/stream_start.h"
#include "sources/delta/stream_walk.h"
#include "storage/file_uri.h"

namespace thalweg {
namespace {

class DeltaStreamSource final : public StreamSource {
 public:
  DeltaStreamSource(std::shared_ptr<delta::DeltaLog> log, delta::SnapshotPtr opened,
                    const DeltaStreamOptions& options, StreamSourceContext context,
                    const delta::AddressResolver& resolve, const TimeZone& zone)
      : log_(std::move(log)),
        options_(options),
        context_(std::move(context)),
        tableId_(opened->metadata().id),
        openedVersion_(opened->version()),
        openedMetadata_(opened->metadata()),
        tracking_(SchemaTracking::open(log_, *opened, options.schemaTracking,
                                       {context_.metadataFolder, context_.settings}, resolve)),
        reading_(tracking_ ? tracking_->reading() : StreamedMetadata::of(*opened)),
        scan_(DeltaScan::make(
            delta::makeTableLayout(opened->table(), reading_.metadata, reading_.schema, zone),
            reading_.metadata,
            options.readChangeFeed ? DeltaScan::Columns::Changes : DeltaScan::Columns::Table)),
        walk_(log_, opened, reading_, tracking_.get(), options),
        opened_(std::move(opened)) {}

  const SchemaPtr& schema() const override { return scan_->schema; }
  void checkLoggedOffset(const SourceOffset& offset) const override { DeltaSourceOffset::parse(offset); }
  void checkBeside(const StreamSource& other) const override;
  std::string description() const override {
    return "DeltaSource[" + displayPath(*log_->table().fileSystem, log_->table().path) + "]";
  }

  std::optional<SourceOffset> initialOffset() override { return initial().toJson(); }
  std::optional<SourceOffset> latestOffset(const std::optional<SourceOffset>& start,
                                           bool ignoreLimits) override;
  bool prepareForAvailableNow() override { return availableNow_ = true; }
  std::vector<SplitPtr> plan(const std::optional<SourceOffset>& start, const SourceOffset& end) override;
  void commit(const SourceOffset& end) override { walk_.forgetBefore(DeltaSourceOffset::parse(end).version); }

 private:
  DeltaSourceOffset parseOwn(const SourceOffset& text) const;
  const DeltaSourceOffset& initial();
  DeltaSourceOffset replayedStart(const DeltaSourceOffset& end) const;
  void checkStartOnce(const DeltaSourceOffset& from);
  void checkRowsBefore(const DeltaSourceOffset& from) const;
  Error unknownColumns(int64_t version) const;
  bool beginTracking(const DeltaSourceOffset& from);
  void beginTracking(const DeltaSourceOffset& from, const DeltaSourceOffset& end);
  std::optional<DeltaSourceOffset> pastMetadataChange(const DeltaSourceOffset& from);
  void followMetadataChange(int64_t version);
  std::optional<delta::Metadata> metadataAt(int64_t version) const;

  const std::shared_ptr<delta::DeltaLog> log_;
  const DeltaStreamOptions options_;
  const StreamSourceContext context_;
  const std::string tableId_;
  const int64_t openedVersion_;
  const delta::Metadata openedMetadata_;
  const std::unique_ptr<SchemaTracking> tracking_;  // null: no schema log
  const StreamedMetadata reading_;
  const DeltaScanPtr scan_;
  StreamWalk walk_;
  delta::SnapshotPtr opened_;  // until a first batch has its start
  std::optional<DeltaSourceOffset> initial_;
  bool initialIsKept_ = false;
  bool planned_ = false;  // this run made an offset
  bool startChecked_ = false;
  bool availableNow_ = false;
  std::optional<int64_t> bound_;  // availableNow: the first version that is not read
};

DeltaSourceOffset DeltaStreamSource::parseOwn(const SourceOffset& text) const {
  DeltaSourceOffset offset = DeltaSourceOffset::parse(text);
  if (offset.tableId == tableId_) return offset;
  throw Error("DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
              "The checkpoint goes on in the Delta table with id " + offset.tableId + ", but the one at " +
                  log_->table().uri() + " has id " + tableId_ +
                  ": another table is read, or it was made anew. Start with a new checkpoint.",
              {{"newTableId", tableId_}, {"oldTableId", offset.tableId}});
}

const DeltaSourceOffset& DeltaStreamSource::initial() {
  if (initial_) return *initial_;
  initial_ = readStart(context_.metadataFolder);
  initialIsKept_ = initial_.has_value();
  if (!initial_)
    initial_ = resolveStart(*log_, opened_ ? *opened_ : *log_->require(), options_, context_.timeZone);
  return *initial_;
}

// Where a first batch that another engine planned began: Delta keeps only its end.
DeltaSourceOffset DeltaStreamSource::replayedStart(const DeltaSourceOffset& end) const {
  if (options_.startLatest) {
    throw Error("STREAMING_CHECKPOINT_LOG_CORRUPT",
                "The first batch of the checkpoint began at the newest version of the Delta table " +
                    log_->table().uri() +
                    " at that time, and the checkpoint does not say which that was. Set startingVersion to "
                    "its number, "
                    "or start with a new checkpoint.",
                {{"path", context_.metadataFolder.path}});
  }
  if (options_.hasStart()) return *initial_;
  return {tableId_, end.isInitialSnapshot ? end.version : std::max<int64_t>(end.version - 1, 0),
          DeltaSourceOffset::kBeforeFirst, true};
}

std::optional<delta::Metadata> DeltaStreamSource::metadataAt(int64_t version) const {
  if (version >= openedVersion_) return openedMetadata_;
  try {
    return delta::metadataAt(*log_, version);
  } catch (const Error& error) {
    logWarn("the stream over {} starts at version {}, whose schema is not known any more: {}",
            log_->table().uri(), version, error.message());
    return std::nullopt;
  }
}

// Changes of schema after the version from which this run goes on are seen in their commits; those before it
// are not.
void DeltaStreamSource::checkStartOnce(const DeltaSourceOffset& from) {
  if (startChecked_) return;
  startChecked_ = true;
  if (!tracking_) checkRowsBefore(from);
  const int64_t version = from.version;
  if (const auto metadata = metadataAt(version)) {
    if (tracking_)
      walk_.guard().checkFeed(*metadata, version);
    else
      walk_.guard().checkMetadata(*metadata, version);
  } else if (options_.readChangeFeed) {
    throw Error(
        "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE",
        fmt::format(
            "Version {} of the Delta table {} cannot be built any more, so it is not known whether its "
            "change feed was kept. Start with a new checkpoint.",
            version, log_->table().uri()));
  } else if (!tracking_ && delta::columnMappingMode(openedMetadata_) != delta::ColumnMappingMode::None) {
    throw unknownColumns(version);
  }
}

void DeltaStreamSource::checkBeside(const StreamSource& other) const {
  const auto* delta = dynamic_cast<const DeltaStreamSource*>(&other);
  if (!tracking_ || !delta || !delta->tracking_) return;
  const std::string log = tracking_->logFolder().uri();
  if (log != delta->tracking_->logFolder().uri()) return;
  throw Error("DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT",
              "Two sources of one query read the Delta table " + log_->table().uri() +
                  " with the schema log " + log +
                  ". Give one of them a schemaTrackingLocation or streamingSourceTrackingId of its own.",
              {{"loc", log}, {"table", log_->table().uri()}});
}

// The last version of which rows are behind the offset, or with whose rows the stream begins.
int64_t lastVersionBefore(const DeltaSourceOffset& offset) {
  const bool isNext = !offset.isInitialSnapshot && offset.index == DeltaSourceOffset::kBeforeFirst;
  return isNext ? std::max<int64_t>(offset.version - 1, 0) : offset.version;
}

// Before the first batch of a query that has no schema log yet. False: the version that it begins with is
// still to come.
bool DeltaStreamSource::beginTracking(const DeltaSourceOffset& from) {
  if (!tracking_ || tracking_->isInitialized()) return true;
  if (initial_ && from == *initial_) {
    if (!from.isInitialSnapshot && !walk_.commitAt(from.version)) return false;
    tracking_->initialize(from.version);
  } else {
    tracking_->initialize(lastVersionBefore(from));
  }
  return true;
}

// The same for a batch that an earlier run planned without one.
void DeltaStreamSource::beginTracking(const DeltaSourceOffset& from, const DeltaSourceOffset& end) {
  if (tracking_ && !tracking_->isInitialized())
    tracking_->initializeFor(from.version, std::max(from.version, lastVersionBefore(end)));
}

// The next batch's end where the last one ended at a commit that changes metadata.
std::optional<DeltaSourceOffset> DeltaStreamSource::pastMetadataChange(const DeltaSourceOffset& from) {
  if (!tracking_ || !from.isAtMetadataChange()) return std::nullopt;
  if (from.index == DeltaSourceOffset::kAtMetadataChange)
    return DeltaSourceOffset{tableId_, from.version, DeltaSourceOffset::kAfterMetadataChange,
                             from.isInitialSnapshot};
  // The batch between the two places is done, and the log does not have the change: its entry is lost.
  followMetadataChange(from.version);
  return std::nullopt;
}

void DeltaStreamSource::followMetadataChange(int64_t version) {
  if (const CommitPtr commit = walk_.commitAt(version); commit && commit->version == version)
    tracking_->follow(*commit);
}

// What the query has read of a table whose columns are mapped went on under the names of its version: the
// commit that the query goes on with may have changed them.
void DeltaStreamSource::checkRowsBefore(const DeltaSourceOffset& from) const {
  const bool isFirst = initial_ && from == *initial_;
  if (isFirst || from.isInitialSnapshot || from.index != DeltaSourceOffset::kBeforeFirst || from.version == 0)
    return;
  if (delta::columnMappingMode(openedMetadata_) == delta::ColumnMappingMode::None) return;
  const int64_t version = from.version - 1;
  const auto metadata = metadataAt(version);
  if (!metadata) throw unknownColumns(version);
  walk_.guard().checkColumns(*metadata, version);
}

Error DeltaStreamSource::unknownColumns(int64_t version) const {
  return Error(
      "DELTA_STREAMING_CHECK_COLUMN_MAPPING_NO_SNAPSHOT",
      fmt::format(
          "Version {} of the Delta table {} cannot be built any more, so it is not known whether columns "
          "were renamed or dropped since. Start from a later version.",
          version, log_->table().uri()),
      {{"config", ""}});
}

std::optional<SourceOffset> DeltaStreamSource::latestOffset(const std::optional<SourceOffset>& start,
                                                            bool ignoreLimits) {
  planned_ = true;
  const bool fromInitial = !start || (initial_ && *start == initial_->toJson());
  if (fromInitial && !initialIsKept_) {
    initial_ = keepStart(context_.metadataFolder, initial());
    initialIsKept_ = true;
  }
  const DeltaSourceOffset from = fromInitial ? parseOwn(initial().toJson()) : parseOwn(*start);
  if (!beginTracking(from)) return std::nullopt;
  if (const auto past = pastMetadataChange(from)) return past->toJson();
  if (availableNow_ && !bound_) bound_ = log_->require()->version() + 1;
  opened_.reset();
  BatchAdmission admission = ignoreLimits
                                 ? BatchAdmission::unlimited()
                                 : BatchAdmission(options_.maxFilesPerTrigger, options_.maxBytesPerTrigger);
  const DeltaSourceOffset to = walk_.advance(from, admission, bound_);
  if (to == from) return fromInitial ? std::nullopt : start;
  checkStartOnce(from);
  return to.toJson();
}

std::vector<SplitPtr> DeltaStreamSource::plan(const std::optional<SourceOffset>& start,
                                              const SourceOffset& endText) {
  const DeltaSourceOffset end = parseOwn(endText);
  DeltaSourceOffset from = start ? parseOwn(*start) : initial();
  if (initial_ && from == *initial_ && !initialIsKept_ && !planned_) from = replayedStart(end);
  if (end.isBefore(from)) {
    throw Error("STREAMING_CHECKPOINT_LOG_CORRUPT",
                fmt::format("The checkpoint's offsets of {} go back, from {} to {}.", description(),
                            from.toJson(), endText),
                {{"path", context_.metadataFolder.path}});
  }
  beginTracking(from, end);
  // The offset is durable now: the change may go into the log.
  if (tracking_ && end.index == DeltaSourceOffset::kAfterMetadataChange) {
    followMetadataChange(end.version);
    return {};
  }
  checkStartOnce(from);
  return splitDeltaFiles(scan_, walk_.filesBetween(from, end));
}

// As Delta says it of a stream: there is nothing yet that has a schema.
delta::SnapshotPtr requireStreamedTable(delta::DeltaLog& log) {
  delta::SnapshotPtr snapshot = log.update();
  if (snapshot && !snapshot->schema()->fields().empty()) return snapshot;
  throw Error("DELTA_SCHEMA_NOT_SET",
              "There is no Delta table with columns at " + log.table().uri() +
                  " to stream from: write to it, or make it with CREATE TABLE, first.");
}

}  // namespace

StreamSchema deltaStreamSchema(delta::DeltaLog& log, const ReadDefinition& read,
                               const delta::AddressResolver& resolve) {
  const DeltaAddress address = parseDeltaAddress(read.paths.at(0));
  if (address.travels() || asksForVersion(read.options)) {
    throw Error(
        "DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS",
        "A stream reads a table as it goes on, so it cannot be at one version: give startingVersion or "
        "startingTimestamp instead.");
  }
  const delta::SnapshotPtr snapshot = requireStreamedTable(log);
  const SchemaPtr schema = loadedSchema(log, *snapshot, SchemaTrackingOptions::of(read.options), resolve);
  if (read.userSchema && !equals(*read.userSchema, *schema)) {
    throw Error("DELTA_READ_SOURCE_SCHEMA_CONFLICT",
                "The schema that the stream is to be read with is not the Delta table's, " +
                    schema->simpleString() + ": give none.");
  }
  std::vector<StructField> fields = schema->fields();
  if (readsChangeFeed(read.options)) {
    for (StructField& field : changeColumns()) fields.push_back(std::move(field));
  }
  const int visible = static_cast<int>(fields.size());
  return {DataType::structOf(std::move(fields)), visible};
}

std::unique_ptr<StreamSource> openDeltaStream(std::shared_ptr<delta::DeltaLog> log,
                                              const ReadDefinition& read, const StreamSourceContext& context,
                                              const delta::AddressResolver& resolve) {
  const DeltaStreamOptions options = DeltaStreamOptions::parse(read.options);
  delta::SnapshotPtr snapshot = requireStreamedTable(*log);
  auto source = std::make_unique<DeltaStreamSource>(std::move(log), std::move(snapshot), options, context,
                                                    resolve, TimeZone::parse(read.timeZone));
  if (context.schema && !equals(*context.schema, *source->schema())) {
    throw Error("DELTA_READ_SOURCE_SCHEMA_CONFLICT",
                "The schema of the Delta table changed between load() and start(): run both again.");
  }
  return source;
}

}  // namespace thalweg
