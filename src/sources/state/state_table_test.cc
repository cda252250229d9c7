#include "sources/state/state_table.h"

#include <filesystem>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "common/testing/condition_of.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHdfs = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider";
constexpr const char* kRocksDb = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider";

ReadDefinition definitionOf(const char* fixture, Options options = {}) {
  ReadDefinition read;
  read.paths = {
      (fs::path(THALWEG_SHARED_DIR) / "testdata" / "spark-checkpoints" / fixture / "checkpoint").string()};
  read.options = std::move(options);
  return read;
}

std::shared_ptr<Table> openState(const char* fixture, const char* provider, Options options = {},
                                 const std::string& temporaryFolder = fs::temp_directory_path().string()) {
  const auto configuration = [provider](const Location&, int64_t) {
    return std::map<std::string, std::string>{{"spark.sql.streaming.stateStore.providerClass", provider},
                                              {"spark.sql.streaming.stateStore.compression.codec", "lz4"}};
  };
  return openStateTable(definitionOf(fixture, std::move(options)), FileSystemRegistry(), configuration,
                        temporaryFolder);
}

std::shared_ptr<arrow::Table> readAll(const Table& table) {
  ReadRequest request;
  request.maxBatchRows = 7;
  for (int i = 0; i < static_cast<int>(table.schema()->fields().size()); ++i) request.columns.push_back(i);
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (const SplitPtr& split : table.planScan({})) {
    const auto reader = split->open(request);
    while (auto batch = reader->next()) batches.push_back(batch);
  }
  return arrow::Table::FromRecordBatches(batches).ValueOrDie();
}

class StateTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(fs::path(THALWEG_SHARED_DIR) / "testdata")) GTEST_SKIP() << "no shared test data";
  }
};

// Spark 4.2: printed by spark.read.format("statestore").load(…).schema and count() by batch.
TEST_F(StateTableTest, RowsAndSchemaAreThoseThatSparkShows) {
  const auto sessions = openState("session-window-rocksdb", kRocksDb);
  ASSERT_EQ(sessions->schema()->fields().size(), 3u);
  EXPECT_EQ(
      sessions->schema()->simpleString(),
      "struct<key:struct<user_id:string,sessionStartTime:timestamp>,value:struct<session_window:struct<start:"
      "timestamp,end:timestamp>,user_id:string,count:bigint,sum:double>,partition_id:int>");
  EXPECT_EQ(readAll(*sessions)->num_rows(), 5);
  EXPECT_EQ(readAll(*openState("session-window-rocksdb", kRocksDb, {{"batchId", "4"}}))->num_rows(), 16);
  EXPECT_EQ(readAll(*openState("windowed-hdfs", kHdfs, {{"batchId", "4"}}))->num_rows(), 50);
  const auto join =
      openState("join-inner-hdfs", kHdfs, {{"storeName", "left-keyWithIndexToValue"}, {"batchId", "4"}});
  EXPECT_EQ(readAll(*join)->num_rows(), 36);
}

TEST_F(StateTableTest, SnapshotsAreUnpackedInTheFolderThatIsGiven) {
  const auto table = openState("session-window-rocksdb", kRocksDb, {}, "/dev/null");
  EXPECT_EQ(conditionOf([&] { readAll(*table); }), "STORAGE_FAILURE");
}

TEST_F(StateTableTest, EachPartitionIsASplitWithItsNumber) {
  const auto table = openState("dedup-hdfs", kHdfs);
  const auto splits = table->planScan({});
  ASSERT_EQ(splits.size(), 2u);
  ReadRequest request;
  request.columns = {2};
  for (int32_t partition = 0; partition < 2; ++partition) {
    const auto batch = splits[static_cast<size_t>(partition)]->open(request)->next();
    ASSERT_TRUE(batch);
    EXPECT_EQ(static_cast<const arrow::Int32Array&>(*batch->column(0)).Value(0), partition);
  }
  request.columns = {};
  EXPECT_GT(splits[0]->open(request)->next()->num_rows(), 0) << "rows are counted without columns";
}

TEST_F(StateTableTest, WhatTheCheckpointHasNotIsSaidAsSparkSaysIt) {
  const char* fixture = "join-inner-hdfs";
  EXPECT_EQ(conditionOf([&] { openState(fixture, kHdfs); }), "STDS_FAILED_TO_READ_STATE_SCHEMA")
      << "joins have no default store";
  EXPECT_EQ(conditionOf([&] {
              openState(fixture, kHdfs, {{"operatorId", "5"}});
            }),
            "STDS_FAILED_TO_READ_STATE_SCHEMA");
  EXPECT_EQ(conditionOf([&] {
              openState(fixture, kHdfs, {{"batchId", "99"}});
            }),
            "STDS_COMMITTED_BATCH_UNAVAILABLE");
  EXPECT_EQ(conditionOf([&] {
              openState(fixture, kHdfs, {{"batchId", "-1"}});
            }),
            "STDS_INVALID_OPTION_VALUE.IS_NEGATIVE");
  EXPECT_EQ(conditionOf([&] { openState("no-such-checkpoint", kHdfs); }), "STDS_COMMITTED_BATCH_UNAVAILABLE");
  EXPECT_EQ(conditionOf([&] {
              openState(fixture, kHdfs, {{"stateVarName", "count"}});
            }),
            "UNSUPPORTED_FEATURE.THALWEG");
}

TEST_F(StateTableTest, MetadataListsOperatorsAndStores) {
  const auto table = openStateMetadataTable(definitionOf("join-inner-hdfs"), FileSystemRegistry());
  const auto rows = readAll(*table)->CombineChunksToBatch().ValueOrDie();
  ASSERT_EQ(rows->num_rows(), 4);
  EXPECT_EQ(static_cast<const arrow::StringArray&>(*rows->column(1)).GetString(0), "symmetricHashJoin");
  EXPECT_EQ(static_cast<const arrow::StringArray&>(*rows->column(2)).GetString(3),
            "right-keyWithIndexToValue");
  EXPECT_EQ(static_cast<const arrow::Int32Array&>(*rows->column(3)).Value(0), 2);
  EXPECT_EQ(static_cast<const arrow::Int64Array&>(*rows->column(4)).Value(0), 0);
  EXPECT_EQ(static_cast<const arrow::Int64Array&>(*rows->column(5)).Value(0), 7);
  EXPECT_TRUE(rows->column(6)->IsNull(0));
}

}  // namespace
}  // namespace thalweg
