// Statements that race: every order of their phases, enumerated. Each schedule must end as some serial order
// of what was committed (that of the versions, where the table is serializable), and whoever lost must have
// had to, by the very rule of the protocol's table.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "common/error.h"
#include "common/testing/every_schedule.h"
#include "delta/commit/phased_file_system.h"
#include "delta/commit/statements_for_tests.h"
#include "delta/log/log_files.h"
#include "delta/log/version_checksum.h"
#include "delta/snapshot/table_features.h"

namespace thalweg::delta {
namespace {

// What becomes of a statement (row) that finds another's commit (column) in its way: . goes on, A append, R
// delete-read, D delete-delete, M metadata, P protocol, T transaction. Worked out by hand from the protocol's
// rules; data predicates (x = 2, x = 3) are held against statistics. On another line what differs.
constexpr const char* kMatrix = R"(
              append  append-2  append-count  delete-2  update-2  update-3  delete-b  optimize  overwrite  replace-b  add-column  protocol  batch  restore  vacuum  upsert
append        .       .         .             .         .         .         .         .         .          .          M           .         .      .        .       .
append-2      .       .         .             .         .         .         .         .         .          .          M           .         .      .        .       .
append-count  A       A         A             A         A         A         R         A         A          A          M           .         A      A        .       A
delete-2      .       A         .             A         A         A         .         A         R          .          M           .         .      .        .       A
update-2      .       A         .             A         A         A         .         A         R          .          M           .         .      .        .       A
update-3      .       .         .             A         A         A         .         A         R          .          M           .         .      .        .       A
delete-b      .       .         .             .         .         .         R         .         R          A          M           .         .      A        .       .
optimize      .       .         .             .         .         .         .         D         D          .          M           .         .      .        .       .
overwrite     A       A         A             A         A         A         R         A         A          A          M           .         A      A        .       A
replace-b     .       .         .             .         .         .         R         .         R          A          M           .         .      A        .       .
add-column    .       .         .             .         .         .         .         .         .          .          M           M         .      M        .       .
protocol      .       .         .             .         .         .         .         .         .          .          M           P         .      P        .       .
batch         .       .         .             .         .         .         .         .         .          .          M           .         T      .        .       .
restore       A       A         A             A         A         A         R         A         A          A          M           P         A      P        .       A
vacuum        .       .         .             .         .         .         .         .         .          .          .           .         .      .        .       .
upsert        .       .         .             .         .         .         .         .         .          .          M           .         .      .        .       .
)";
// Rows that go into other files are in the way of who sorts or merges these.
constexpr const char* kWithoutVectors = R"(
              delete-2  update-2  update-3  upsert
optimize      D         D         D         D
)";
// Who added blindly may come before or after: readers that leave the schema alone let it pass.
constexpr const char* kWriteSerializable = R"(
              append  append-2  batch
append-count  .       .         .
delete-2      .       .         .
update-2      .       .         .
overwrite     .       .         .
)";

using Matrix = std::map<std::pair<std::string, std::string>, char>;

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '-', ' ');
  return name;
}

void addTo(Matrix& matrix, const char* text) {
  std::istringstream lines(text);
  std::string line, word;
  std::vector<std::string> columns;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    if (columns.empty()) {
      while (words >> word) columns.push_back(spaced(word));
      continue;
    }
    std::string row, cell;
    words >> row;
    for (const std::string& column : columns) {
      if (words >> cell) matrix[{spaced(row), column}] = cell[0];
    }
  }
}

const std::map<char, std::string> kConditions = {
    {'A', "DELTA_CONCURRENT_APPEND.WITHOUT_HINT"},
    {'R', "DELTA_CONCURRENT_DELETE_READ.WITHOUT_HINT"},
    {'D', "DELTA_CONCURRENT_DELETE_DELETE.WITHOUT_HINT"},
    {'M', "DELTA_METADATA_CHANGED"},
    {'P', "DELTA_PROTOCOL_CHANGED"},
    {'T', "DELTA_CONCURRENT_TRANSACTION"},
};

// A table as every schedule finds it.
class BaseTable {
 public:
  explicit BaseTable(const std::map<std::string, std::string>& properties) {
    const auto store = makeMemoryFileSystem();
    small = makeSmallTable({store, "/t"}, properties);
    copy("/t", *store);
    old = std::make_shared<const std::set<std::string>>([this] {
      std::set<std::string> paths;
      for (const auto& [path, contents] : files_) paths.insert(path);
      return paths;
    }());
    statements = statementsOn(small);
  }

  std::shared_ptr<FileSystem> make() const {
    auto store = makeMemoryFileSystem();
    for (const auto& [path, contents] : files_) store->writeAtomically(path, contents);
    return store;
  }

  SmallTable small;
  std::shared_ptr<const std::set<std::string>> old;
  std::vector<Statement> statements;

 private:
  void copy(const std::string& folder, FileSystem& store) {
    for (const FileInfo& entry : store.list(folder)) {
      if (entry.isDirectory)
        copy(entry.path, store);
      else
        files_.emplace(entry.path, store.readAll(entry.path));
    }
  }
  std::map<std::string, std::string> files_;
};

struct Actor {
  const Statement* statement = nullptr;
  std::string outcome;  // "committed", "nothing", or the error's condition
  size_t read = 0;      // commits that were there when it began
  size_t known = 0;     // … when it ended
  std::optional<Error> error;
  std::optional<TableState> seen;  // of readers
};

// Which phases a statement may stop before: those of the log, these and reading and removing files, or all.
enum class Detail { LogOnly, LogAndOldFiles, AllPhases };

// One schedule of some statements, and what must be true after it.
class Race {
 public:
  Race(const BaseTable& base, const Matrix& matrix, std::vector<const Statement*> statements, Detail detail)
      : base_(base), matrix_(matrix), detail_(detail), store_(base.make()) {
    for (const Statement* statement : statements) actors_.push_back({statement, {}, 0, 0, {}, {}});
  }

  void run(Schedule& schedule) {
    std::vector<std::function<void()>> bodies;
    for (size_t i = 0; i < actors_.size(); ++i) bodies.push_back([this, i, &schedule] { act(i, schedule); });
    schedule.run(bodies);
  }

  // The versions that were made, by who made them.
  const std::vector<size_t>& commits() const { return commits_; }

  void checkOutcomes() const {
    for (size_t i = 0; i < actors_.size(); ++i) {
      const Actor& actor = actors_[i];
      const std::string& name = actor.statement->name;
      const auto own = std::find(commits_.begin(), commits_.end(), i);
      const bool committed = own != commits_.end();
      const size_t end = committed ? static_cast<size_t>(own - commits_.begin()) : actor.known;
      if (actor.seen) {
        EXPECT_EQ(toText(*actor.seen), toText(stateAfter(actor.read))) << name;
        continue;
      }
      EXPECT_EQ(actor.outcome == "committed", committed) << name << ": " << actor.outcome;
      if (actor.outcome == "nothing") {
        TableState state = stateAfter(actor.read);
        const TableState before = state;
        if (!(name == "batch" && before.appVersion)) actor.statement->apply(state);
        EXPECT_EQ(toText(state), toText(before)) << name << " had something to do";
        continue;
      }
      EXPECT_EQ(actor.outcome, expected(i, end)) << name << (actor.error ? actor.error->text() : "");
      EXPECT_TRUE(!actor.error || actor.error->sqlState() == "2D521") << name;
    }
  }

  // For races whose winners are not the matrix's: a conflict of Delta's, and only with somebody.
  void checkConflicts() const {
    for (const Actor& actor : actors_) {
      EXPECT_TRUE(!actor.seen || toText(*actor.seen) == toText(stateAfter(actor.read)))
          << actor.statement->name << " saw " << toText(*actor.seen);
      if (!actor.error) continue;
      EXPECT_EQ(actor.error->sqlState(), "2D521") << actor.statement->name << ": " << actor.error->text();
      EXPECT_GT(actor.known, actor.read) << actor.statement->name << " lost against nobody";
    }
  }

  void checkTable(bool anySerialOrder) const {
    const Location table{store_, "/t"};
    const SnapshotPtr snapshot = loadSnapshot(table);
    EXPECT_EQ(snapshot->version(), base_.small.version + static_cast<int64_t>(commits_.size()));
    EXPECT_EQ(faultsOf(*snapshot), "");
    if (testing::Test::HasFailure()) return;
    const std::string found = toText(stateOf(*snapshot));
    if (anySerialOrder && isOfSomeOrder(found)) return;
    EXPECT_EQ(found, toText(stateAfter(commits_.size())));
    if (!commits_.empty()) checkChecksum(*snapshot);
  }

 private:
  void act(size_t number, Schedule& schedule) {
    Actor& actor = actors_[number];
    const auto phased = std::make_shared<PhasedFileSystem>(store_, base_.old);
    phased->onPhase = [this, number, &schedule](Phase phase) {
      const bool isOfLog = phase == Phase::Snapshot || phase == Phase::Put || phase == Phase::Conflicts;
      const bool isOfOldFiles = phase == Phase::ReadFiles || phase == Phase::Remove;
      const bool counts =
          detail_ == Detail::AllPhases || isOfLog || (detail_ == Detail::LogAndOldFiles && isOfOldFiles);
      if (counts) schedule.step(number);
    };
    phased->onCommit = [this, number] { commits_.push_back(number); };
    phased->everyFile = detail_ != Detail::LogOnly && actor.statement->name == "read";
    const auto log = std::make_shared<DeltaLog>(Location{phased, "/t"});
    actor.read = commits_.size();
    try {
      if (actor.statement->name == "read")
        actor.seen = stateOf(*log->require());
      else
        actor.outcome = actor.statement->run(log) ? "committed" : "nothing";
    } catch (const Error& error) {
      actor.outcome = error.condition();
      actor.error = error;
    }
    actor.known = commits_.size();
  }

  // By the first of the commits in its way that has something against it.
  std::string expected(size_t number, size_t end) const {
    const std::string& name = actors_[number].statement->name;
    for (size_t i = actors_[number].read; i < end; ++i) {
      if (commits_[i] == number) continue;
      const auto cell = matrix_.find({name, actors_[commits_[i]].statement->name});
      if (cell == matrix_.end()) ADD_FAILURE() << "the matrix lacks " << name;
      if (cell != matrix_.end() && cell->second != '.') return kConditions.at(cell->second);
    }
    return "committed";
  }

  TableState stateAfter(size_t numCommits) const {
    return stateAfter(
        std::vector<size_t>(commits_.begin(), commits_.begin() + static_cast<long>(numCommits)));
  }
  TableState stateAfter(const std::vector<size_t>& order) const {
    TableState state = base_.small.state;
    for (const size_t actor : order) actors_[actor].statement->apply(state);
    return state;
  }

  bool isOfSomeOrder(const std::string& found) const {
    std::vector<size_t> order = commits_;
    std::sort(order.begin(), order.end());
    do {
      if (toText(stateAfter(order)) == found) return true;
    } while (std::next_permutation(order.begin(), order.end()));
    return false;
  }

  void checkChecksum(const Snapshot& snapshot) const {
    const auto checksum = readChecksum(*store_, "/t/_delta_log", snapshot.version());
    ASSERT_TRUE(checksum);
    EXPECT_EQ(checksum->numFiles, snapshot.numFiles());
  }

  const BaseTable& base_;
  const Matrix& matrix_;
  Detail detail_;
  std::shared_ptr<FileSystem> store_;
  std::vector<Actor> actors_;
  std::vector<size_t> commits_;
};

struct Tally {
  int64_t schedules = 0;
  int64_t commits = 0;
};

enum class Isolation { Serializable, WriteSerializable };

class Interleavings {
 public:
  Interleavings(bool vectors, Isolation isolation)
      : isolation_(isolation), base_(properties(vectors, isolation)) {
    addTo(matrix_, kMatrix);
    if (!vectors) addTo(matrix_, kWithoutVectors);
    if (isolation == Isolation::WriteSerializable) addTo(matrix_, kWriteSerializable);
    base_.statements.push_back({"read", {}, {}});
  }

  std::vector<std::string> names() const {
    return {"append",   "append 2", "append count", "delete 2",  "update 2",   "update 3",
            "delete b", "optimize", "overwrite",    "replace b", "add column", "protocol",
            "batch",    "restore",  "vacuum",       "upsert",    "checkpoint", "read"};
  }

  // Every order of these; `exactly`: the losers by the matrix.
  void run(const std::vector<std::string>& names, Detail detail, bool exactly) {
    std::vector<const Statement*> statements;
    std::string title;
    for (const std::string& name : names) {
      statements.push_back(&statementNamed(base_.statements, name));
      title += (title.empty() ? "" : " | ") + name;
    }
    SCOPED_TRACE(title);
    tally_.schedules += forEachSchedule([&](Schedule& schedule) {
      Race race(base_, matrix_, statements, detail);
      race.run(schedule);
      SCOPED_TRACE("schedule " + schedule.text());
      exactly ? race.checkOutcomes() : race.checkConflicts();
      race.checkTable(isolation_ == Isolation::WriteSerializable);
      tally_.commits += static_cast<int64_t>(race.commits().size());
      return !testing::Test::HasFailure();
    });
  }

  const Tally& tally() const { return tally_; }

 private:
  static std::map<std::string, std::string> properties(bool vectors, Isolation isolation) {
    std::map<std::string, std::string> result;
    if (vectors) result[std::string(kEnableDeletionVectors)] = "true";
    if (isolation == Isolation::WriteSerializable) result["delta.isolationLevel"] = "WriteSerializable";
    return result;
  }

  Isolation isolation_;
  BaseTable base_;
  Matrix matrix_;
  Tally tally_;
};

void say(const char* what, const Tally& tally) {
  std::printf("%s: %lld schedules, %lld commits in them\n", what, static_cast<long long>(tally.schedules),
              static_cast<long long>(tally.commits));
}

// THALWEG_ALL_PHASES=1 lets statements stop before reading, writing and removing files, too, and takes
// hours: what they write there has names of its own, so that only VACUUM and readers can tell the difference.
Detail chosenDetail() {
  return std::getenv("THALWEG_ALL_PHASES") ? Detail::AllPhases : Detail::LogOnly;
}

bool isThorough() {
  return chosenDetail() == Detail::AllPhases;
}

// Each of the first with each of the second; all with all where that was asked for.
void runPairs(Interleavings& interleavings, std::vector<std::string> first, std::vector<std::string> second) {
  if (isThorough()) first = second = interleavings.names();
  std::set<std::pair<std::string, std::string>> done;
  for (const std::string& one : first) {
    for (const std::string& other : second) {
      if (!done.insert(std::minmax(one, other)).second) continue;
      // Of four commits: thousands of orders in which nothing but their records can meet.
      if (one == "vacuum" && other == "vacuum" && !isThorough()) continue;
      interleavings.run({one, other}, chosenDetail(), /*exactly=*/true);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(Interleavings, OfTwoStatementsOnATableWithDeletionVectors) {
  Interleavings interleavings(true, Isolation::Serializable);
  runPairs(interleavings, interleavings.names(), interleavings.names());
  say("pairs, with vectors", interleavings.tally());
}

// Those that write files anew.
TEST(Interleavings, OfTwoStatementsOnATableWhoseFilesAreRewritten) {
  Interleavings interleavings(false, Isolation::Serializable);
  const std::vector<std::string> names = {"delete 2", "update 2", "update 3",
                                          "upsert",   "optimize", "replace b"};
  runPairs(interleavings, names, names);
  say("pairs, without vectors", interleavings.tally());
}

// Those that the level tells apart.
TEST(Interleavings, OfTwoStatementsOnATableThatIsWriteSerializable) {
  Interleavings interleavings(true, Isolation::WriteSerializable);
  runPairs(interleavings, {"append", "append 2", "batch"},
           {"append count", "delete 2", "update 2", "overwrite", "restore", "upsert", "add column"});
  say("pairs, WriteSerializable", interleavings.tally());
}

// What deletes files meets what reads, writes and brings them back.
TEST(Interleavings, OfAVacuumAndOthers) {
  Interleavings interleavings(true, Isolation::Serializable);
  for (const char* other : {"read", "append", "update 2", "optimize", "restore", "delete b", "checkpoint"}) {
    interleavings.run({"vacuum", other}, isThorough() ? Detail::AllPhases : Detail::LogAndOldFiles,
                      /*exactly=*/true);
    if (testing::Test::HasFailure()) return;
  }
  say("pairs with VACUUM", interleavings.tally());
}

TEST(Interleavings, OfThreeStatements) {
  Interleavings interleavings(true, Isolation::Serializable);
  std::vector<std::vector<std::string>> triples = {
      {"append count", "append count", "append count"},
      {"update 2", "update 3", "optimize"},
      {"upsert", "append 2", "delete 2"},
      {"batch", "batch", "batch"},
      {"add column", "append", "update 2"},
      {"restore", "optimize", "delete 2"},
  };
  if (isThorough()) {
    triples.insert(triples.end(), {{"delete 2", "append 2", "optimize"},
                                   {"overwrite", "append", "optimize"},
                                   {"optimize", "optimize", "update 3"},
                                   {"delete b", "replace b", "restore"},
                                   {"protocol", "update 2", "optimize"},
                                   {"upsert", "upsert", "optimize"},
                                   {"vacuum", "restore", "optimize"},
                                   {"read", "optimize", "vacuum"}});
  }
  for (const auto& triple : triples) {
    interleavings.run(triple, Detail::LogOnly, /*exactly=*/false);
    if (testing::Test::HasFailure()) return;
  }
  say("triples", interleavings.tally());
}

}  // namespace
}  // namespace thalweg::delta
