#include "delta/maintain/row_tracking_start.h"

#include <nlohmann/json.hpp>

#include "common/testing/condition_of.h"
#include "delta/log/log_files.h"
#include "delta/maintain/table_for_tests.h"
#include "delta/snapshot/protocol_choice.h"
#include "delta/snapshot/table_features.h"

namespace thalweg::delta {
namespace {

using nlohmann::json;

class RowTrackingStartTest : public TableTest {
 protected:
  RowTrackingStartTest() : TableTest({}, {{"delta.enableDeletionVectors", "false"}}) {}

  // As another writer would leave the table in the midst of it.
  void addFeatureOnly() {
    const SnapshotPtr snapshot = log_->require();
    Transaction transaction(log_, snapshot);
    transaction.setProtocol(
        upgradedProtocol(snapshot->protocol(), snapshot->metadata(), "t", {"rowTracking", "domainMetadata"}));
    transaction.setOperation({"UPGRADE PROTOCOL", {}, {}, {}, {}});
    transaction.commit();
  }

  json actionOf(int64_t version, const char* kind) {
    std::istringstream lines(files_->readAll("/t/_delta_log/" + commitFileName(version)));
    for (std::string line; std::getline(lines, line);) {
      if (json::parse(line).contains(kind)) return json::parse(line)[kind];
    }
    return {};
  }
};

// Spark 4.2 with Delta 4.4 makes the same commits of ALTER TABLE … SET TBLPROPERTIES, before that of the
// property.
TEST_F(RowTrackingStartTest, FilesThatWereThereGetIdsInACommitOfTheirOwn) {
  append("", {{0, "a"}, {1, "b"}, {2, "c"}});
  append("", {{3, "d"}, {4, "e"}, {5, "f"}});
  const SnapshotPtr ready = giveRowIds(log_);
  EXPECT_EQ(ready->version(), 4);
  EXPECT_EQ(actionOf(3, "commitInfo")["operation"], "UPGRADE PROTOCOL");
  EXPECT_EQ(actionOf(3, "protocol")["minReaderVersion"], 1);
  EXPECT_TRUE(supportsFeature(ready->protocol(), "rowTracking"));
  EXPECT_TRUE(supportsFeature(ready->protocol(), "domainMetadata"));
  const json info = actionOf(4, "commitInfo");
  EXPECT_EQ(info["operation"], "ROW TRACKING BACKFILL");
  EXPECT_EQ(info["operationParameters"]["batchId"], "0");
  EXPECT_EQ(info["isBlindAppend"], false);
  EXPECT_EQ(info["isolationLevel"], "SnapshotIsolation");
  EXPECT_EQ(actionOf(4, "add")["dataChange"], false);
  std::multiset<int64_t> bases;
  for (const AddFile& file : ready->liveFiles()) {
    bases.insert(file.baseRowId.value());
    EXPECT_EQ(file.defaultRowCommitVersion, 4);
  }
  EXPECT_EQ(bases, (std::multiset<int64_t>{0, 3}));
  EXPECT_EQ(
      json::parse(actionOf(4, "domainMetadata")["configuration"].get<std::string>())["rowIdHighWaterMark"],
      5);
  EXPECT_EQ(giveRowIds(log_)->version(), 4) << "there is nothing left to do";
}

TEST_F(RowTrackingStartTest, FilesThatGoMeanwhileDoNotComeBack) {
  const AddFile goes = append("", {{0, "a"}});
  append("", {{1, "b"}});
  addFeatureOnly();
  store_->beforePut = [&] { removeFile(goes); };
  const SnapshotPtr ready = giveRowIds(log_);
  EXPECT_EQ(ready->numFiles(), 1);
  EXPECT_EQ(rows(ready)[""], (std::multiset<std::pair<int64_t, std::string>>{{1, "b"}}));
}

TEST_F(RowTrackingStartTest, AppendsThatBeganBeforeGetIdsToo) {
  AddFile late = append("", {{0, "a"}});
  late.path = "late.parquet";
  Transaction transaction(log_, log_->require());
  transaction.add(late);
  transaction.setOperation({"WRITE", {}, {}, {}, {}});
  giveRowIds(log_);
  ASSERT_TRUE(std::holds_alternative<Committed>(transaction.commit()));
  std::multiset<int64_t> bases;
  for (const AddFile& file : log_->require()->liveFiles()) bases.insert(file.baseRowId.value());
  EXPECT_EQ(bases, (std::multiset<int64_t>{0, 1}));
}

TEST_F(RowTrackingStartTest, AFileWhoseRowsAreNotCountedIsRefused) {
  AddFile file = append("", {{0, "a"}});
  file.stats.reset();
  Transaction transaction(log_, log_->require());
  transaction.add(file);
  transaction.setOperation({"WRITE", {}, {}, {}, {}});
  transaction.commit();
  EXPECT_EQ(conditionOf([&] { giveRowIds(log_); }), "DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS");
}

}  // namespace
}  // namespace thalweg::delta
