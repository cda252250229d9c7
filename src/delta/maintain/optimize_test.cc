#include "delta/maintain/optimize.h"

#include "columnar/spill_file.h"
#include "delta/maintain/curve_writer.h"
#include "delta/maintain/table_for_tests.h"
#include "delta/snapshot/clustering.h"
#include "delta/snapshot/protocol_choice.h"
#include "delta/snapshot/table_features.h"

namespace thalweg::delta {
namespace {

class OptimizeTest : public TableTest {
 protected:
  using TableTest::TableTest;

  OptimizeTest() { request_.operation.name = "OPTIMIZE"; }

  OptimizeReport optimize() { return optimizeTable(log_, log_->require(), request_, 2, runTasks, nullptr); }
  std::string conditionOfOptimize() {
    try {
      optimize();
    } catch (const Error& error) {
      return error.condition();
    }
    return "";
  }
  size_t numFilesOnDisk(const std::string& folder) { return files_->list("/t/" + folder).size(); }

  OptimizeRequest request_;
};

// The numbers are Spark's for the same statements.
TEST_F(OptimizeTest, FilesOfAPartitionBecomeOneAndASecondRunDoesNothing) {
  append("a", {{1, "one"}});
  append("a", {{2, "two"}});
  append("b", {{3, "three"}});
  const auto before = rows();
  request_.selects = [](const AddFile& file) { return file.partitionValues.at("p") == "a"; };
  const OptimizeReport report = optimize();
  EXPECT_EQ(report.files.addedSizes.size(), 1u);
  EXPECT_EQ(report.files.removedSizes.size(), 2u);
  EXPECT_EQ(report.partitionsOptimized, 1);
  EXPECT_EQ(report.numConsidered, 2);
  EXPECT_EQ(rows(), before);
  const int64_t version = log_->require()->version();
  request_.selects = nullptr;
  EXPECT_EQ(optimize().files.removedSizes.size(), 0u);
  EXPECT_EQ(log_->require()->version(), version);
}

TEST_F(OptimizeTest, RowsKeepTheirOrderAndNoDataChanges) {
  for (int64_t i = 0; i < 4; ++i) append("a", {{i, std::string(static_cast<size_t>(40 - 10 * i), 'x')}});
  optimize();
  const SnapshotPtr snapshot = log_->require();
  ASSERT_EQ(snapshot->numFiles(), 1);
  const Values found = rowsOf(*snapshot, snapshot->liveFiles()[0]);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(found[static_cast<size_t>(i)].first, i);
  const HistoryEntry entry = log_->history(1).at(0);
  EXPECT_EQ(entry.isolationLevel, "SnapshotIsolation");
  EXPECT_EQ(entry.isBlindAppend, false);
  EXPECT_EQ(entry.operationMetrics.at("numRemovedFiles"), "4");
  EXPECT_EQ(entry.operationMetrics.at("numAddedFiles"), "1");
  const std::string text = files_->readAll("/t/_delta_log/00000000000000000005.json");
  EXPECT_EQ(text.find("\"dataChange\":true"), std::string::npos);
}

TEST_F(OptimizeTest, BinsStayWithinTheSizeAndLargeFilesAreLeftAlone) {
  int64_t size = 0;
  for (int64_t i = 0; i < 6; ++i) size = append("a", {{i, "row"}}).size;
  request_.maxFileBytes = 3 * size + size / 2;
  EXPECT_EQ(optimize().files.addedSizes.size(), 2u);
  request_.minFileBytes = 1;
  EXPECT_EQ(optimize().files.addedSizes.size(), 0u);
}

TEST_F(OptimizeTest, AFileOfWhichManyRowsAreDeletedIsWrittenAnewAlone) {
  Values many;
  for (int64_t i = 0; i < 100; ++i) many.emplace_back(i, "v");
  const AddFile file = append("a", many);
  deleteRows(file, {0, 1, 2});
  EXPECT_EQ(optimize().files.removedSizes.size(), 0u) << "three of a hundred";
  deleteRows(log_->require()->liveFiles()[0], {0, 1, 2, 3, 4, 5});
  const OptimizeReport report = optimize();
  EXPECT_EQ(report.files.removedSizes.size(), 1u);
  EXPECT_EQ(report.files.numVectorsRemoved, 1);
  EXPECT_EQ(report.numVectorRowsRemoved, 6);
  EXPECT_EQ(rows().at("a").size(), 94u);
}

TEST_F(OptimizeTest, PurgeTakesEveryVectorAway) {
  const AddFile first = append("a", {{1, "a"}, {2, "b"}});
  append("a", {{3, "c"}});
  const AddFile whole = append("b", {{4, "d"}});
  deleteRows(first, {0});
  deleteRows(whole, {0});
  request_.kind = OptimizeRequest::Kind::Purge;
  const OptimizeReport report = optimize();
  EXPECT_EQ(report.files.removedSizes.size(), 2u);
  EXPECT_EQ(report.files.addedSizes.size(), 1u) << "nothing is left of one of them";
  EXPECT_EQ(log_->require()->files().totals().numDeletionVectors, 0);
  EXPECT_EQ(rows().at("a").size(), 2u);
}

TEST_F(OptimizeTest, WhoAppendsMeanwhileIsNoConflict) {
  for (int64_t i = 0; i < 3; ++i) append("a", {{i, ""}});
  store_->onOpenOutput = [&] { append("a", {{99, ""}}); };
  EXPECT_EQ(optimize().files.removedSizes.size(), 3u);
  EXPECT_EQ(rows().at("a").size(), 4u);
}

TEST_F(OptimizeTest, RowsThatOthersDeleteMeanwhileAreDeletedInTheNewFile) {
  const AddFile file = append("a", {{1, ""}, {2, ""}});
  append("a", {{3, ""}});
  store_->onOpenOutput = [&] { deleteRows(file, {1}); };
  EXPECT_EQ(optimize().files.removedSizes.size(), 2u);
  EXPECT_EQ(rows().at("a"), (std::multiset<std::pair<int64_t, std::string>>{{1, ""}, {3, ""}}));
}

TEST_F(OptimizeTest, WhoRemovesAFileMeanwhileWins) {
  const AddFile file = append("a", {{1, ""}});
  append("a", {{2, ""}});
  const size_t before = numFilesOnDisk("p=a");
  store_->onOpenOutput = [&] { removeFile(file); };
  EXPECT_EQ(conditionOfOptimize(), "DELTA_CONCURRENT_DELETE_DELETE.WITHOUT_HINT");
  EXPECT_EQ(rows().at("a").size(), 1u);
  EXPECT_EQ(numFilesOnDisk("p=a"), before) << "the file that was made is gone";
}

TEST_F(OptimizeTest, RowsOfASortedFileThatOthersDeleteMeanwhileAreAConflict) {
  const AddFile file = append("a", {{1, ""}, {2, ""}});
  const size_t before = numFilesOnDisk("p=a");
  request_.kind = OptimizeRequest::Kind::Curve;
  request_.columns = {{"x"}};
  store_->onOpenOutput = [&] { deleteRows(file, {1}); };
  EXPECT_EQ(conditionOfOptimize(), "DELTA_CONCURRENT_DELETE_DELETE.WITHOUT_HINT");
  EXPECT_EQ(rows().at("a").size(), 1u);
  EXPECT_EQ(numFilesOnDisk("p=a"), before);
}

TEST_F(OptimizeTest, AFullDiskLeavesTheTableAsItWas) {
  for (int64_t i = 0; i < 3; ++i) append("a", {{i, ""}});
  for (int64_t i = 0; i < 3; ++i) append("b", {{i, ""}});
  const auto before = rows();
  for (const auto kind : {OptimizeRequest::Kind::Compact, OptimizeRequest::Kind::Curve}) {
    request_.kind = kind;
    request_.columns = {{"x"}, {"y"}};
    for (const auto operation :
         {FileOperation::OpenOutput, FileOperation::StreamClose, FileOperation::PutIfAbsent}) {
      const int64_t nth = operation == FileOperation::PutIfAbsent ? 1 : 2;
      store_->inject({.operation = operation, .call = store_->calls(operation) + nth, .errorNumber = 28});
      EXPECT_NE(conditionOfOptimize(), "");
      store_->clear();
      EXPECT_EQ(rows(), before);
      if (operation != FileOperation::PutIfAbsent) {
        EXPECT_EQ(numFilesOnDisk("p=a"), 3u);
        EXPECT_EQ(numFilesOnDisk("p=b"), 3u);
      } else {
        // The commit might have been made: its files stay until they are vacuumed.
        for (const char* folder : {"/t/p=a", "/t/p=b"}) {
          for (const FileInfo& file : files_->list(folder)) {
            bool isLive = false;
            for (const AddFile& live : log_->require()->liveFiles())
              isLive = isLive || file.path == "/t/" + live.path;
            if (!isLive) files_->remove(file.path);
          }
        }
      }
    }
  }
}

TEST_F(OptimizeTest, ColumnsThatCannotBeSortedByAreRefusedByName) {
  append("a", {{1, ""}});
  request_.kind = OptimizeRequest::Kind::Curve;
  request_.columns = {{"p"}};
  EXPECT_EQ(conditionOfOptimize(), "DELTA_ZORDERING_ON_PARTITION_COLUMN");
  request_.columns = {{"nope"}};
  EXPECT_EQ(conditionOfOptimize(), "DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST");
  setProperty("delta.dataSkippingNumIndexedCols", "1");
  request_.columns = {{"X"}, {"y"}};
  EXPECT_EQ(conditionOfOptimize(), "DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS");
  request_.columns = {{"X"}};
  EXPECT_EQ(conditionOfOptimize(), "");
  request_.columns = {{"x"}, {"y"}};
  request_.checkStatistics = false;
  EXPECT_EQ(conditionOfOptimize(), "");
}

TEST_F(OptimizeTest, SortedFilesHaveNarrowBoundsInEveryColumn) {
  // A square of 64 × 64 values, in no order.
  Values values;
  for (int64_t i = 0; i < 4096; ++i) {
    const int64_t place = (i * 1663) % 4096;
    values.emplace_back(place / 64, fmt::format("{:02}", place % 64));
  }
  int64_t bytes = 0;
  for (size_t at = 0; at < values.size(); at += 512)
    bytes += append("a", {values.begin() + static_cast<std::ptrdiff_t>(at),
                          values.begin() + static_cast<std::ptrdiff_t>(at + 512)})
                 .size;
  const auto before = rows();
  request_.kind = OptimizeRequest::Kind::Curve;
  request_.columns = {{"x"}, {"y"}};
  request_.maxFileBytes = bytes / 16;
  const OptimizeReport report = optimize();
  EXPECT_EQ(report.files.addedSizes.size(), 16u);
  EXPECT_EQ(report.otherInput.num, 8);
  EXPECT_EQ(rows(), before);
  // Sixteen squares of 16 × 16.
  const SnapshotPtr snapshot = log_->require();
  for (const AddFile& file : snapshot->liveFiles()) {
    std::set<int64_t> xs;
    std::set<std::string> ys;
    for (const auto& [x, y] : rowsOf(*snapshot, file)) {
      xs.insert(x);
      ys.insert(y);
    }
    EXPECT_EQ(xs.size(), 16u);
    EXPECT_EQ(*xs.rbegin() - *xs.begin(), 15);
    EXPECT_EQ(ys.size(), 16u);
    EXPECT_EQ(std::stoi(*ys.rbegin()) - std::stoi(*ys.begin()), 15);
  }
}

TEST_F(OptimizeTest, ASortThatGoesThroughATemporaryFileGivesTheSameRowsInOrder) {
  Values values;
  for (int64_t i = 0; i < 20'000; ++i)
    values.emplace_back((i * 7919) % 20'000, "text of row " + std::to_string(i));
  append("a", values);
  const SnapshotPtr snapshot = log_->require();
  CurveWriteOptions options;
  options.columns = {{{1}, longType()}};
  const auto sorted = [&](int64_t memoryBytes) {
    options.memoryBytes = memoryBytes;
    Values all;
    for (const AddFile& file : writeAlongCurve(*snapshot, snapshot->liveFiles(), options)) {
      for (auto& row : rowsOf(*snapshot, file)) all.push_back(std::move(row));
    }
    return all;
  };
  const Values inMemory = sorted(int64_t{1} << 30);
  const Values spilled = sorted(64 << 10);
  ASSERT_EQ(inMemory.size(), values.size());
  EXPECT_EQ(std::multiset(spilled.begin(), spilled.end()), std::multiset(inMemory.begin(), inMemory.end()));
  // Ranges of about twenty values each.
  for (const Values& found : {inMemory, spilled}) {
    int64_t most = 0;
    for (const auto& [x, y] : found) {
      EXPECT_GE(x, most - 64);
      most = std::max(most, x);
    }
  }
}

TEST(SpaceCurveTest, BitsOfTheColumnsTakeTurnsAndTheFirstColumnIsAhead) {
  arrow::Int64Builder x, y;
  for (int64_t i = 0; i < 16; ++i) {
    throwIfFailed(x.Append(i / 4));
    throwIfFailed(y.Append(i % 4));
  }
  const auto schema = arrow::schema({arrow::field("x", arrow::int64()), arrow::field("y", arrow::int64())});
  const auto rows =
      arrow::RecordBatch::Make(schema, 16, {valueOrThrow(x.Finish()), valueOrThrow(y.Finish())});
  const std::vector<CurveColumn> columns = {{{0}, longType()}, {{1}, longType()}};
  CurveSample sample(columns);
  sample.add(*rows);
  const std::vector<int64_t> order = std::move(sample).finish(columns).order(*rows);
  // Row number = 4x + y; the letter Z, four times.
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}));
}

TEST(SpaceCurveTest, TextsThatDifferLateAreToldApartAndEqualOnesStayInTheirOrder) {
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i)
    texts.push_back("https://example.org/pages/" + std::to_string(1000 + i * 7919 % 100));
  arrow::StringBuilder builder;
  for (const std::string& text : texts) throwIfFailed(builder.Append(text));
  throwIfFailed(builder.AppendNull());
  const auto rows = arrow::RecordBatch::Make(arrow::schema({arrow::field("s", arrow::utf8())}), 301,
                                             {valueOrThrow(builder.Finish())});
  const std::vector<CurveColumn> columns = {{{0}, stringType()}};
  CurveSample sample(columns);
  sample.add(*rows);
  std::vector<int64_t> expected(300);
  for (size_t i = 0; i < 300; ++i) expected[i] = static_cast<int64_t>(i);
  std::stable_sort(expected.begin(), expected.end(), [&](int64_t a, int64_t b) {
    return texts[static_cast<size_t>(a)] < texts[static_cast<size_t>(b)];
  });
  expected.insert(expected.begin(), 300);  // null comes first
  EXPECT_EQ(std::move(sample).finish(columns).order(*rows), expected);
}

TEST(SpillFileTest, GivesEachGroupItsBatchesBack) {
  const auto schema = arrow::schema({arrow::field("x", arrow::int64()), arrow::field("s", arrow::utf8())});
  const auto batch = [&](int64_t value) {
    arrow::Int64Builder x;
    arrow::StringBuilder s;
    throwIfFailed(x.Append(value));
    throwIfFailed(value % 2 ? s.AppendNull() : s.Append(std::to_string(value)));
    return arrow::RecordBatch::Make(schema, 1, {valueOrThrow(x.Finish()), valueOrThrow(s.Finish())});
  };
  SpillFile file(schema, 3);
  for (int64_t i = 0; i < 10; ++i) file.write(static_cast<int>(i % 2) * 2, *batch(i));
  EXPECT_EQ(file.numBatches(0), 5);
  EXPECT_EQ(file.numBatches(1), 0);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(file.read(2, i)->Equals(*batch(2 * i + 1)));
}

class ClusterTest : public OptimizeTest {
 protected:
  ClusterTest() : OptimizeTest(std::vector<std::string>()) {
    request_.operation.name = "OPTIMIZE";
    request_.kind = OptimizeRequest::Kind::Cluster;
    cluster({{"x"}, {"y"}});
  }
  void cluster(const std::vector<std::vector<std::string>>& columns) {
    const SnapshotPtr snapshot = log_->require();
    Transaction transaction(log_, snapshot);
    transaction.setMetadata(snapshot->metadata());
    transaction.setProtocol(
        upgradedProtocol(snapshot->protocol(), snapshot->metadata(), "t", {"clustering", "domainMetadata"}));
    transaction.setDomain(clusteringDomain(snapshot->metadata(), columns));
    transaction.setOperation({"CLUSTER BY", {}, {}, {}, {}});
    transaction.commit();
  }
};

// The numbers and tags are Spark's for the same statements.
TEST_F(ClusterTest, WhatIsNotInACubeYetJoinsTheCubesThatAreNotFull) {
  append("", {{1, "a"}});
  EXPECT_EQ(optimize().files.addedSizes.size(), 1u);
  const AddFile first = log_->require()->liveFiles()[0];
  EXPECT_EQ(first.clusteringProvider, "liquid");
  EXPECT_EQ(first.tags.at("ZCUBE_ZORDER_BY"), R"(["x","y"])");
  OptimizeReport report = optimize();
  EXPECT_EQ(report.files.addedSizes.size(), 0u) << "all is in one cube";
  EXPECT_EQ(report.cubeInput.num, 1);
  EXPECT_EQ(report.numInputCubes, 1);
  append("", {{2, "b"}});
  report = optimize();
  EXPECT_EQ(report.files.removedSizes.size(), 2u);
  EXPECT_EQ(report.otherInput.num, 1);
  EXPECT_EQ(report.cubeInput.num, 1);
  EXPECT_NE(log_->require()->liveFiles()[0].tags.at("ZCUBE_ID"), first.tags.at("ZCUBE_ID"));
  request_.full = true;
  EXPECT_EQ(optimize().files.addedSizes.size(), 0u);
  cluster({{"y"}});
  request_.full = false;
  EXPECT_EQ(optimize().files.addedSizes.size(), 0u) << "files of other clustering columns wait for FULL";
  request_.full = true;
  EXPECT_EQ(optimize().files.addedSizes.size(), 1u);
  EXPECT_EQ(log_->require()->liveFiles()[0].tags.at("ZCUBE_ZORDER_BY"), R"(["y"])");
  EXPECT_EQ(rows().at("").size(), 2u);
}

}  // namespace
}  // namespace thalweg::delta
