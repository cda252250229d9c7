#include "sources/delta/delta_stream_source.h"

#include <algorithm>

#include "common/error.h"
#include "common/logging.h"
#include "delta/changes/change_range.h"
#include "delta/snapshot/table_features.h"
#include "sources/delta/batch_admission.h"
#include "sources/delta/commit_feed.h"
#include "sources/delta/delta_scan.h"
#include "sources/delta/delta_source_offset.h"
#include "sources/delta/delta_time_travel.h"
#include "sources/delta/initial_files.h"
#include "sources/delta/stream_guard.h"
#include "sources/delta/stream_start.h"
#include "sources/files/file_uri.h"

namespace thalweg {
namespace {

int64_t sizeOf(const delta::FileAction& file) {
  const int64_t size = std::visit(
      [](const auto& action) -> int64_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(action)>, delta::RemoveFile>) {
          return action.size.value_or(0);
        } else {
          return action.size;
        }
      },
      file);
  return std::max<int64_t>(size, 0);
}

const std::string& pathOf(const delta::FileAction& file) {
  return std::visit([](const auto& action) -> const std::string& { return action.path; }, file);
}

DeltaSourceOffset nextVersion(const DeltaSourceOffset& done) {
  return {done.tableId, done.version + 1, DeltaSourceOffset::kBeforeFirst, false};
}

class DeltaStreamSource final : public StreamSource {
 public:
  DeltaStreamSource(std::shared_ptr<delta::DeltaLog> log, delta::SnapshotPtr opened,
                    const DeltaStreamOptions& options, StreamSourceContext context,
                    delta::AddressResolver resolve)
      : log_(std::move(log)),
        options_(options),
        context_(std::move(context)),
        tableId_(opened->metadata().id),
        openedVersion_(opened->version()),
        openedMetadata_(opened->metadata()),
        scan_(DeltaScan::make(
            delta::makeTableLayout(opened->table(), opened->metadata(), opened->schema(), std::move(resolve)),
            opened->metadata(),
            options.readChangeFeed ? DeltaScan::Columns::Changes : DeltaScan::Columns::Table)),
        guard_(*opened, options),
        feed_(log_, tableId_, options.failOnDataLoss),
        opened_(std::move(opened)) {}

  const SchemaPtr& schema() const override { return scan_->schema; }
  void checkLoggedOffset(const SourceOffset& offset) const override { DeltaSourceOffset::parse(offset); }
  std::string description() const override {
    return "DeltaSource[" + displayPath(*log_->table().fileSystem, log_->table().path) + "]";
  }

  std::optional<SourceOffset> initialOffset() override { return initial().toJson(); }
  std::optional<SourceOffset> latestOffset(const std::optional<SourceOffset>& start,
                                           bool ignoreLimits) override;
  bool prepareForAvailableNow() override { return availableNow_ = true; }
  std::vector<SplitPtr> plan(const std::optional<SourceOffset>& start, const SourceOffset& end) override;
  void commit(const SourceOffset& end) override { feed_.forgetBefore(DeltaSourceOffset::parse(end).version); }

 private:
  DeltaSourceOffset parseOwn(const SourceOffset& text) const;
  const DeltaSourceOffset& initial();
  DeltaSourceOffset replayedStart(const DeltaSourceOffset& end) const;
  const InitialFiles& initialFiles(int64_t version);
  int64_t initialTimeMs();
  void checkStartOnce(int64_t version);
  std::optional<delta::Metadata> metadataAt(int64_t version) const;
  bool isExcluded(const std::string& path) const {
    return options_.exclude && options_.exclude->matches(path);
  }
  bool isBeyondBound(int64_t version) const { return bound_ && version >= *bound_; }

  DeltaSourceOffset advanceRows(DeltaSourceOffset at, BatchAdmission& admission);
  DeltaSourceOffset advanceChanges(DeltaSourceOffset at, BatchAdmission& admission);
  DeltaSourceOffset takeInitialChanges(DeltaSourceOffset at, BatchAdmission& admission);
  DeltaSourceOffset takeChanges(const delta::CommitChanges& commit, bool takesFiles,
                                const DeltaSourceOffset& from, BatchAdmission& admission) const;
  void planInitial(const DeltaSourceOffset& start, const DeltaSourceOffset& end,
                   std::vector<delta::ChangedFile>& files);
  void planCommit(const delta::CommitChanges& commit, int64_t after, int64_t last,
                  std::vector<delta::ChangedFile>& files);

  const std::shared_ptr<delta::DeltaLog> log_;
  const DeltaStreamOptions options_;
  const StreamSourceContext context_;
  const std::string tableId_;
  const int64_t openedVersion_;
  const delta::Metadata openedMetadata_;
  const DeltaScanPtr scan_;
  const StreamGuard guard_;
  CommitFeed feed_;
  delta::SnapshotPtr opened_;  // until it is known that its files are not needed
  std::optional<InitialFiles> initialFiles_;
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
  if (!initial_) initial_ = resolveStart(*log_, *opened_, options_, context_.timeZone);
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

const InitialFiles& DeltaStreamSource::initialFiles(int64_t version) {
  if (initialFiles_ && initialFiles_->version() == version) return *initialFiles_;
  initialFiles_.reset();
  try {
    initialFiles_.emplace(opened_ && opened_->version() == version ? opened_ : log_->snapshotAt(version));
  } catch (const Error& error) {
    throw Error(
        "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE",
        fmt::format("Version {} of the Delta table {}, with whose rows the stream began, cannot be built any "
                    "more: {} Start with a new checkpoint.",
                    version, log_->table().uri(), error.text()))
        .withCause(error);
  }
  return *initialFiles_;
}

int64_t DeltaStreamSource::initialTimeMs() {
  const int64_t version = initialFiles_->version();
  if (delta::tableFlag(openedMetadata_, delta::kEnableInCommitTimestamps))
    return initialFiles_->timestampMs();
  const auto times = delta::readFileTimes(*log_->table().fileSystem, log_->logPath(), version, version);
  return times.empty() ? initialFiles_->timestampMs() : times.front().timestampMs;
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
void DeltaStreamSource::checkStartOnce(int64_t version) {
  if (startChecked_) return;
  startChecked_ = true;
  if (const auto metadata = metadataAt(version)) {
    guard_.checkMetadata(*metadata, version);
  } else if (options_.readChangeFeed) {
    throw Error(
        "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE",
        fmt::format(
            "Version {} of the Delta table {} cannot be built any more, so it is not known whether its "
            "change feed was kept. Start with a new checkpoint.",
            version, log_->table().uri()));
  } else if (delta::columnMappingMode(openedMetadata_) != delta::ColumnMappingMode::None) {
    throw Error(
        "DELTA_STREAMING_CHECK_COLUMN_MAPPING_NO_SNAPSHOT",
        fmt::format(
            "Version {} of the Delta table {} cannot be built any more, so it is not known whether columns "
            "were renamed or dropped since. Start from a later version.",
            version, log_->table().uri()),
        {{"config", ""}});
  }
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
  if (availableNow_ && !bound_) bound_ = log_->require()->version() + 1;
  if (!from.isInitialSnapshot) {
    initialFiles_.reset();
    opened_.reset();
  }
  BatchAdmission admission = ignoreLimits
                                 ? BatchAdmission::unlimited()
                                 : BatchAdmission(options_.maxFilesPerTrigger, options_.maxBytesPerTrigger);
  const DeltaSourceOffset to =
      options_.readChangeFeed ? advanceChanges(from, admission) : advanceRows(from, admission);
  if (to == from) return fromInitial ? std::nullopt : start;
  checkStartOnce(from.version);
  return to.toJson();
}

DeltaSourceOffset DeltaStreamSource::advanceRows(DeltaSourceOffset at, BatchAdmission& admission) {
  if (at.isInitialSnapshot) {
    const InitialFiles& files = initialFiles(at.version);
    int64_t next = at.index + 1;
    while (next < files.size() && admission.admitFile(std::max<int64_t>(files.at(next).sizeBytes(), 0)))
      ++next;
    if (next < files.size()) return {tableId_, at.version, next - 1, true};
    at = nextVersion(at);
  }
  while (!isBeyondBound(at.version)) {
    const CommitPtr commit = feed_.at(at.version);
    if (!commit) break;
    if (commit->version != at.version)
      at = {tableId_, commit->version, DeltaSourceOffset::kBeforeFirst, false};
    if (guard_.admits(*commit)) {
      int64_t index = -1;
      for (const delta::FileAction& file : commit->files) {
        if (!std::holds_alternative<delta::AddFile>(file) || ++index <= at.index) continue;
        if (!admission.admitFile(sizeOf(file))) return {tableId_, at.version, index - 1, false};
      }
    }
    at = nextVersion(at);
  }
  return at;
}

DeltaSourceOffset DeltaStreamSource::takeInitialChanges(DeltaSourceOffset at, BatchAdmission& admission) {
  const InitialFiles& files = initialFiles(at.version);
  for (int64_t index = at.index + 1; index < files.size(); ++index) {
    if (isExcluded(std::string(files.at(index).logPath()))) continue;
    if (!admission.admitFile(std::max<int64_t>(files.at(index).sizeBytes(), 0))) return at;
    at.index = index;
  }
  return nextVersion(at);
}

// Delta's rules to the letter, for offsets are compared byte by byte: a limited batch that ends with change
// files ends at the last of them, and others at the next version's beginning; a version's beginning and end
// count as files where a commit is taken whole.
DeltaSourceOffset DeltaStreamSource::takeChanges(const delta::CommitChanges& commit, bool takesFiles,
                                                 const DeltaSourceOffset& from,
                                                 BatchAdmission& admission) const {
  struct Wanted {
    int64_t index;
    int64_t bytes;
  };
  const bool hasChangeFiles = commit.hasChangeFiles();
  std::vector<Wanted> wanted;
  int64_t bytes = 0;
  int64_t index = -1;
  for (const delta::FileAction& file : commit.files) {
    if (std::holds_alternative<delta::AddCdcFile>(file) != hasChangeFiles) continue;
    if (++index <= from.index || !takesFiles || isExcluded(pathOf(file))) continue;
    wanted.push_back({index, sizeOf(file)});
    bytes += wanted.back().bytes;
  }
  if (admission.isUnlimited()) return nextVersion(from);
  if (hasChangeFiles) {
    if (wanted.empty()) return nextVersion(from);
    if (!admission.admitTogether(wanted.size(), bytes)) return from;
    return {tableId_, commit.version, wanted.back().index, false};
  }
  if (commit.hasDeletionVectors()) {
    const size_t marks = from.index < 0 ? 2 : 1;
    return admission.admitTogether(wanted.size() + marks, bytes) ? nextVersion(from) : from;
  }
  DeltaSourceOffset at = from;
  admission.pass();
  for (const Wanted& file : wanted) {
    if (!admission.admitFile(file.bytes)) return at;
    at.index = file.index;
  }
  return nextVersion(at);
}

DeltaSourceOffset DeltaStreamSource::advanceChanges(DeltaSourceOffset at, BatchAdmission& admission) {
  if (at.isInitialSnapshot) {
    at = takeInitialChanges(at, admission);
    if (at.isInitialSnapshot) return at;
  }
  DeltaSourceOffset end = at;
  while (!isBeyondBound(at.version) && admission.hasCapacity()) {
    const CommitPtr commit = feed_.at(at.version);
    if (!commit) break;
    if (commit->version != at.version)
      at = {tableId_, commit->version, DeltaSourceOffset::kBeforeFirst, false};
    const DeltaSourceOffset reached = takeChanges(*commit, guard_.admits(*commit), at, admission);
    const bool whole = reached.version > at.version || (commit->hasChangeFiles() && reached != at);
    // Change files that were behind already, or do not count, end nothing.
    const bool nothing = commit->hasChangeFiles() && reached.version > at.version && !admission.isUnlimited();
    if (!nothing && reached != at) end = reached;
    if (!whole) break;
    at = reached.version > at.version ? reached : nextVersion(reached);
  }
  return end;
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
  checkStartOnce(from.version);
  std::vector<delta::ChangedFile> files;
  int64_t after = from.index;
  int64_t version = from.version;
  if (from.isInitialSnapshot) {
    planInitial(from, end, files);
    ++version;
    after = DeltaSourceOffset::kBeforeFirst;
  }
  while (version < end.version || (version == end.version && end.index >= 0 && !end.isInitialSnapshot)) {
    const CommitPtr commit = feed_.at(version);
    if (!commit || commit->version > end.version) {
      if (!options_.failOnDataLoss) break;
      throw Error(
          "DELTA_STREAMING_TRAILING_COMMIT_MISSING",
          fmt::format("The batch of the stream over {} goes up to version {}, but its log has no version {}.",
                      log_->table().uri(), end.version, version),
          {{"expectedVersion", std::to_string(end.version)}, {"seenVersion", std::to_string(version - 1)}});
    }
    const int64_t last = commit->version == end.version ? end.index : INT64_MAX;
    if (guard_.admits(*commit)) planCommit(*commit, after, last, files);
    version = commit->version + 1;
    after = DeltaSourceOffset::kBeforeFirst;
  }
  return splitDeltaFiles(scan_, std::move(files));
}

void DeltaStreamSource::planInitial(const DeltaSourceOffset& start, const DeltaSourceOffset& end,
                                    std::vector<delta::ChangedFile>& files) {
  const InitialFiles& all = initialFiles(start.version);
  const bool endsWithin = end.isInitialSnapshot && end.version == start.version;
  const int64_t last = endsWithin ? std::min(end.index, all.size() - 1) : all.size() - 1;
  const int64_t timeMs = options_.readChangeFeed ? initialTimeMs() : 0;
  for (int64_t index = start.index + 1; index <= last; ++index) {
    if (isExcluded(std::string(all.at(index).logPath()))) continue;
    delta::ChangedFile file{all.at(index).toAdd(), "insert"};
    file.file.stats.reset();
    file.version = start.version;
    file.timestampMs = timeMs;
    files.push_back(std::move(file));
  }
}

void DeltaStreamSource::planCommit(const delta::CommitChanges& commit, int64_t after, int64_t last,
                                   std::vector<delta::ChangedFile>& files) {
  const bool hasChangeFiles = commit.hasChangeFiles();
  std::vector<delta::FileAction> wanted;
  int64_t index = -1;
  for (const delta::FileAction& file : commit.files) {
    const bool counts = options_.readChangeFeed
                            ? std::holds_alternative<delta::AddCdcFile>(file) == hasChangeFiles
                            : std::holds_alternative<delta::AddFile>(file);
    if (!counts || ++index <= after || index > last || isExcluded(pathOf(file))) continue;
    wanted.push_back(file);
  }
  if (options_.readChangeFeed) {
    auto changed = delta::changedFiles(commit, wanted, feed_.timestampMs(commit),
                                       !openedMetadata_.partitionColumns.empty());
    std::move(changed.begin(), changed.end(), std::back_inserter(files));
    return;
  }
  for (delta::FileAction& file : wanted) files.push_back({std::move(std::get<delta::AddFile>(file))});
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

StreamSchema deltaStreamSchema(delta::DeltaLog& log, const ReadDefinition& read) {
  const DeltaAddress address = parseDeltaAddress(read.paths.at(0));
  if (address.travels() || asksForVersion(read.options)) {
    throw Error(
        "DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS",
        "A stream reads a table as it goes on, so it cannot be at one version: give startingVersion or "
        "startingTimestamp instead.");
  }
  const delta::SnapshotPtr snapshot = requireStreamedTable(log);
  if (read.userSchema && !equals(*read.userSchema, *snapshot->schema())) {
    throw Error("DELTA_READ_SOURCE_SCHEMA_CONFLICT",
                "The schema that the stream is to be read with is not the Delta table's, " +
                    snapshot->schema()->simpleString() + ": give none.");
  }
  std::vector<StructField> fields = snapshot->schema()->fields();
  if (readsChangeFeed(read.options)) {
    for (StructField& field : changeColumns()) fields.push_back(std::move(field));
  }
  const int visible = static_cast<int>(fields.size());
  return {DataType::structOf(std::move(fields)), visible};
}

std::unique_ptr<StreamSource> openDeltaStream(std::shared_ptr<delta::DeltaLog> log,
                                              const ReadDefinition& read, const StreamSourceContext& context,
                                              delta::AddressResolver resolve) {
  const DeltaStreamOptions options = DeltaStreamOptions::parse(read.options);
  delta::SnapshotPtr snapshot = requireStreamedTable(*log);
  auto source = std::make_unique<DeltaStreamSource>(std::move(log), std::move(snapshot), options, context,
                                                    std::move(resolve));
  if (context.schema && !equals(*context.schema, *source->schema())) {
    throw Error("DELTA_READ_SOURCE_SCHEMA_CONFLICT",
                "The schema of the Delta table changed between load() and start(): run both again.");
  }
  return source;
}

}  // namespace thalweg
