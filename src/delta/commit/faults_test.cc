// Statements on a store that fails: each call of each kind in turn, until a run is clean. After every failure
// the table is what it was before or what the statement makes of it, every version's files are there, and the
// statement can be run again.
#include <algorithm>
#include <cstdio>
#include <map>

#include <gtest/gtest.h>

#include "common/error.h"
#include "delta/commit/phased_file_system.h"
#include "delta/commit/statements_for_tests.h"
#include "delta/log/log_files.h"
#include "delta/snapshot/table_features.h"

namespace thalweg::delta {
namespace {

const std::map<FileOperation, std::string> kOperations = {
    {FileOperation::Stat, "stat"},
    {FileOperation::List, "list"},
    {FileOperation::Read, "read"},
    {FileOperation::OpenOutput, "open output"},
    {FileOperation::StreamWrite, "write"},
    {FileOperation::StreamClose, "close"},
    {FileOperation::WriteAtomically, "write atomically"},
    {FileOperation::PutIfAbsent, "put if absent"},
    {FileOperation::Sync, "sync"},
    {FileOperation::Remove, "remove"},
};

constexpr int kFullDisk = 28;  // ENOSPC
constexpr int64_t kForEver = int64_t{1} << 40;

using Files = std::map<std::string, std::string>;

Files filesBelow(FileSystem& store, const std::string& folder) {
  Files files;
  for (const FileInfo& entry : store.list(folder)) {
    if (!entry.isDirectory)
      files.emplace(entry.path, store.readAll(entry.path));
    else
      files.merge(filesBelow(store, entry.path));
  }
  return files;
}

class FaultsTest : public testing::Test {
 protected:
  // The table that each run finds; `longRows`: of a file over which vectors are too long for the log.
  void makeBase(bool vectors, int64_t longRows = 0) {
    const auto store = makeMemoryFileSystem();
    const Location table{store, "/t"};
    std::map<std::string, std::string> properties = {{"delta.checkpointInterval", "2"}};
    if (vectors) properties[std::string(kEnableDeletionVectors)] = "true";
    small_ = makeSmallTable(table, properties);
    if (longRows > 0) addLongFile(table, &small_, longRows);
    base_ = filesBelow(*store, "/t");
    std::set<std::string> old;
    for (const auto& [path, contents] : base_) old.insert(path);
    old_ = std::make_shared<const std::set<std::string>>(std::move(old));
    statements_ = statementsOn(small_);
  }

  void restoreBase() {
    store_ = makeMemoryFileSystem();
    for (const auto& [path, contents] : base_) store_->writeAtomically(path, contents);
    faulty_ = std::make_shared<PhasedFileSystem>(store_, old_);
    log_ = std::make_shared<DeltaLog>(Location{faulty_, "/t"});
  }

  // Fails each call of each kind that the statement makes.
  void failEverywhere(const std::string& name) {
    const Statement& statement = statementNamed(statements_, name);
    for (const auto& [operation, word] : kOperations) {
      for (const bool afterEffect : {false, true}) {
        for (const int64_t repeat : {int64_t{1}, kForEver}) {
          // Who cannot read ends at the first failure, whether more would come or not.
          const bool reads = operation == FileOperation::Stat || operation == FileOperation::List ||
                             operation == FileOperation::Read;
          if (repeat == kForEver && (reads || afterEffect)) continue;
          for (int64_t call = 1;; ++call) {
            SCOPED_TRACE(name + ", call " + std::to_string(call) + " of " + word +
                         (afterEffect ? ", its answer lost" : "") +
                         (repeat > 1 ? ", and all later ones" : ""));
            restoreBase();
            faulty_->inject({operation, call, kFullDisk, repeat, afterEffect});
            if (!runOnce(statement, operation, call, afterEffect)) break;
            if (HasFailure()) return;
          }
        }
      }
    }
    std::printf("%s: %lld faults, %lld failed it\n", name.c_str(), static_cast<long long>(numFaults_),
                static_cast<long long>(numFailed_));
  }

  // False where the fault was not reached.
  bool runOnce(const Statement& statement, FileOperation operation, int64_t call, bool answerLost) {
    TableState after = small_.state;
    statement.apply(after);
    bool failed = false;
    try {
      statement.run(log_);
    } catch (const Error& error) {
      failed = true;
      EXPECT_NE(error.text().find("/t"), std::string::npos) << "names no path: " << error.text();
      EXPECT_TRUE(answerLost || error.text().find("the disk is full") != std::string::npos) << error.text();
    }
    const bool reached = faulty_->calls(operation) >= call;
    faulty_->clear();
    numFaults_ += reached;
    numFailed_ += failed;
    const SnapshotPtr snapshot = loadSnapshot({store_, "/t"});
    const bool isAfter = snapshot->version() > small_.version && toText(stateOf(*snapshot)) == toText(after);
    EXPECT_EQ(faultsOf(*snapshot), "");
    EXPECT_TRUE(isAfter || toText(stateOf(*snapshot)) == toText(small_.state)) << toText(stateOf(*snapshot));
    EXPECT_TRUE(isAfter || failed || statement.name == "checkpoint") << "it said that it was done";
    checkRetained();
    if (failed && !isAfter) runAgain(statement, after);
    return reached;
  }

  void runAgain(const Statement& statement, const TableState& after) {
    statement.run(log_);
    const SnapshotPtr snapshot = loadSnapshot({store_, "/t"});
    EXPECT_EQ(toText(stateOf(*snapshot)), toText(after)) << "run again";
    EXPECT_EQ(toText(stateOf(*log_->require())), toText(after))
        << "run again, by the handle that met the fault";
    EXPECT_EQ(faultsOf(*snapshot), "");
  }

  // What was there yesterday can be restored.
  void checkRetained() const {
    const SnapshotPtr retained = loadSnapshot({store_, "/t"}, small_.restoreVersion);
    EXPECT_EQ(faultsOf(*retained), "");
  }

  SmallTable small_;
  Files base_;
  std::shared_ptr<const std::set<std::string>> old_;
  std::vector<Statement> statements_;
  std::shared_ptr<FileSystem> store_;
  std::shared_ptr<PhasedFileSystem> faulty_;
  std::shared_ptr<DeltaLog> log_;
  int64_t numFaults_ = 0;
  int64_t numFailed_ = 0;
};

TEST_F(FaultsTest, OfAnAppend) {
  makeBase(true);
  failEverywhere("append");
}

TEST_F(FaultsTest, OfADeleteByVectors) {
  makeBase(true, 1500);
  failEverywhere("delete thirds");
}

TEST_F(FaultsTest, OfAnUpdateByRewriting) {
  makeBase(false);
  failEverywhere("update 2");
}

TEST_F(FaultsTest, OfAnOverwriteOfAPartition) {
  makeBase(true);
  failEverywhere("replace b");
}

TEST_F(FaultsTest, OfAnUpsert) {
  makeBase(true);
  failEverywhere("upsert");
}

TEST_F(FaultsTest, OfAnOptimize) {
  makeBase(true);
  failEverywhere("optimize");
}

TEST_F(FaultsTest, OfASort) {
  makeBase(true);
  failEverywhere("sort");
}

TEST_F(FaultsTest, OfARestore) {
  makeBase(true);
  failEverywhere("restore");
}

TEST_F(FaultsTest, OfAVacuum) {
  makeBase(true);
  failEverywhere("vacuum");
}

TEST_F(FaultsTest, OfACheckpoint) {
  makeBase(true);
  failEverywhere("checkpoint");
}

// ---- files that are torn or gone

TEST_F(FaultsTest, ATornOrMissingDataFileIsAnErrorThatNamesIt) {
  makeBase(true);
  for (const auto& [path, contents] : base_) {
    if (path.find("_delta_log") != std::string::npos || !path.ends_with(".snappy.parquet")) continue;
    restoreBase();
    const SnapshotPtr snapshot = log_->require();
    if (!filesOf(*snapshot).contains(path.substr(3))) continue;
    const auto mustName = [&, file = path.substr(path.rfind('/') + 1)](const std::string& how) {
      try {
        const std::string found = toText(stateOf(*snapshot));
        EXPECT_EQ(found, toText(small_.state)) << file << ", " << how << ": other rows without an error";
      } catch (const Error& error) {
        EXPECT_NE(error.text().find(file), std::string::npos) << how << ": " << error.text();
      }
    };
    for (size_t length = 0; length < contents.size(); length += contents.size() < 1000 ? 7 : 97) {
      store_->writeAtomically(path, contents.substr(0, length));
      mustName("cut to " + std::to_string(length));
    }
    store_->writeAtomically(path, std::string(contents.size(), '\0'));
    mustName("zeros");
    store_->remove(path);
    mustName("missing");
  }
}

TEST_F(FaultsTest, ATornCommitIsAnErrorOrWhatItSaysAndNeverLess) {
  makeBase(true, 10);
  const std::string path = "/t/_delta_log/" + commitFileName(small_.version);
  const std::string whole = base_.at(path);
  restoreBase();
  for (size_t length = 0; length < whole.size(); ++length) {
    store_->writeAtomically(path, whole.substr(0, length));
    // Without its line's end, or cut between lines, it is still JSON: local disk and conditional puts publish
    // commits whole, so that such a file is another writer's.
    const bool wholeLines = length == 0 || whole[length - 1] == '\n' || whole[length] == '\n';
    try {
      loadSnapshot({store_, "/t"});
      EXPECT_TRUE(wholeLines) << "cut to " << length;
    } catch (const Error& error) {
      EXPECT_NE(error.text().find(commitFileName(small_.version)), std::string::npos) << error.text();
    }
  }
}

// ---- listings that are stale, or say things twice

class OddListings final : public FaultFileSystem {
 public:
  OddListings(std::shared_ptr<FileSystem> store, size_t numHidden, bool twice)
      : FaultFileSystem(std::move(store)), numHidden_(numHidden), twice_(twice) {}

  std::vector<FileInfo> listFrom(const std::string& directory, std::string_view firstName) override {
    auto entries = FaultFileSystem::listFrom(directory, firstName);
    entries.resize(entries.size() - std::min(entries.size(), numHidden_));
    if (!twice_) return entries;
    auto again = entries;
    std::reverse(again.begin(), again.end());
    entries.insert(entries.end(), again.begin(), again.end());
    return entries;
  }

 private:
  size_t numHidden_;
  bool twice_;
};

TEST_F(FaultsTest, ListingsThatLagOrRepeatHideNothing) {
  makeBase(true);
  for (const bool twice : {false, true}) {
    // With fewer names left than a checkpoint or the first commit there is no table to be seen.
    for (size_t hidden = 0; hidden < 6; ++hidden) {
      SCOPED_TRACE(testing::Message() << hidden << " hidden, " << (twice ? "twice" : "once"));
      restoreBase();
      const auto odd = std::make_shared<OddListings>(store_, hidden, twice);
      const auto log = std::make_shared<DeltaLog>(Location{odd, "/t"});
      EXPECT_EQ(log->require()->version(), small_.version);
      EXPECT_TRUE(statementNamed(statements_, "delete 2").run(log));
      TableState after = small_.state;
      statementNamed(statements_, "delete 2").apply(after);
      EXPECT_EQ(toText(stateOf(*loadSnapshot({store_, "/t"}))), toText(after));
      EXPECT_EQ(log->require()->version(), small_.version + 1);
    }
  }
}

}  // namespace
}  // namespace thalweg::delta
