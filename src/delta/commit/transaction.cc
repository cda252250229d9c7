#include "delta/commit/transaction.h"

#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include <simdjson.h>

#include "common/fault_points.h"
#include "common/logging.h"
#include "common/options.h"
#include "common/uuid.h"
#include "delta/actions/action_reader.h"
#include "delta/actions/action_writer.h"
#include "delta/commit/post_commit.h"
#include "delta/log/file_paths.h"
#include "delta/log/log_files.h"
#include "delta/log/log_segment.h"
#include "delta/snapshot/protocol_choice.h"
#include "delta/snapshot/table_features.h"
#include "delta/snapshot/type_widening.h"
#include "storage/resolved_put.h"
#include "types/schema_json.h"

namespace thalweg::delta {
namespace {

template <typename File>
bool changesData(const Action& action) {
  const auto* file = std::get_if<File>(&action);
  return file && file->dataChange;
}

// Doubles from 1 ms on, jittered, so that several writers fall out of step.
void backOff(int lostRaces, int maxBackoffMs) {
  if (lostRaces < 2) return;
  thread_local std::minstd_rand random(std::random_device{}());
  const int limit = std::min(maxBackoffMs, 1 << std::min(lostRaces - 1, 16));
  std::uniform_int_distribution<int> wait(0, std::max(limit, 1) * 1000);
  std::this_thread::sleep_for(std::chrono::microseconds(wait(random)));
}

// Spark makes tables with Serializable only, and obeys what others (Databricks) have set.
IsolationLevel isolationOf(const Metadata& metadata) {
  const auto level = tableProperty(metadata, "delta.isolationLevel");
  return level && equalsIgnoreCase(*level, "WriteSerializable") ? IsolationLevel::WriteSerializable
                                                                : IsolationLevel::Serializable;
}

constexpr std::string_view kRowTrackingFeature = "rowTracking";
constexpr std::string_view kRowTrackingDomain = "delta.rowTracking";

// The highest row id that a table has given out, −1 where none.
int64_t rowIdHighWaterMark(const Snapshot& snapshot) {
  const auto domain = snapshot.domainMetadata().find(std::string(kRowTrackingDomain));
  if (domain == snapshot.domainMetadata().end()) return -1;
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  int64_t mark = 0;
  if (parser.parse(domain->second.configuration).get(object) || object["rowIdHighWaterMark"].get(mark)) {
    throw Error("DELTA_STATE_RECOVER_ERROR",
                "The Delta table " + snapshot.table().path + " says nothing readable of its row ids.",
                {{"operation", "row tracking"}});
  }
  return mark;
}

std::optional<int64_t> numRecords(const std::string& stats) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  int64_t count = 0;
  if (parser.parse(stats).get(object) || object["numRecords"].get(count)) return std::nullopt;
  return count;
}

}  // namespace

RemoveFile removalOf(const AddFile& file, int64_t deletionTimestampMs, bool dataChange) {
  RemoveFile remove;
  remove.path = file.path;
  remove.deletionTimestamp = deletionTimestampMs;
  remove.dataChange = dataChange;
  remove.extendedFileMetadata = true;
  remove.partitionValues = file.partitionValues;
  remove.size = file.size;
  remove.tags = file.tags;
  remove.deletionVector = file.deletionVector;
  remove.baseRowId = file.baseRowId;
  remove.defaultRowCommitVersion = file.defaultRowCommitVersion;
  const auto count = file.stats ? numRecords(*file.stats) : std::nullopt;
  if (count) remove.stats = "{\"numRecords\":" + std::to_string(*count) + "}";
  return remove;
}

Transaction::Transaction(std::shared_ptr<DeltaLog> log, SnapshotPtr readSnapshot)
    : log_(std::move(log)),
      readSnapshot_(std::move(readSnapshot)),
      head_(readSnapshot_),
      txnId_(randomUuid()) {}

void Transaction::readFile(const AddFile& file) {
  reads_.files.insert(canonicalFilePath(file.path, log_->table().path));
}

std::optional<int64_t> Transaction::readTransaction(const std::string& appId) {
  reads_.appIds.insert(appId);
  return readSnapshot_ ? readSnapshot_->transactionVersion(appId) : std::nullopt;
}

void Transaction::add(AddFile file) {
  files_.emplace_back(std::move(file));
}
void Transaction::remove(RemoveFile file) {
  files_.emplace_back(std::move(file));
}
void Transaction::addFileActions(std::vector<Action> actions) {
  files_.insert(files_.end(), std::make_move_iterator(actions.begin()),
                std::make_move_iterator(actions.end()));
}
void Transaction::setMetadata(Metadata metadata) {
  metadata_ = std::move(metadata);
}
void Transaction::setProtocol(Protocol protocol) {
  protocol_ = std::move(protocol);
}
void Transaction::setDomain(DomainMetadata domain) {
  domains_.push_back(std::move(domain));
}
void Transaction::setTransaction(SetTransaction transaction) {
  reads_.appIds.insert(transaction.appId);
  transactions_.push_back(std::move(transaction));
}

const Protocol& Transaction::protocol() const {
  return protocol_ ? *protocol_ : head_->protocol();
}
const Metadata& Transaction::metadata() const {
  return metadata_ ? *metadata_ : head_->metadata();
}

void Transaction::prepare() {
  if (!readSnapshot_) {
    if (!metadata_) throw internalError("A Delta table cannot be created without metadata.");
    if (metadata_->id.empty()) metadata_->id = randomUuid();
    if (!metadata_->createdTime) metadata_->createdTime = log_->clock().nowMillis();
    if (!protocol_) protocol_ = protocolForNewTable(*metadata_, log_->table().path);
  }
  checkWritable(protocol(), metadata(), log_->table().path);
}

void Transaction::plan() {
  readSnapshot_ = head_;
  reads_.wholeTable = false;
  reads_.filters.clear();
  reads_.files.clear();
  files_.clear();
  stale_ = false;
  plan_(*this);
}

void Transaction::render() {
  checkActions();
  const bool onlyAdds = std::all_of(files_.begin(), files_.end(), [](const Action& action) {
    return std::holds_alternative<AddFile>(action);
  });
  const bool dataChange = std::any_of(files_.begin(), files_.end(), [](const Action& action) {
    return changesData<AddFile>(action) || changesData<RemoveFile>(action);
  });
  stampVersion();
  stampTime();
  assignRowIds();
  if (readSnapshot_) facts_.readVersion = readSnapshot_->version();
  facts_.isBlindAppend = onlyAdds && !reads_.dependsOnFiles();
  const bool isEmpty = files_.empty() && transactions_.empty() && domains_.empty();
  facts_.isolationLevel = dataChange || metadata_ || protocol_ || (facts_.isBlindAppend && !isEmpty)
                              ? isolationOf(metadata())
                              : IsolationLevel::SnapshotIsolation;
  facts_.txnId = txnId_;
  actions_ = orderedActions(makeCommitInfo(operation_, facts_));
  text_ = toCommitText(actions_);
}

void Transaction::stampVersion() {
  if (!metadata_) return;
  const int64_t version = head_ ? head_->version() + 1 : 0;
  if (versionProperty_) metadata_->configuration[*versionProperty_] = std::to_string(version);
  if (!supportsFeature(protocol(), "typeWidening-preview")) return;
  // A race that was lost before left its version in it.
  if (!givenSchema_) givenSchema_ = metadata_->schema();
  metadata_->schemaString = toSchemaJson(*withVersionsOfTypeChanges(givenSchema_, version));
}

void Transaction::stampTime() {
  facts_.timestampMs = log_->clock().nowMillis();
  facts_.inCommitTimestampMs.reset();
  if (!tableFlag(metadata(), kEnableInCommitTimestamps)) return;
  facts_.inCommitTimestampMs = facts_.timestampMs;
  if (!head_) return;
  facts_.inCommitTimestampMs = std::max(facts_.timestampMs, head_->timestampMs() + 1);
  if (!metadata_ || tableFlag(readSnapshot_->metadata(), kEnableInCommitTimestamps)) return;
  // Older versions have no such time: readers must know from where on to look for one.
  metadata_->configuration["delta.inCommitTimestampEnablementVersion"] = std::to_string(head_->version() + 1);
  metadata_->configuration["delta.inCommitTimestampEnablementTimestamp"] =
      std::to_string(*facts_.inCommitTimestampMs);
}

void Transaction::assignRowIds() {
  stampedFiles_.clear();
  rowTracking_.reset();
  // Who lost a race against the table's beginning to track rows gives ids too.
  const bool inherits = !protocol_ && head_;
  if (!supportsFeature(inherits ? head_->protocol() : protocol(), kRowTrackingFeature)) return;
  if (tableFlag(metadata(), kRowTrackingSuspended)) return;
  int64_t mark = head_ ? rowIdHighWaterMark(*head_) : -1;
  const int64_t before = mark;
  stampedFiles_ = files_;
  for (Action& action : stampedFiles_) {
    auto* file = std::get_if<AddFile>(&action);
    if (!file || file->baseRowId) continue;
    const auto count = file->stats ? numRecords(*file->stats) : std::nullopt;
    if (!count)
      throw internalError("A file without a number of rows goes into a table that tracks rows: " +
                          file->path);
    file->baseRowId = mark + 1;
    file->defaultRowCommitVersion = head_ ? head_->version() + 1 : 0;
    mark += *count;
  }
  if (mark == before) return;
  rowTracking_ = DomainMetadata{
      std::string(kRowTrackingDomain),
      "{\"rowIdHighWaterMark\":" + std::to_string(mark) + ",\"domainName\":\"delta.rowTracking\"}", false};
}

void Transaction::checkActions() const {
  const std::string& table = log_->table().path;
  std::set<std::string> added;
  std::set<std::string> removed;
  bool removesData = false;
  bool hasCdc = false;
  bool addsData = false;
  bool hasVector = false;
  for (const Action& action : files_) {
    const auto* add = std::get_if<AddFile>(&action);
    const auto* remove = std::get_if<RemoveFile>(&action);
    hasCdc = hasCdc || std::holds_alternative<AddCdcFile>(action);
    removesData = removesData || changesData<RemoveFile>(action);
    // A file under another vector brings no rows.
    addsData = addsData || (add && changesData<AddFile>(action) && !add->deletionVector);
    hasVector = hasVector || (add && add->deletionVector);
    if (!add && !remove) continue;
    const std::string& path = add ? add->path : remove->path;
    if (!(add ? added : removed).insert(canonicalFilePath(path, table)).second) {
      throw Error("DELTA_DUPLICATE_ACTIONS_FOUND",
                  "A commit to the Delta table " + table + " would " + (add ? "add" : "remove") +
                      " the file " + path + " twice.",
                  {{"actionType", add ? "add" : "remove"}, {"path", path}});
    }
  }
  if (removesData) checkRemovesRows(metadata(), table);
  // Files that such a statement writes anew hold rows that stay, which the feed would call inserted.
  const bool editsRows =
      operation_.name == "UPDATE" || operation_.name == "DELETE" || operation_.name == "MERGE";
  if (editsRows && removesData && addsData && !hasCdc && tableFlag(metadata(), kEnableChangeDataFeed))
    throw internalError("Rows of a table with change data feed were changed without change files.");
  if (hasVector && !supportsFeature(protocol(), "deletionVectors")) {
    throw internalError("A deletion vector was written to a table whose protocol has none.");
  }
}

std::vector<Action> Transaction::orderedActions(const CommitInfo& info) const {
  std::vector<Action> actions;
  actions.reserve(files_.size() + transactions_.size() + domains_.size() + 3);
  actions.emplace_back(info);
  if (metadata_) actions.emplace_back(*metadata_);
  if (protocol_) actions.emplace_back(*protocol_);
  for (const SetTransaction& transaction : transactions_) actions.emplace_back(transaction);
  for (const DomainMetadata& domain : domains_) actions.emplace_back(domain);
  if (rowTracking_) actions.emplace_back(*rowTracking_);
  const std::vector<Action>& files = stampedFiles_.empty() ? files_ : stampedFiles_;
  actions.insert(actions.end(), files.begin(), files.end());
  return actions;
}

bool Transaction::isOurs(const std::vector<Action>& actions) const {
  return std::any_of(actions.begin(), actions.end(), [&](const Action& action) {
    const auto* info = std::get_if<CommitInfo>(&action);
    return info && readCommitInfoFields(*info).txnId == txnId_;
  });
}

SnapshotPtr Transaction::snapshotAfter(int64_t version, const std::vector<Action>& actions) const {
  std::optional<SnapshotBuilder> builder;
  head_ ? builder.emplace(*head_) : builder.emplace(log_->table());
  for (const Action& action : actions) builder->apply(action);
  const auto file = log_->table().fileSystem->stat(log_->logPath() + "/" + commitFileName(version));
  std::optional<CommitStamp> stamp;
  if (file) stamp = CommitStamp{file->modificationTimeMs, file->sizeBytes};
  builder->endVersion(version, stamp);
  return std::move(*builder).finish(log_->clock().nowMillis());
}

Transaction::Attempt Transaction::tryPut(int64_t version) {
  FileSystem& fileSystem = *log_->table().fileSystem;
  const std::string path = log_->logPath() + "/" + commitFileName(version);
  const PutOutcome outcome =
      putIfAbsentResolved(fileSystem, path, text_, [] { passFaultPoint(FaultPoint::DeltaCommitTemp); });
  return outcome == PutOutcome::Done ? Attempt::Won : Attempt::Lost;
}

std::variant<Transaction::Attempt, Error> Transaction::passWinners() {
  const PendingCommit own{readSnapshot_.get(), reads_, actions_, facts_.isolationLevel, facts_.isBlindAppend};
  FileSystem& fileSystem = *log_->table().fileSystem;
  while (true) {
    const int64_t version = head_ ? head_->version() + 1 : 0;
    const std::string path = log_->logPath() + "/" + commitFileName(version);
    const auto text = readCommitText(fileSystem, path);
    if (!text) return Attempt::Lost;
    const std::vector<Action> winner = readActions(*text, path);
    if (isOurs(winner)) {
      fileSystem.sync(path);
      return Attempt::Won;
    }
    if (auto conflict = findConflict(own, winner, version, head_.get())) {
      if (!plan_ || !isDataConflict(*conflict)) return *conflict;
      stale_ = true;
    }
    head_ = snapshotAfter(version, winner);
  }
}

Committed requireCommitted(CommitOutcome outcome) {
  if (const auto* conflict = std::get_if<Conflicted>(&outcome)) throw Error(conflict->error);
  return std::get<Committed>(std::move(outcome));
}

CommitOutcome Transaction::commit() {
  prepare();
  render();
  if (plan_) {
    // Plans over a version that is not the newest would be made in vain.
    auto passed = passWinners();
    if (auto* conflict = std::get_if<Error>(&passed)) return Conflicted{*conflict};
    plan();
    render();
  }
  passFaultPoint(FaultPoint::DeltaCommitBefore);
  int lostRaces = 0;
  for (int attempt = 0; attempt < limits_.maxAttempts; ++attempt) {
    Attempt result = tryPut(head_ ? head_->version() + 1 : 0);
    if (result == Attempt::Lost) {
      auto passed = passWinners();
      if (auto* conflict = std::get_if<Error>(&passed)) return Conflicted{*conflict};
      result = std::get<Attempt>(passed);
    }
    if (result == Attempt::Won) return finish(head_ ? head_->version() + 1 : 0);
    backOff(++lostRaces, limits_.maxBackoffMs);
    if (stale_) plan();
    render();
  }
  throw Error(
      "DELTA_MAX_COMMIT_RETRIES_EXCEEDED",
      "The commit to the Delta table " + log_->table().path + " was tried " +
          std::to_string(limits_.maxAttempts) +
          " times and another writer was first each time. Run fewer writers at once, or run it again.",
      {{"numAttempts", std::to_string(limits_.maxAttempts)},
       {"startVersion", std::to_string(readSnapshot_ ? readSnapshot_->version() + 1 : 0)},
       {"attemptVersion", std::to_string(head_ ? head_->version() + 1 : 0)},
       {"numActions", std::to_string(actions_.size())}});
}

Committed Transaction::finish(int64_t version) {
  passFaultPoint(FaultPoint::DeltaCommitAfter);
  // The commit is durable: a failure from here on must not look like one of the commit, which would be run
  // again.
  SnapshotPtr snapshot;
  try {
    snapshot = snapshotAfter(version, actions_);
    log_->offer(snapshot);
    runPostCommit(log_, snapshot);
  } catch (const std::exception& error) {
    logWarn("version {} of the Delta table {} is committed, but what follows a commit failed: {}", version,
            log_->table().path, error.what());
  }
  return {version, std::move(snapshot)};
}

}  // namespace thalweg::delta
