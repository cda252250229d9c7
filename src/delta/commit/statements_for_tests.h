// For tests: one small table, and what statements do to it, in the library and in a model.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "delta/actions/actions.h"
#include "delta/snapshot/delta_log.h"
#include "storage/file_system.h"

namespace thalweg::delta {

using Rows = std::multiset<std::pair<std::string, int64_t>>;  // (p, x)

// What a table is to its readers.
struct TableState {
  Rows rows;
  std::vector<std::string> columns;
  std::optional<int64_t> appVersion;  // of the application "q"
  bool operator==(const TableState&) const = default;
};
std::string toText(const TableState& state);

// The real time, moved by as much as a test says.
class MovedClock final : public Clock {
 public:
  int64_t byMs = 0;
  int64_t nowMicros() const override { return systemClock().nowMicros() + byMs * 1000; }
  std::chrono::steady_clock::time_point monotonic() const override { return systemClock().monotonic(); }
};

// The table that statements run on: partitioned by p (text), with x (long). Rows a: 1 2 3 | 10 11 12, b: 20
// 21, a file each. Its history is thirty days old, but for the removal of (b, 40), a day ago; it also has
// removed and unknown files for VACUUM. `properties` are the table's.
struct SmallTable {
  int64_t version = 0;         // the newest
  int64_t restoreVersion = 0;  // with (b, 40), whose file every VACUUM must keep
  TableState state;
  TableState stateAtRestoreVersion;
};
SmallTable makeSmallTable(const Location& table, const std::map<std::string, std::string>& properties);

// Adds a file of so many rows (l, 100000 …): vectors over it are too long for the log.
void addLongFile(const Location& table, SmallTable* small, int64_t numRows);

// A statement, as a session runs it: over the newest version, in one commit (VACUUM two). Throws Error, the
// conflict's among them. Returns false where it committed nothing, and was to commit nothing.
struct Statement {
  std::string name;
  std::function<bool(const std::shared_ptr<DeltaLog>&)> run;
  std::function<void(TableState&)> apply;  // to the state that it is committed on
};
std::vector<Statement> statementsOn(const SmallTable& table);
// By its name.
const Statement& statementNamed(const std::vector<Statement>& statements, const std::string& name);

TableState stateOf(const Snapshot& snapshot);
// Data files and files of deletion vectors that the version needs, by path below the table.
std::set<std::string> filesOf(const Snapshot& snapshot);
// What is wrong with a version's files: missing ones, other sizes; empty: nothing.
std::string faultsOf(const Snapshot& snapshot);

}  // namespace thalweg::delta
