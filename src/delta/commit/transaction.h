// One optimistic transaction on a table: what it read, what it changes, and its commit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/error.h"
#include "delta/actions/actions.h"
#include "delta/commit/commit_info.h"
#include "delta/commit/conflict_checker.h"
#include "delta/snapshot/delta_log.h"
#include "delta/snapshot/snapshot.h"

namespace thalweg::delta {

// The commit is in the log, durably, as `version`.
struct Committed {
  int64_t version = 0;
  SnapshotPtr snapshot;  // of that version; null where it could not be built: load it from the log
};
// Another writer's commit made ours invalid: nothing was written. The error has Delta's condition
// (DELTA_CONCURRENT_…, DELTA_METADATA_CHANGED, DELTA_PROTOCOL_CHANGED).
struct Conflicted {
  Error error;
};
using CommitOutcome = std::variant<Committed, Conflicted>;

// For those who have nothing to undo: throws a conflict's error.
Committed requireCommitted(CommitOutcome outcome);

struct CommitLimits {
  int maxAttempts = 1000;  // puts of a commit file
  int maxBackoffMs = 100;  // between lost races, jittered
};

// Used by one thread, for one commit. Writing the data files comes before; they stay valid across lost races.
class Transaction {
 public:
  // Over `readSnapshot` of `log`'s table; null: the transaction creates the table as version 0 (metadata must
  // be set; the protocol is chosen by protocolForNewTable unless set).
  Transaction(std::shared_ptr<DeltaLog> log, SnapshotPtr readSnapshot);

  const SnapshotPtr& readSnapshot() const { return readSnapshot_; }

  // What the operation's result rests on. Nothing read and only files added: a blind append, which no other
  // writer's data can invalidate.
  void readWholeTable() { reads_.wholeTable = true; }
  // True where such files, by their partition values and statistics, may hold rows that were read. Called
  // until commit() returns.
  void readMatching(ReadFilter mayMatch) { reads_.filters.push_back(std::move(mayMatch)); }
  void readFile(const AddFile& file);
  // The version that `appId` recorded last; another writer's record for it becomes a conflict. Setting a
  // transaction counts as reading it.
  std::optional<int64_t> readTransaction(const std::string& appId);

  void add(AddFile file);
  void remove(RemoveFile file);
  // AddFile, RemoveFile and AddCdcFile only.
  void addFileActions(std::vector<Action> actions);
  void setMetadata(Metadata metadata);
  // A property of the metadata that is set: its value is the version that the commit becomes, whatever races
  // are lost before.
  void setVersionProperty(std::string name) { versionProperty_ = std::move(name); }
  void setProtocol(Protocol protocol);
  void setTransaction(SetTransaction transaction);
  void setDomain(DomainMetadata domain);
  void setOperation(Operation operation) { operation_ = std::move(operation); }
  // For an operation that can be made anew: `plan` is called in commit(), with the newest version as
  // readSnapshot(), and says what was read of the table's files, which files go and come, and the operation.
  // Where another writer changes what was read, it is called again on top of that writer's version, with all
  // that it said before forgotten; metadata, protocol, domains and application transactions conflict as ever.
  // Its exceptions leave commit(): nothing is in the log then.
  void planFiles(std::function<void(Transaction&)> plan) { plan_ = std::move(plan); }
  void setLimits(const CommitLimits& limits) { limits_ = limits; }

  // Puts the commit as the next version. Lost races are checked by the conflict rules and tried again on top
  // of the winners; answers that the store lost are resolved by reading the version back and comparing the
  // transaction's id. A version costs what its own actions cost: nothing is listed or copied that grows with
  // the table. Afterwards, best effort (failures are logged, never thrown): V.crc, and every
  // delta.checkpointInterval versions a checkpoint, both on the log's executor. Throws Error before anything
  // is written: DELTA_UNSUPPORTED_FEATURES_FOR_WRITE, DELTA_CANNOT_MODIFY_APPEND_ONLY,
  // DELTA_DUPLICATE_ACTIONS_FOUND; DELTA_MAX_COMMIT_RETRIES_EXCEEDED after too many lost races; and the
  // store's errors. Passes the fault points DeltaCommitBefore, DeltaCommitTemp, DeltaCommitAfter and
  // DeltaChecksumBefore.
  CommitOutcome commit();

 private:
  enum class Attempt { Won, Lost };

  void prepare();
  void checkActions() const;
  // The file actions anew, over the newest version known.
  void plan();
  // actions_, text_ and facts_ of what is to be put.
  void render();
  // What depends on the version that the commit becomes, head_'s next.
  void stampVersion();
  void stampTime();
  void assignRowIds();
  std::vector<Action> orderedActions(const CommitInfo& info) const;
  Attempt tryPut(int64_t version);
  // Reads the winners from `head_` on, moving it; Won where one of them turns out to be ours. A conflict that
  // a new plan resolves sets `stale_`.
  std::variant<Attempt, Error> passWinners();
  bool isOurs(const std::vector<Action>& actions) const;
  SnapshotPtr snapshotAfter(int64_t version, const std::vector<Action>& actions) const;
  Committed finish(int64_t version);
  // Those that the commit will stand under: its own, else the winners', whose protocol its files must obey.
  const Protocol& protocol() const;
  const Metadata& metadata() const;

  std::shared_ptr<DeltaLog> log_;
  SnapshotPtr readSnapshot_;
  SnapshotPtr head_;  // the newest version known to lie below ours
  ReadSet reads_;
  std::optional<Metadata> metadata_;
  std::optional<std::string> versionProperty_;
  SchemaPtr givenSchema_;  // of metadata_, where the one that is put names the version
  std::optional<Protocol> protocol_;
  std::vector<SetTransaction> transactions_;
  std::vector<DomainMetadata> domains_;
  std::vector<Action> files_;
  std::vector<Action> stampedFiles_;           // files_ as they are put, where the table tracks rows
  std::optional<DomainMetadata> rowTracking_;  // its new state
  Operation operation_;
  CommitLimits limits_;
  std::string txnId_;
  std::function<void(Transaction&)> plan_;
  bool stale_ = false;  // what the plan read has changed
  CommitFacts facts_;
  std::vector<Action> actions_;  // of the commit, in its order
  std::string text_;
};

// The remove that takes `file` out of the table, as Spark writes it.
RemoveFile removalOf(const AddFile& file, int64_t deletionTimestampMs, bool dataChange = true);

}  // namespace thalweg::delta
