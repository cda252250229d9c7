#include "delta/modify/table_edit.h"

#include <map>
#include <set>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/testing/condition_of.h"
#include "delta/files/data_file_writer.h"
#include "delta/modify/edits_for_tests.h"
#include "delta/scan/data_file_reader.h"
#include "delta/snapshot/table_features.h"
#include "storage/fault_file_system.h"
#include "types/arrow_result.h"

namespace thalweg::delta {
namespace {

constexpr auto kSchema =
    R"({"type":"struct","fields":[{"name":"p","type":"string","nullable":true,"metadata":{}},)"
    R"({"name":"x","type":"long","nullable":true,"metadata":{}}]})";

// Tables whose rows are written anew, and with deletion vectors.
class TableEditTest : public testing::TestWithParam<bool> {
 protected:
  TableEditTest()
      : files_(std::make_shared<FaultFileSystem>(makeMemoryFileSystem())),
        log_(std::make_shared<DeltaLog>(Location{files_, "/t"})) {
    Transaction transaction(log_, nullptr);
    Metadata metadata;
    metadata.schemaString = kSchema;
    metadata.partitionColumns = {"p"};
    if (GetParam()) metadata.configuration[std::string(kEnableDeletionVectors)] = "true";
    transaction.setMetadata(metadata);
    transaction.setOperation({.name = "CREATE TABLE"});
    transaction.commit();
  }

  void append(const std::string& partition, const std::vector<int64_t>& values) {
    const SnapshotPtr snapshot = log_->require();
    const DataFileLayout layout =
        makeDataFileLayout(log_->table(), snapshot->metadata(), snapshot->protocol());
    DataFileWriter writer(layout, {{"p", partition}}, 0);
    arrow::Int64Builder builder;
    throwIfFailed(builder.AppendValues(values));
    writer.write(*arrow::RecordBatch::Make(arrow::schema({arrow::field("x", arrow::int64())}),
                                           static_cast<int64_t>(values.size()),
                                           {valueOrThrow(builder.Finish())}));
    Transaction transaction(log_, snapshot);
    transaction.add(*writer.close());
    transaction.setOperation({.name = "WRITE"});
    transaction.commit();
  }

  // Starts an edit over the newest version; `meanwhile` happens between its plan and its commit. "committed",
  // "nothing", or the conflict's condition.
  std::string edit(std::shared_ptr<RowCondition> condition, bool update,
                   const std::function<void()>& meanwhile = {}) {
    const SnapshotPtr snapshot = log_->require();
    RowEdit edit{std::move(condition), {}};
    if (update) edit.change = plusThousand;
    TableEdit work(*snapshot, std::move(edit), nullptr);
    Transaction transaction(log_, snapshot);
    const RunTasks serial = [](int count, const std::function<void(int)>& task) {
      for (int i = 0; i < count; ++i) task(i);
    };
    if (!work.run(transaction, 2, serial, 1)) return "nothing";
    if (meanwhile) meanwhile();
    transaction.setOperation({.name = update ? "UPDATE" : "DELETE"});
    const CommitOutcome outcome = work.commit(transaction);
    if (const auto* conflict = std::get_if<Conflicted>(&outcome)) return conflict->error.condition();
    metrics_ = work.metrics();
    return "committed";
  }

  std::multiset<int64_t> rows() {
    const SnapshotPtr snapshot = log_->require();
    const auto layout = makeTableLayout(snapshot->table(), snapshot->metadata(), snapshot->schema());
    DataFileReadOptions options;
    options.columns = {1};
    std::multiset<int64_t> found;
    for (const AddFile& file : snapshot->liveFiles()) {
      DataFileReader reader(layout, file, options);
      while (const auto batch = reader.next()) {
        const auto& x = static_cast<const arrow::Int64Array&>(*batch->column(0));
        for (int64_t i = 0; i < x.length(); ++i) found.insert(x.Value(i));
      }
    }
    return found;
  }

  std::shared_ptr<FaultFileSystem> files_;
  std::shared_ptr<DeltaLog> log_;
  EditMetrics metrics_;
};

INSTANTIATE_TEST_SUITE_P(VectorsOrNot, TableEditTest, testing::Bool());

TEST_P(TableEditTest, DeletedRowsGoAndNoOthers) {
  append("a", {1, 2, 3});
  append("a", {10, 11});
  EXPECT_EQ(edit(std::make_shared<OneOf>(std::set<int64_t>{2, 11}), false), "committed");
  EXPECT_EQ(rows(), (std::multiset<int64_t>{1, 3, 10}));
  EXPECT_EQ(metrics_.removal.numDeletedRows, 2);
  EXPECT_EQ(metrics_.removal.numCopiedRows, GetParam() ? 0 : 3);
  EXPECT_EQ(metrics_.removal.numDeletionVectorsAdded, GetParam() ? 2 : 0);
  // Again, over the vectors that are there; the second file loses its last row and goes.
  EXPECT_EQ(edit(std::make_shared<OneOf>(std::set<int64_t>{2, 3, 10}), false), "committed");
  EXPECT_EQ(rows(), (std::multiset<int64_t>{1}));
  EXPECT_EQ(log_->require()->numFiles(), 1);
  EXPECT_EQ(metrics_.removal.numDeletedRows, 2) << "a row is deleted once";
}

TEST_P(TableEditTest, UpdatedRowsChangeAndOthersStay) {
  append("a", {1, 2, 3});
  append("b", {2, 4});
  EXPECT_EQ(edit(std::make_shared<OneOf>(std::set<int64_t>{2, 3}), true), "committed");
  EXPECT_EQ(rows(), (std::multiset<int64_t>{1, 4, 1002, 1002, 1003}));
  EXPECT_EQ(metrics_.numTouchedRows, 3);
  EXPECT_EQ(edit(nullptr, true), "committed");
  EXPECT_EQ(rows(), (std::multiset<int64_t>{1001, 1004, 2002, 2002, 2003}));
}

TEST_P(TableEditTest, WholePartitionsGoUnread) {
  append("a", {1, 2, 3});
  append("b", {4});
  for (const FileInfo& file : files_->list("/t/p=a")) files_->remove(file.path);
  EXPECT_EQ(edit(std::make_shared<OneOf>("a"), false), "committed");
  EXPECT_EQ(rows(), (std::multiset<int64_t>{4}));
  EXPECT_EQ(metrics_.numTouchedRows, 3);
}

TEST_P(TableEditTest, NothingIsCommittedWhereNothingMatches) {
  append("a", {1, 3});
  EXPECT_EQ(edit(std::make_shared<OneOf>(std::set<int64_t>{2}), false), "nothing");
  EXPECT_EQ(edit(std::make_shared<OneOf>("z"), false), "nothing");
}

TEST_P(TableEditTest, ConflictsAreThoseOfTheProtocol) {
  append("a", {1, 2, 3});
  append("b", {50});
  const auto two = [] { return std::make_shared<OneOf>(std::set<int64_t>{2}); };
  EXPECT_EQ(edit(two(), true, [&] { append("b", {60}); }), "committed")
      << "its statistics say that it cannot match";
  append("a", {2, 5});
  EXPECT_EQ(edit(two(), true, [&] { append("b", {1, 2}); }), "DELTA_CONCURRENT_APPEND.WITHOUT_HINT");
  EXPECT_EQ(edit(std::make_shared<OneOf>("a"), false, [&] { append("b", {7}); }), "committed");
  append("a", {2, 3});
  EXPECT_EQ(edit(two(), false,
                 [&] { EXPECT_EQ(edit(std::make_shared<OneOf>(std::set<int64_t>{3}), false), "committed"); }),
            "DELTA_CONCURRENT_APPEND.WITHOUT_HINT")
      << "the winner added what is left of the file";
  EXPECT_EQ(edit(two(), false, [&] { EXPECT_EQ(edit(std::make_shared<OneOf>("a"), false), "committed"); }),
            "DELTA_CONCURRENT_DELETE_READ.WITHOUT_HINT");
}

TEST_P(TableEditTest, AnEditThatLosesLeavesNoFiles) {
  append("a", {1, 2, 3});
  std::optional<size_t> before;
  EXPECT_EQ(edit(std::make_shared<OneOf>(std::set<int64_t>{2}), true,
                 [&] {
                   append("a", {2});
                   before = files_->list("/t/p=a").size();
                 }),
            "DELTA_CONCURRENT_APPEND.WITHOUT_HINT");
  EXPECT_EQ(files_->list("/t/p=a").size(), 2u);
  EXPECT_EQ(*before, 3u) << "the changed rows' file was there";
}

// The put's answer is lost, and the store does not say whether the commit is there: it is.
TEST_P(TableEditTest, ACommitWhoseOutcomeIsUnknownKeepsItsFiles) {
  append("a", {1, 2, 3});
  for (const bool update : {false, true}) {
    const auto lose = [&] {
      files_->inject({.operation = FileOperation::PutIfAbsent,
                      .call = files_->calls(FileOperation::PutIfAbsent) + 1,
                      .afterEffect = true});
      files_->inject(
          {.operation = FileOperation::Stat, .call = files_->calls(FileOperation::Stat) + 1, .repeat = 1000});
    };
    EXPECT_EQ(
        conditionOf([&] { edit(std::make_shared<OneOf>(std::set<int64_t>{update ? 3 : 2}), update, lose); }),
        "STORAGE_FAILURE");
    files_->clear();
    log_ = std::make_shared<DeltaLog>(log_->table());
    EXPECT_EQ(rows(), update ? (std::multiset<int64_t>{1, 1003}) : (std::multiset<int64_t>{1, 3}));
  }
}

}  // namespace
}  // namespace thalweg::delta
