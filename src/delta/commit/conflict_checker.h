// Whether a commit that won a race leaves ours valid: the protocol's conflict rules.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/error.h"
#include "delta/actions/actions.h"
#include "delta/commit/commit_info.h"
#include "delta/snapshot/snapshot.h"

namespace thalweg::delta {

// True where such a file may hold rows that were read, or would have been read had it been there.
using ReadFilter = std::function<bool(const AddFile&)>;

// What a transaction looked at, for conflicts. Nothing at all: a blind append, if it only adds.
struct ReadSet {
  bool wholeTable = false;
  std::vector<ReadFilter> filters;
  std::set<std::string> files;   // canonical paths
  std::set<std::string> appIds;  // whose transaction versions were asked for

  bool dependsOnFiles() const { return wholeTable || !filters.empty() || !files.empty(); }
};

// A transaction's view while it is checked.
struct PendingCommit {
  const Snapshot* readSnapshot = nullptr;  // null: it creates the table
  const ReadSet& reads;
  const std::vector<Action>& actions;
  IsolationLevel isolationLevel;
  bool isBlindAppend;
};

// The first rule that `winner` (the actions of the commit of `winnerVersion`) breaks for `own`, as Delta's
// error; rules in Delta's order: protocol, metadata, domain, transaction, append, delete-read, delete-delete.
// `before` is the table's state under the winner (null before version 0). nullopt: ours stays valid on top of
// it.
std::optional<Error> findConflict(const PendingCommit& own, const std::vector<Action>& winner,
                                  int64_t winnerVersion, const Snapshot* before);

// Whether findConflict's answer is about data alone (append, delete-read, delete-delete): what was read is
// not the newest any more, and the operation may be made anew on top of the winner.
bool isDataConflict(const Error& conflict);

}  // namespace thalweg::delta
