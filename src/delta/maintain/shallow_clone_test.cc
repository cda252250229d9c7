// A shallow clone: a table whose log names another one's files by whole addresses. What is written to it lies
// in its own folder, and the other table stays as it is.
#include "delta/maintain/optimize.h"
#include "delta/maintain/restore.h"
#include "delta/maintain/table_for_tests.h"
#include "delta/maintain/vacuum.h"
#include "delta/modify/edits_for_tests.h"
#include "delta/modify/table_edit.h"
#include "delta/scan/vector_files.h"
#include "storage/address_access.h"

namespace thalweg::delta {
namespace {

// A store from which all of it can be reached by address, or nothing outside of a table.
class OpenStore final : public FaultFileSystem, public AddressAccess {
 public:
  explicit OpenStore(std::shared_ptr<FileSystem> store) : FaultFileSystem(store), store_(std::move(store)) {}
  bool isOpen = true;

  Location resolve(std::string_view address) override {
    if (!isOpen || !address.starts_with("memory:"))
      throw Error("PATH_NOT_ALLOWED", "not here", {{"path", std::string(address)}});
    return {store_, std::string(address.substr(7))};
  }

 private:
  std::shared_ptr<FileSystem> store_;
};

// With vectors and without. The table at /t has the rows 1 to 3 of partition a in two files; /clone names
// them.
class ShallowCloneTest : public TableTest, public testing::WithParamInterface<bool> {
 protected:
  ShallowCloneTest()
      : TableTest({"p"}, {{"delta.enableDeletionVectors", GetParam() ? "true" : "false"}}),
        original_(log_),
        open_(std::make_shared<OpenStore>(files_)) {
    append("a", {{1, "one"}, {2, "two"}});
    append("a", {{3, "three"}});
    cloneTo("/clone");
  }

  // log_ is the clone's then.
  void cloneTo(const std::string& path) {
    const SnapshotPtr source = original_->require();
    log_ = std::make_shared<DeltaLog>(Location{open_, path}, clock_);
    Transaction transaction(log_, nullptr);
    transaction.setProtocol(source->protocol());
    transaction.setMetadata(source->metadata());
    for (AddFile file : source->liveFiles()) {
      file.path = "memory:/t/" + file.path;
      file.dataChange = true;
      if (file.deletionVector) {
        const std::string vector = relativeVectorPath(file.deletionVector->pathOrInlineDv);
        file.deletionVector->storageType = "p";
        file.deletionVector->pathOrInlineDv = "memory:/t/" + vector;
        vectors_.push_back("/t/" + vector);
      }
      transaction.add(file);
    }
    transaction.setOperation({"CLONE", {}, {}, {}, {}});
    EXPECT_TRUE(std::holds_alternative<Committed>(transaction.commit()));
    before_ = rows(source);
  }

  // The original has its rows, and their files are there.
  void checkOriginal() { EXPECT_EQ(rows(original_->require()), before_); }

  std::string edit(std::set<int64_t> values, bool update) {
    const SnapshotPtr snapshot = log_->require();
    RowEdit edit{std::make_shared<OneOf>(std::move(values)), {}};
    if (update) edit.change = plusThousand;
    TableEdit work(*snapshot, std::move(edit), nullptr);
    Transaction transaction(log_, snapshot);
    if (!work.run(transaction, 2, runTasks, 1)) return "nothing";
    transaction.setOperation({.name = "EDIT"});
    return std::holds_alternative<Committed>(work.commit(transaction)) ? "committed" : "conflict";
  }

  void removeOwn(const AddFile& file) {
    Transaction transaction(log_, log_->require());
    transaction.readFile(file);
    transaction.remove(removalOf(file, clock_.nowMillis()));
    transaction.setOperation({"DELETE", {}, {}, {}, {}});
    EXPECT_TRUE(std::holds_alternative<Committed>(transaction.commit()));
  }

  std::set<int64_t> numbers() {
    std::set<int64_t> numbers;
    for (const auto& [partition, found] : rows()) {
      for (const auto& row : found) numbers.insert(row.first);
    }
    return numbers;
  }

  std::shared_ptr<DeltaLog> original_;
  std::shared_ptr<OpenStore> open_;
  std::map<std::string, std::multiset<std::pair<int64_t, std::string>>> before_;
  std::vector<std::string> vectors_;  // files of the original that the clone names
};

INSTANTIATE_TEST_SUITE_P(VectorsOrNot, ShallowCloneTest, testing::Bool());

TEST_P(ShallowCloneTest, RowsAreDeletedAndChanged) {
  EXPECT_EQ(edit({1}, false), "committed");
  EXPECT_EQ(numbers(), (std::set<int64_t>{2, 3}));
  EXPECT_EQ(edit({3}, true), "committed");
  EXPECT_EQ(numbers(), (std::set<int64_t>{2, 1003}));
  checkOriginal();
}

TEST_P(ShallowCloneTest, FilesAreMergedAndSorted) {
  EXPECT_EQ(edit({2}, false), "committed");
  OptimizeRequest request;
  request.operation.name = "OPTIMIZE";
  EXPECT_EQ(optimizeTable(log_, log_->require(), request, 2, runTasks, nullptr).files.removedSizes.size(),
            2u);
  const auto files = log_->require()->liveFiles();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_FALSE(files[0].path.starts_with("memory:"));
  EXPECT_EQ(numbers(), (std::set<int64_t>{1, 3}));
  request.kind = OptimizeRequest::Kind::Curve;
  request.columns = {{"x"}};
  EXPECT_EQ(optimizeTable(log_, log_->require(), request, 2, runTasks, nullptr).files.addedSizes.size(), 1u);
  EXPECT_EQ(numbers(), (std::set<int64_t>{1, 3}));
  checkOriginal();
}

TEST_P(ShallowCloneTest, AnEarlierVersionComesBack) {
  EXPECT_EQ(edit({1, 2, 3}, false), "committed");
  RestoreRequest request;
  request.version = 0;
  EXPECT_EQ(restoreTable(log_, request, runTasks, nullptr).numOfFilesAfterRestore, 2);
  EXPECT_EQ(numbers(), (std::set<int64_t>{1, 2, 3}));
  checkOriginal();
}

TEST_P(ShallowCloneTest, VectorsOfTheOtherTableAreReadAndStay) {
  if (!GetParam()) GTEST_SKIP() << "there are none";
  log_ = original_;
  ASSERT_EQ(edit({1}, false), "committed");
  cloneTo("/second");
  ASSERT_EQ(vectors_.size(), 1u);
  EXPECT_EQ(numbers(), (std::set<int64_t>{2, 3}));
  EXPECT_EQ(edit({2}, false), "committed");
  EXPECT_EQ(numbers(), (std::set<int64_t>{3}));
  clock_.laterMs = 8LL * 24 * 3600 * 1000;
  vacuumTable(log_, {}, nullptr);
  RestoreRequest request;
  request.version = 0;
  restoreTable(log_, request, runTasks, nullptr);
  EXPECT_EQ(numbers(), (std::set<int64_t>{2, 3}));
  checkOriginal();
  ASSERT_EQ(edit({2, 3}, false), "committed");
  files_->remove(vectors_[0]);
  try {
    restoreTable(log_, request, runTasks, nullptr);
    FAIL() << "a file whose vector is gone is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.condition(), "DELTA_FILE_NOT_FOUND");
  }
}

// VACUUM takes what lies in the table's own folder and nothing else, however old.
TEST_P(ShallowCloneTest, VacuumLeavesTheOtherTablesFiles) {
  EXPECT_EQ(edit({1, 2, 3}, false), "committed");
  const AddFile own = append("a", {{9, "nine"}});
  removeOwn(own);
  clock_.laterMs = 30LL * 24 * 3600 * 1000;
  for (const bool lite : {true, false}) {
    log_ = std::make_shared<DeltaLog>(Location{open_, "/clone"}, clock_);
    VacuumRequest request;
    request.lite = lite;
    vacuumTable(log_, request, nullptr);
    checkOriginal();
  }
  EXPECT_FALSE(files_->stat("/clone/" + own.path)) << "its own go";
}

TEST_P(ShallowCloneTest, AFileThatMayNotBeReachedIsNamedAndNothingIsWritten) {
  open_->isOpen = false;
  const int64_t version = log_->require()->version();
  try {
    edit({1}, false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.condition(), "PATH_NOT_ALLOWED");
  }
  EXPECT_EQ(log_->require()->version(), version);
}

}  // namespace
}  // namespace thalweg::delta
