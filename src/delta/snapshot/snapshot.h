// One version of a table, as its log says it: immutable, shared, safe to read from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "delta/actions/actions.h"
#include "delta/snapshot/file_set.h"
#include "storage/file_system.h"
#include "types/data_type.h"

namespace thalweg::delta {

class Snapshot;
using SnapshotPtr = std::shared_ptr<const Snapshot>;

// What identifies the commit file that a version ends with: tells a rewritten table from a grown one.
struct CommitStamp {
  int64_t modificationTimeMs = 0;
  int64_t sizeBytes = 0;
  bool operator==(const CommitStamp&) const = default;
};

class Snapshot {
 public:
  // appId → its newest transaction; domain → its live metadata.
  using Transactions = std::map<std::string, SetTransaction>;
  using Domains = std::map<std::string, DomainMetadata>;

  // Filled by SnapshotBuilder.
  struct State {
    Location table;
    int64_t version = 0;
    Protocol protocol;
    Metadata metadata;
    SchemaPtr schema;
    FileSet files{std::string()};
    std::shared_ptr<const Transactions> transactions;
    std::shared_ptr<const Domains> domains;
    int64_t timestampMs = 0;
    std::optional<int64_t> inCommitTimestampMs;
    std::optional<int64_t> checkpointVersion;
    std::optional<std::string> txnId;
    std::optional<CommitStamp> stamp;
  };
  explicit Snapshot(State state) : state_(std::move(state)) {}

  const Location& table() const { return state_.table; }
  std::string logPath() const { return state_.table.path + "/_delta_log"; }
  int64_t version() const { return state_.version; }
  const Protocol& protocol() const { return state_.protocol; }
  const Metadata& metadata() const { return state_.metadata; }
  // The parsed schema, partition columns included, in the table's order.
  const SchemaPtr& schema() const { return state_.schema; }
  const std::vector<std::string>& partitionColumns() const { return state_.metadata.partitionColumns; }

  // Live files and tombstones; totals without a walk.
  const FileSet& files() const { return state_.files; }
  int64_t numFiles() const { return files().totals().numFiles; }
  int64_t sizeInBytes() const { return files().totals().sizeInBytes; }
  // All live files as actions (dataChange false). For tables of many files prefer files().forEachLive.
  std::vector<AddFile> liveFiles(Statistics statistics = Statistics::Required) const;

  // The newest version that an application recorded, nullopt where it never did.
  std::optional<int64_t> transactionVersion(std::string_view appId) const;
  const Transactions& transactions() const { return *state_.transactions; }
  const Domains& domainMetadata() const { return *state_.domains; }

  // The commit's time in ms: its in-commit timestamp where the table has them, else the commit file's
  // modification time.
  int64_t timestampMs() const { return state_.timestampMs; }
  // The checkpoint that this state was built over, if any.
  const std::optional<int64_t>& checkpointVersion() const { return state_.checkpointVersion; }
  // The newest commit's own id, where its commitInfo has one and was read.
  const std::optional<std::string>& txnId() const { return state_.txnId; }

  const State& state() const { return state_; }

 private:
  State state_;
};

// Applies actions, oldest version first, to nothing or to an older snapshot. Not thread-safe.
class SnapshotBuilder {
 public:
  explicit SnapshotBuilder(Location table);
  explicit SnapshotBuilder(const Snapshot& base);
  ~SnapshotBuilder();

  void apply(const Action& action);
  void apply(const FileFields& file) { files_.put(file); }
  // The commit of `version` is complete; its file's stamp where known.
  void endVersion(int64_t version, std::optional<CommitStamp> stamp);
  void setCheckpointVersion(int64_t version);
  // Of the newest version so far, where its commit is gone.
  void setInCommitTimestamp(std::optional<int64_t> timestampMs) { state_.inCommitTimestampMs = timestampMs; }
  // Throws Error DELTA_STATE_RECOVER_ERROR where no protocol or no metadata was seen up to `version`.
  void requireProtocolAndMetadata(int64_t version) const;

  // Throws Error DELTA_STATE_RECOVER_ERROR where no protocol or no metadata was seen, and as checkReadable.
  // `nowMs` decides which tombstones are expired.
  SnapshotPtr finish(int64_t nowMs) &&;

 private:
  Snapshot::Transactions& transactions();
  Snapshot::Domains& domains();

  Snapshot::State state_;
  FileSetBuilder files_;
  bool hasProtocol_ = false;
  bool hasMetadata_ = false;
  bool metadataChanged_ = false;
  // The time of the newest version so far; modification times are made to rise over it.
  std::optional<int64_t> risingTimeMs_;
  // Copies that this builder may change; null while the base's are shared unchanged.
  std::shared_ptr<Snapshot::Transactions> transactions_;
  std::shared_ptr<Snapshot::Domains> domains_;
};

}  // namespace thalweg::delta
