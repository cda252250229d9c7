#include "delta/maintain/compaction.h"

#include <map>
#include <set>
#include <sstream>
#include <utility>

#include <arrow/api.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "delta/commit/transaction.h"
#include "delta/files/data_file_writer.h"
#include "delta/log/log_files.h"
#include "delta/scan/data_file_reader.h"
#include "storage/racing_file_system.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg::delta {
namespace {

using nlohmann::json;

constexpr auto kSchema =
    R"({"type":"struct","fields":[{"name":"p","type":"string","nullable":true,"metadata":{}},)"
    R"({"name":"x","type":"long","nullable":true,"metadata":{}}]})";

class CompactionTest : public testing::Test {
 protected:
  CompactionTest()
      : files_(makeMemoryFileSystem()),
        store_(std::make_shared<RacingFileSystem>(files_)),
        log_(std::make_shared<DeltaLog>(Location{store_, "/t"})) {
    Transaction transaction(log_, nullptr);
    Metadata metadata;
    metadata.schemaString = kSchema;
    metadata.partitionColumns = {"p"};
    transaction.setMetadata(metadata);
    transaction.setOperation({"CREATE TABLE", {}, {}, {}});
    transaction.commit();
    rules_.minFiles = 3;
  }

  // One commit with one file of these rows.
  AddFile append(const std::string& partition, const std::vector<int64_t>& values) {
    const SnapshotPtr snapshot = log_->require();
    const DataFileLayout layout = makeDataFileLayout(log_->table(), snapshot->metadata(), snapshot->protocol());
    DataFileWriter writer(layout, {{"p", partition}}, 0);
    arrow::Int64Builder builder;
    throwIfFailed(builder.AppendValues(values));
    const auto schema = arrow::schema({arrow::field("x", arrow::int64())});
    const auto numRows = static_cast<int64_t>(values.size());
    writer.write(*arrow::RecordBatch::Make(schema, numRows, {valueOrThrow(builder.Finish())}));
    const AddFile file = *writer.close();
    Transaction transaction(log_, snapshot);
    transaction.add(file);
    transaction.setOperation({"WRITE", {}, {}, {}});
    transaction.commit();
    return file;
  }

  // The values of each partition, in the order of the files and rows.
  std::map<std::string, std::vector<int64_t>> rows() {
    const SnapshotPtr snapshot = log_->require();
    const auto layout = makeTableLayout(snapshot->table(), snapshot->metadata(), snapshot->schema());
    std::map<std::string, std::vector<int64_t>> result;
    for (const AddFile& file : snapshot->liveFiles()) {
      DataFileReadOptions options;
      options.columns = {1};
      DataFileReader reader(layout, file, options);
      while (const auto batch = reader.next()) {
        const auto& values = static_cast<const arrow::Int64Array&>(*batch->column(0));
        for (int64_t i = 0; i < values.length(); ++i) result[*file.partitionValues.at("p")].push_back(values.Value(i));
      }
    }
    return result;
  }

  std::vector<json> commit(int64_t version) {
    std::vector<json> actions;
    std::istringstream text(files_->readAll("/t/_delta_log/" + commitFileName(version)));
    for (std::string line; std::getline(text, line);) actions.push_back(json::parse(line));
    return actions;
  }

  std::shared_ptr<FileSystem> files_;
  std::shared_ptr<RacingFileSystem> store_;
  std::shared_ptr<DeltaLog> log_;
  CompactionRules rules_;
};

TEST_F(CompactionTest, MergesEachPartitionsSmallFilesAndKeepsTheirRowsInOrder) {
  for (int64_t i = 0; i < 3; ++i) {
    append("a", {i, i + 10});
    append("b", {i + 100});
  }
  append("c", {7});
  const auto before = rows();
  const auto report = compactSmallFiles(log_, rules_);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->numRemovedFiles, 6);
  EXPECT_EQ(report->numAddedFiles, 2);
  EXPECT_EQ(log_->require()->numFiles(), 3) << "c has too few";
  EXPECT_EQ(rows(), before);
  EXPECT_EQ(before.at("a"), (std::vector<int64_t>{0, 10, 1, 11, 2, 12}));
  EXPECT_FALSE(compactSmallFiles(log_, rules_)) << "nothing is left to do";
}

TEST_F(CompactionTest, TheCommitChangesNoDataAndSaysWhatItDid) {
  for (int64_t i = 0; i < 3; ++i) append("a", {i});
  const auto report = compactSmallFiles(log_, rules_);
  int adds = 0, removes = 0;
  for (const json& action : commit(report->version)) {
    if (action.contains("add")) {
      ++adds;
      EXPECT_FALSE(action["add"]["dataChange"].get<bool>());
      EXPECT_EQ(json::parse(action["add"]["stats"].get<std::string>())["numRecords"], 3);
      EXPECT_EQ(action["add"]["partitionValues"]["p"], "a");
    } else if (action.contains("remove")) {
      ++removes;
      EXPECT_FALSE(action["remove"]["dataChange"].get<bool>());
    } else {
      const json& info = action["commitInfo"];
      EXPECT_EQ(info["operation"], "OPTIMIZE");
      EXPECT_EQ(info["isolationLevel"], "SnapshotIsolation");
      EXPECT_EQ(info["operationParameters"]["auto"], true);
      EXPECT_EQ(info["operationMetrics"]["numRemovedFiles"], "3");
      EXPECT_EQ(info["operationMetrics"]["numAddedFiles"], "1");
    }
  }
  EXPECT_EQ(adds, 1);
  EXPECT_EQ(removes, 3);
}

TEST_F(CompactionTest, LeavesLargeFilesAndOtherSizeClassesAlone) {
  std::vector<int64_t> many(20'000);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int64_t>(i * 2654435761u);
  append("a", many);
  append("a", {1});
  append("a", {2});
  EXPECT_TRUE(chooseSmallFiles(*log_->require(), rules_).empty()) << "two of one class and one of another";
  append("a", {3});
  const auto bins = chooseSmallFiles(*log_->require(), rules_);
  ASSERT_EQ(bins.size(), 1u);
  EXPECT_EQ(bins[0].size(), 3u);
  rules_.smallBelowBytes = 10;
  EXPECT_TRUE(chooseSmallFiles(*log_->require(), rules_).empty()) << "none counts as small";
}

TEST_F(CompactionTest, FilesMadeStayBelowTheTarget) {
  int64_t size = 0;
  for (int64_t i = 0; i < 6; ++i) size = append("a", {i}).size;
  rules_.targetBytes = 3 * size + size / 2;
  const auto bins = chooseSmallFiles(*log_->require(), rules_);
  ASSERT_EQ(bins.size(), 2u);
  EXPECT_EQ(bins[0].size(), 3u);
  EXPECT_EQ(bins[1].size(), 3u);
}

TEST_F(CompactionTest, WhoRemovesAFileMeanwhileWinsAndNothingIsLeftBehind) {
  std::vector<AddFile> added;
  for (int64_t i = 0; i < 3; ++i) added.push_back(append("a", {i}));
  const size_t filesBefore = files_->list("/t/p=a").size();
  store_->onOpenOutput = [&] {
    const auto other = std::make_shared<DeltaLog>(Location{files_, "/t"});
    Transaction transaction(other, other->require());
    transaction.readFile(added[1]);
    transaction.remove(removalOf(added[1], 1));
    transaction.setOperation({"DELETE", {}, {}, {}});
    ASSERT_TRUE(std::holds_alternative<Committed>(transaction.commit()));
  };
  EXPECT_FALSE(compactSmallFiles(log_, rules_));
  EXPECT_EQ(rows().at("a"), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(files_->list("/t/p=a").size(), filesBefore) << "the merged file is gone";
}

TEST_F(CompactionTest, WhoAppendsMeanwhileLosesNothing) {
  for (int64_t i = 0; i < 3; ++i) append("a", {i});
  store_->onOpenOutput = [&] { append("a", {99}); };
  EXPECT_TRUE(compactSmallFiles(log_, rules_));
  EXPECT_EQ(log_->require()->numFiles(), 2);
  EXPECT_EQ(rows().at("a").size(), 4u);
}

// The commit is in the log, but nothing more can be learned of it: its files must stay.
TEST_F(CompactionTest, ACommitWhoseAnswerIsLostKeepsItsFiles) {
  for (int64_t i = 0; i < 3; ++i) append("a", {i});
  const auto before = rows();
  store_->inject({.operation = FileOperation::PutIfAbsent, .call = store_->calls(FileOperation::PutIfAbsent) + 1, .afterEffect = true});
  store_->afterPut = [&] {
    store_->inject({.operation = FileOperation::Read, .call = store_->calls(FileOperation::Read) + 1, .repeat = 100});
    store_->inject({.operation = FileOperation::Stat, .call = store_->calls(FileOperation::Stat) + 1, .repeat = 100});
  };
  try {
    compactSmallFiles(log_, rules_);
  } catch (const Error&) {
  }
  store_->clear();
  log_ = std::make_shared<DeltaLog>(Location{files_, "/t"});
  EXPECT_EQ(log_->require()->numFiles(), 1) << "the merge was committed";
  EXPECT_EQ(rows(), before);
}

TEST_F(CompactionTest, AFailingStoreLeavesTheTableAsItWas) {
  for (int64_t i = 0; i < 3; ++i) append("a", {i});
  const auto before = rows();
  store_->inject({.operation = FileOperation::PutIfAbsent, .call = store_->calls(FileOperation::PutIfAbsent) + 1, .errorNumber = 28});
  EXPECT_THROW(compactSmallFiles(log_, rules_), Error);
  store_->clear();
  EXPECT_EQ(rows(), before);
}

TEST_F(CompactionTest, AMergeThatFailsBeforeItsCommitLeavesNoFile) {
  for (int64_t i = 0; i < 3; ++i) append("a", {i});
  for (int64_t i = 0; i < 3; ++i) append("b", {i});
  const auto before = rows();
  // The second partition's file cannot be made.
  store_->inject({.operation = FileOperation::OpenOutput, .call = store_->calls(FileOperation::OpenOutput) + 2, .errorNumber = 28});
  EXPECT_THROW(compactSmallFiles(log_, rules_), Error);
  store_->clear();
  EXPECT_EQ(rows(), before);
  EXPECT_EQ(files_->list("/t/p=a").size(), 3u);
}

TEST_F(CompactionTest, ATableThatSwitchedItOffIsLeftAlone) {
  for (int64_t i = 0; i < 31; ++i) append("a", {i});
  const auto before = log_->require();
  Transaction transaction(log_, before);
  Metadata metadata = before->metadata();
  metadata.configuration["delta.autoOptimize.autoCompact"] = "false";
  transaction.setMetadata(metadata);
  transaction.setOperation({"SET TBLPROPERTIES", {}, {}, {}});
  transaction.commit();
  for (int64_t i = 0; i < 32; ++i) {
    append("a", {i});
    compactSoon(log_, log_->require());
  }
  EXPECT_EQ(log_->require()->numFiles(), 63);
}

TEST_F(CompactionTest, BehindAStreamOfCommitsTheNumberOfFilesStaysSmall) {
  std::set<int64_t> expected;
  for (int64_t i = 0; i < 300; ++i) {
    append("a", {i});
    expected.insert(i);
    compactSoon(log_, log_->require());
  }
  EXPECT_LT(log_->require()->numFiles(), 64);
  const auto values = rows().at("a");
  EXPECT_EQ(values.size(), 300u);
  EXPECT_EQ(std::set<int64_t>(values.begin(), values.end()), expected);
}

}  // namespace
}  // namespace thalweg::delta
