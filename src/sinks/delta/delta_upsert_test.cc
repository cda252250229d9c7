#include <cmath>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <utility>

#include <arrow/api.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/fault_points.h"
#include "common/testing/condition_of.h"
#include "delta/maintain/compaction.h"
#include "delta/scan/data_file_reader.h"
#include "delta/snapshot/table_features.h"
#include "sinks/delta/delta_batch_write.h"
#include "sinks/delta/delta_stream_sink.h"
#include "storage/fault_file_system.h"
#include "storage/racing_file_system.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

using nlohmann::json;
using Key = std::optional<int64_t>;
using Row = std::pair<Key, int64_t>;  // group, its count

constexpr const char* kQuery = "6f1c7a3e-0000-4000-8000-000000000001";

SchemaPtr groupsSchema() {
  return parseSchemaDdl("g BIGINT, n BIGINT");
}

std::shared_ptr<arrow::RecordBatch> batchOf(const std::vector<Row>& rows) {
  arrow::Int64Builder groups;
  arrow::Int64Builder counts;
  for (const auto& [group, count] : rows) {
    throwIfFailed(group ? groups.Append(*group) : groups.AppendNull());
    throwIfFailed(counts.Append(count));
  }
  return arrow::RecordBatch::Make(toArrowSchema(*groupsSchema()), static_cast<int64_t>(rows.size()),
                                  {valueOrThrow(groups.Finish()), valueOrThrow(counts.Finish())});
}

class DeltaUpsertTest : public testing::Test {
 protected:
  DeltaUpsertTest() : memory_(makeMemoryFileSystem()), store_(std::make_shared<RacingFileSystem>(memory_)) {
    start();
  }
  ~DeltaUpsertTest() override { armFaultPoint(""); }

  // The query's run begins: nothing is remembered.
  void start(DeltaWriteOptions options = {}, std::vector<int> keyColumns = {0}) {
    log_ = std::make_shared<delta::DeltaLog>(table());
    options.keyColumns = std::move(keyColumns);
    sink_ = std::make_unique<DeltaStreamSink>(log_, options);
  }

  Location table() const { return {store_, "/t"}; }
  // As another process has it: no hooks, a log of its own.
  std::shared_ptr<delta::DeltaLog> others() const {
    return std::make_shared<delta::DeltaLog>(Location{memory_, "/t"});
  }

  bool runBatch(int64_t id, const std::vector<std::vector<Row>>& tasks,
                const SchemaPtr& schema = groupsSchema()) {
    sink_->validate(OutputMode::Update, *schema);
    const auto write = sink_->beginBatch({id, kQuery, "run", OutputMode::Update, schema});
    if (!write) return false;
    for (size_t i = 0; i < tasks.size(); ++i) {
      const auto task = write->openTask(static_cast<int>(i));
      if (!tasks[i].empty()) task->write(batchOf(tasks[i]));
      task->close();
    }
    write->commit();
    return true;
  }
  bool runBatch(int64_t id, const std::vector<Row>& rows) {
    return runBatch(id, std::vector<std::vector<Row>>{rows});
  }

  // Makes the table as Spark's CREATE TABLE would.
  void createTable(std::map<std::string, std::string> configuration,
                   std::vector<std::string> partitionBy = {}) {
    delta::Transaction transaction(others(), nullptr);
    delta::Metadata metadata;
    metadata.schemaString =
        R"({"type":"struct","fields":[{"name":"g","type":"long","nullable":true,"metadata":{}},)"
        R"({"name":"n","type":"long","nullable":true,"metadata":{}}]})";
    metadata.configuration = std::move(configuration);
    metadata.partitionColumns = std::move(partitionBy);
    transaction.setMetadata(metadata);
    transaction.setOperation({"CREATE TABLE", {}, {}, {}});
    transaction.commit();
  }

  void appendFromElsewhere(const std::vector<Row>& rows, SaveMode mode = SaveMode::Append) {
    const auto write = beginDeltaWrite(others(), mode, groupsSchema(), {});
    const auto task = write->openTask(0);
    task->write(batchOf(rows));
    task->close();
    write->commit();
  }

  // All rows, sorted; twice the same row shows as such.
  std::vector<Row> rows() {
    const auto snapshot = others()->require();
    const auto layout = delta::makeTableLayout(snapshot->table(), snapshot->metadata(), snapshot->schema());
    std::vector<Row> result;
    for (const delta::AddFile& file : snapshot->liveFiles()) {
      delta::DataFileReadOptions options;
      options.columns = {0, 1};
      delta::DataFileReader reader(layout, file, options);
      while (const auto batch = reader.next()) {
        const auto& groups = static_cast<const arrow::Int64Array&>(*batch->column(0));
        const auto& counts = static_cast<const arrow::Int64Array&>(*batch->column(1));
        for (int64_t row = 0; row < batch->num_rows(); ++row) {
          result.emplace_back(groups.IsNull(row) ? Key() : Key(groups.Value(row)), counts.Value(row));
        }
      }
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  std::vector<json> commit(int64_t version) {
    std::vector<json> actions;
    std::istringstream lines(memory_->readAll(fmt::format("/t/_delta_log/{:020}.json", version)));
    for (std::string line; std::getline(lines, line);) actions.push_back(json::parse(line));
    return actions;
  }
  std::vector<json> actionsOf(int64_t version, const char* kind) {
    std::vector<json> found;
    for (const json& action : commit(version)) {
      if (action.contains(kind)) found.push_back(action[kind]);
    }
    return found;
  }
  int64_t version() { return others()->require()->version(); }

  // Data and vector files that the newest version does not name.
  std::vector<std::string> orphans() {
    std::set<std::string> named;
    for (const delta::AddFile& file : others()->require()->liveFiles()) named.insert(file.path);
    std::vector<std::string> left;
    for (const FileInfo& file : memory_->list("/t")) {
      if (!file.isDirectory && !named.contains(std::string(file.name()))) left.emplace_back(file.name());
    }
    return left;
  }

  std::shared_ptr<FileSystem> memory_;
  std::shared_ptr<RacingFileSystem> store_;
  std::shared_ptr<delta::DeltaLog> log_;
  std::unique_ptr<DeltaStreamSink> sink_;
};

TEST_F(DeltaUpsertTest, ATableMadeInUpdateModeTakesDeletionVectors) {
  ASSERT_TRUE(runBatch(0, {{1, 10}, {2, 20}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 10}, {2, 20}}));
  // What Spark 4.2 with Delta 4.4 writes for CREATE TABLE … TBLPROPERTIES ('delta.enableDeletionVectors' =
  // 'true').
  EXPECT_EQ(actionsOf(0, "protocol")[0],
            (json{{"minReaderVersion", 3},
                  {"minWriterVersion", 7},
                  {"readerFeatures", {"deletionVectors"}},
                  {"writerFeatures", {"appendOnly", "deletionVectors", "invariants"}}}));
  EXPECT_EQ(actionsOf(0, "metaData")[0]["configuration"], (json{{"delta.enableDeletionVectors", "true"}}));
}

TEST_F(DeltaUpsertTest, AChangedGroupTakesThePlaceOfItsEarlierRowInOneCommit) {
  ASSERT_TRUE(runBatch(0, {{1, 10}, {2, 20}, {3, 30}, {std::nullopt, 40}}));
  ASSERT_TRUE(runBatch(1, {{2, 21}, {std::nullopt, 41}, {4, 1}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{std::nullopt, 41}, {1, 10}, {2, 21}, {3, 30}, {4, 1}}));
  EXPECT_EQ(version(), 1);

  const json info = actionsOf(1, "commitInfo")[0];
  EXPECT_EQ(info["operation"], "STREAMING UPDATE");
  EXPECT_EQ(info["operationParameters"],
            (json{{"outputMode", "Update"}, {"queryId", kQuery}, {"epochId", "1"}}));
  EXPECT_EQ(info["isBlindAppend"], false);
  EXPECT_EQ(info["readVersion"], 0);
  EXPECT_EQ(info["isolationLevel"], "Serializable");
  const json& metrics = info["operationMetrics"];
  EXPECT_EQ(metrics["numOutputRows"], "3");
  EXPECT_EQ(metrics["numDeletedRows"], "2");
  EXPECT_EQ(metrics["numAddedFiles"], "1");
  EXPECT_EQ(metrics["numRemovedFiles"], "0");
  EXPECT_EQ(metrics["numDeletionVectorsAdded"], "1");
  EXPECT_EQ(metrics["numDeletionVectorsUpdated"], "0");

  // The file stays, with a vector; its removal without one is in the same commit.
  const json added = actionsOf(0, "add")[0];
  const auto adds = actionsOf(1, "add");
  const auto removes = actionsOf(1, "remove");
  ASSERT_EQ(adds.size(), 2u);
  ASSERT_EQ(removes.size(), 1u);
  EXPECT_EQ(removes[0]["path"], added["path"]);
  EXPECT_FALSE(removes[0].contains("deletionVector"));
  EXPECT_EQ(adds[0]["path"], added["path"]);
  EXPECT_EQ(adds[0]["size"], added["size"]);
  EXPECT_EQ(adds[0]["modificationTime"], added["modificationTime"]);
  EXPECT_EQ(adds[0]["dataChange"], true);
  EXPECT_EQ(adds[0]["deletionVector"]["cardinality"], 2);
  json stats = json::parse(added["stats"].get<std::string>());
  EXPECT_EQ(stats["tightBounds"], true);
  stats["tightBounds"] = false;
  EXPECT_EQ(json::parse(adds[0]["stats"].get<std::string>()), stats);
}

TEST_F(DeltaUpsertTest, AFileWithoutLiveRowsGoesWithItsVector) {
  ASSERT_TRUE(runBatch(0, {{1, 10}, {2, 20}}));
  ASSERT_TRUE(runBatch(1, {{1, 11}}));
  ASSERT_TRUE(runBatch(2, {{2, 22}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 11}, {2, 22}}));
  ASSERT_EQ(actionsOf(2, "remove").size(), 1u);
  EXPECT_EQ(actionsOf(2, "remove")[0]["deletionVector"], actionsOf(1, "add")[0]["deletionVector"]);
  EXPECT_EQ(actionsOf(2, "add").size(), 1u) << "the batch's own file";
  EXPECT_EQ(actionsOf(2, "commitInfo")[0]["operationMetrics"]["numDeletionVectorsRemoved"], "1");
}

TEST_F(DeltaUpsertTest, AVectorGrowsOverTheOneBefore) {
  ASSERT_TRUE(runBatch(0, {{1, 1}, {2, 1}, {3, 1}, {4, 1}}));
  ASSERT_TRUE(runBatch(1, {{1, 2}}));
  ASSERT_TRUE(runBatch(2, {{3, 2}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 2}, {2, 1}, {3, 2}, {4, 1}}));
  EXPECT_EQ(actionsOf(2, "add")[0]["deletionVector"]["cardinality"], 2);
  const json metrics = actionsOf(2, "commitInfo")[0]["operationMetrics"];
  EXPECT_EQ(metrics["numDeletionVectorsAdded"], "1");
  EXPECT_EQ(metrics["numDeletionVectorsUpdated"], "1");
  EXPECT_EQ(metrics["numDeletionVectorsRemoved"], "1");
}

TEST_F(DeltaUpsertTest, RowsOfSeveralTasksAreOneBatch) {
  ASSERT_TRUE(runBatch(0, {{{1, 1}, {2, 1}}, {{3, 1}}, {}}));
  ASSERT_TRUE(runBatch(1, {{{3, 2}}, {{1, 2}, {5, 2}}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 2}, {2, 1}, {3, 2}, {5, 2}}));
}

TEST_F(DeltaUpsertTest, TwoRowsOfOneGroupInABatchAreABrokenInvariant) {
  ASSERT_TRUE(runBatch(0, {{1, 1}}));
  EXPECT_EQ(conditionOf([&] {
              runBatch(1, std::vector<std::vector<Row>>{{{2, 1}}, {{2, 2}}});
            }),
            "INTERNAL_ERROR");
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 1}}));
  EXPECT_TRUE(orphans().empty());
}

TEST_F(DeltaUpsertTest, AReplayedBatchIsSkipped) {
  ASSERT_TRUE(runBatch(0, {{1, 1}}));
  ASSERT_TRUE(runBatch(1, {{1, 2}}));
  EXPECT_FALSE(runBatch(1, {{1, 2}}));
  start();
  EXPECT_FALSE(runBatch(1, {{1, 2}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 2}}));
}

TEST_F(DeltaUpsertTest, ABatchWithoutRowsIsACommitOfItsOwn) {
  ASSERT_TRUE(runBatch(0, {{1, 1}}));
  ASSERT_TRUE(runBatch(1, std::vector<Row>{}));
  EXPECT_EQ(commit(1).size(), 2u) << "commitInfo and txn";
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 1}}));
}

TEST_F(DeltaUpsertTest, ANewRunFindsTheRowsOfTheRunBefore) {
  ASSERT_TRUE(runBatch(0, {{1, 1}, {2, 1}}));
  ASSERT_TRUE(runBatch(1, {{1, 2}, {3, 1}}));
  start();
  ASSERT_TRUE(runBatch(2, {{1, 3}, {2, 2}, {3, 2}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 3}, {2, 2}, {3, 2}}));
  EXPECT_EQ(others()->require()->numFiles(), 1);
}

TEST_F(DeltaUpsertTest, AllRowsWithTheKeyGoWhoeverWroteThem) {
  ASSERT_TRUE(runBatch(0, {{1, 1}, {2, 1}}));
  appendFromElsewhere({{1, 100}, {1, 101}, {7, 100}});
  ASSERT_TRUE(runBatch(1, {{1, 2}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 2}, {2, 1}, {7, 100}}));
}

TEST_F(DeltaUpsertTest, WithoutGroupingColumnsThereIsOneGroup) {
  start({}, {});
  ASSERT_TRUE(runBatch(0, {{1, 1}}));
  ASSERT_TRUE(runBatch(1, {{2, 2}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{2, 2}}));
  appendFromElsewhere({{8, 8}, {9, 9}});
  ASSERT_TRUE(runBatch(2, std::vector<Row>{}));
  EXPECT_EQ(rows(), (std::vector<Row>{{2, 2}, {8, 8}, {9, 9}})) << "nothing changed";
  ASSERT_TRUE(runBatch(3, {{3, 3}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{3, 3}}));
}

TEST_F(DeltaUpsertTest, UpdateModeWithoutAggregationAppends) {
  log_ = std::make_shared<delta::DeltaLog>(table());
  sink_ = std::make_unique<DeltaStreamSink>(log_, DeltaWriteOptions{});
  ASSERT_TRUE(runBatch(0, {{1, 1}}));
  ASSERT_TRUE(runBatch(1, {{1, 2}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 1}, {1, 2}}));
  EXPECT_EQ(actionsOf(1, "commitInfo")[0]["isBlindAppend"], true);
  EXPECT_EQ(actionsOf(0, "protocol")[0], (json{{"minReaderVersion", 1}, {"minWriterVersion", 2}}));
}

TEST_F(DeltaUpsertTest, ATableWithoutVectorsGetsTouchedFilesRewritten) {
  createTable({});
  ASSERT_TRUE(runBatch(0, {{1, 1}, {2, 1}, {3, 1}}));
  ASSERT_TRUE(runBatch(1, {{4, 1}, {5, 1}}));
  const std::string untouched = actionsOf(2, "add")[0]["path"];
  ASSERT_TRUE(runBatch(2, {{2, 2}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 1}, {2, 2}, {3, 1}, {4, 1}, {5, 1}}));
  ASSERT_EQ(actionsOf(3, "remove").size(), 1u);
  for (const json& add : actionsOf(3, "add")) {
    EXPECT_FALSE(add.contains("deletionVector"));
    EXPECT_NE(add["path"], untouched);
  }
  const json metrics = actionsOf(3, "commitInfo")[0]["operationMetrics"];
  EXPECT_EQ(metrics["numRemovedFiles"], "1");
  EXPECT_EQ(metrics["numAddedFiles"], "2");
  EXPECT_EQ(metrics["numCopiedRows"], "2");
  EXPECT_EQ(metrics["numDeletedRows"], "1");
  ASSERT_TRUE(runBatch(3, {{1, 4}, {2, 4}, {3, 4}, {4, 4}, {5, 4}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 4}, {2, 4}, {3, 4}, {4, 4}, {5, 4}}));
  EXPECT_EQ(actionsOf(4, "add").size(), 1u);
}

TEST_F(DeltaUpsertTest, ARowMayMoveToAnotherPartition) {
  createTable({{"delta.enableDeletionVectors", "true"}}, {"n"});
  ASSERT_TRUE(runBatch(0, {{1, 1}, {2, 1}, {3, 2}}));
  ASSERT_TRUE(runBatch(1, {{1, 2}, {4, 1}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 2}, {2, 1}, {3, 2}, {4, 1}}));
}

TEST_F(DeltaUpsertTest, PartitionsOfTheKeyThatDidNotChangeAreNotRead) {
  createTable({{"delta.enableDeletionVectors", "true"}}, {"g"});
  ASSERT_TRUE(runBatch(0, {{1, 1}, {2, 1}, {std::nullopt, 1}}));
  start();
  // A file that is read at all fails.
  for (const delta::AddFile& file : others()->require()->liveFiles()) {
    if (file.partitionValues.at("g") != "2") memory_->remove("/t/" + file.path);
  }
  ASSERT_TRUE(runBatch(1, {{2, 2}}));
  EXPECT_EQ(actionsOf(2, "remove").size(), 1u);
  EXPECT_EQ(others()->require()->numFiles(), 3);
}

TEST_F(DeltaUpsertTest, FilesWhoseStatisticsExcludeTheKeysAreNotRead) {
  ASSERT_TRUE(runBatch(0, {{1, 1}, {9, 1}}));
  ASSERT_TRUE(runBatch(1, {{11, 1}, {19, 1}}));
  const std::string old = actionsOf(0, "add")[0]["path"];
  start();
  memory_->remove("/t/" + old);
  ASSERT_TRUE(runBatch(2, {{11, 2}, {15, 1}})) << "a file that is read would be missed";
  EXPECT_EQ(conditionOf([&] { runBatch(3, {{5, 1}}); }), "FAILED_READ_FILE.FILE_NOT_EXIST");
}

TEST_F(DeltaUpsertTest, OwnFilesAreNeverReadBack) {
  createTable({{"delta.enableDeletionVectors", "true"}}, {"n"});
  std::vector<Row> all;
  for (int64_t i = 0; i < 1000; ++i) all.emplace_back(i, i % 3);
  DeltaWriteOptions options;
  options.maxRecordsPerFile = 100;
  start(options);
  ASSERT_TRUE(runBatch(0, all));
  for (const delta::AddFile& file : others()->require()->liveFiles()) memory_->remove("/t/" + file.path);
  ASSERT_TRUE(runBatch(1, {{17, 0}, {400, 5}, {998, 1}}));
  int64_t deleted = 0;
  for (const json& add : actionsOf(2, "add")) {
    if (add.contains("deletionVector")) deleted += add["deletionVector"]["cardinality"].get<int64_t>();
  }
  EXPECT_EQ(deleted, 3);
}

TEST_F(DeltaUpsertTest, AnAppendOnlyTableIsRefusedAtTheStart) {
  createTable({{"delta.appendOnly", "true"}});
  EXPECT_EQ(conditionOf([&] { sink_->validate(OutputMode::Update, *groupsSchema()); }),
            "DELTA_CANNOT_MODIFY_APPEND_ONLY");
}

TEST_F(DeltaUpsertTest, AKeyOfAnotherTypeThanTheTablesIsRefusedAtTheStart) {
  createTable({});
  const auto noCast = [](const arrow::Array& array, const DataType&, const DataType&) {
    return arrow::MakeArray(array.data());
  };
  DeltaWriteOptions options;
  options.keyColumns = {0};
  DeltaWriteEngine engine;
  engine.cast = noCast;
  DeltaStreamSink sink(log_, options, engine);
  EXPECT_EQ(conditionOf([&] { sink.validate(OutputMode::Update, *parseSchemaDdl("g INT, n BIGINT")); }),
            "DELTA_FAILED_TO_MERGE_FIELDS");
  EXPECT_EQ(conditionOf([&] { sink.validate(OutputMode::Update, *parseSchemaDdl("g BIGINT, n INT")); }),
            "none");
}

// Change data files as Spark 4.2 with Delta 4.4 writes them for UPDATE and MERGE:
// _change_data/cdc-00000-<uuid>.c000…, the table's columns and _change_type.
TEST_F(DeltaUpsertTest, TheChangeFeedHasWhatLeftAndWhatCame) {
  createTable({{"delta.enableDeletionVectors", "true"}, {"delta.enableChangeDataFeed", "true"}});
  ASSERT_TRUE(runBatch(0, {{1, 1}, {2, 1}, {3, 1}}));
  EXPECT_TRUE(actionsOf(1, "cdc").empty()) << "rows that only come are read from the data file";
  appendFromElsewhere({{2, 100}});
  ASSERT_TRUE(runBatch(1, {{2, 2}, {3, 2}, {4, 2}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 1}, {2, 2}, {3, 2}, {4, 2}}));
  const auto files = actionsOf(3, "cdc");
  ASSERT_EQ(files.size(), 1u);
  const std::string path = files[0]["path"];
  EXPECT_TRUE(path.starts_with("_change_data/cdc-00000-")) << path;
  EXPECT_TRUE(path.ends_with(".c000.snappy.parquet")) << path;
  EXPECT_EQ(files[0]["dataChange"], false);
  ParquetFileReader reader(*memory_, "/t/" + path, parseSchemaDdl("g BIGINT, n BIGINT, _change_type STRING"));
  std::multiset<std::string> changes;
  while (const auto rows = reader.next().rows) {
    for (int64_t row = 0; row < rows->num_rows(); ++row) {
      std::string text;
      for (const auto& column : rows->columns())
        text += valueOrThrow(column->GetScalar(row))->ToString() + " ";
      changes.insert(text);
    }
  }
  EXPECT_EQ(changes,
            (std::multiset<std::string>{"2 1 update_preimage ", "2 100 delete ", "3 1 update_preimage ",
                                        "2 2 update_postimage ", "3 2 update_postimage ", "4 2 insert "}));
  EXPECT_EQ(actionsOf(3, "commitInfo")[0]["operationMetrics"]["numAddedChangeFiles"], "1");
}

TEST_F(DeltaUpsertTest, TheChangeFeedOfAPartitionedTableIsInFoldersOfItsPartitions) {
  createTable({{"delta.enableChangeDataFeed", "true"}}, {"n"});
  ASSERT_TRUE(runBatch(0, {{1, 1}, {2, 1}}));
  ASSERT_TRUE(runBatch(1, {{1, 2}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 2}, {2, 1}}));
  std::set<std::string> partitions;
  for (const json& file : actionsOf(2, "cdc")) {
    const std::string n = file["partitionValues"]["n"];
    EXPECT_TRUE(file["path"].get<std::string>().starts_with("_change_data/n=" + n + "/cdc-"));
    partitions.insert(n);
  }
  EXPECT_EQ(partitions, (std::set<std::string>{"1", "2"}));
}

// Another writer commits between locate and commit.

TEST_F(DeltaUpsertTest, AnAppendOfTheSameGroupMeanwhileIsReplacedToo) {
  ASSERT_TRUE(runBatch(0, {{1, 1}, {2, 1}}));
  store_->beforePut = [&] { appendFromElsewhere({{1, 100}, {3, 100}}); };
  ASSERT_TRUE(runBatch(1, {{1, 2}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 2}, {2, 1}, {3, 100}}));
  EXPECT_EQ(actionsOf(2, "commitInfo")[0]["readVersion"], 1);
}

TEST_F(DeltaUpsertTest, AnAppendThatCannotHoldTheGroupsIsPassed) {
  ASSERT_TRUE(runBatch(0, {{1, 1}, {2, 1}}));
  store_->beforePut = [&] { appendFromElsewhere({{7, 100}}); };
  ASSERT_TRUE(runBatch(1, {{1, 2}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 2}, {2, 1}, {7, 100}}));
  EXPECT_EQ(actionsOf(2, "commitInfo")[0]["readVersion"], 0) << "located once";
}

TEST_F(DeltaUpsertTest, RowsThatAnotherWriterMovedIntoALargerFileAreFoundThere) {
  for (int64_t i = 0; i < 4; ++i) ASSERT_TRUE(runBatch(i, {{i, 1}, {i + 10, 1}}));
  store_->beforePut = [&] {
    delta::CompactionRules rules;
    rules.minFiles = 2;
    ASSERT_TRUE(delta::compactSmallFiles(others(), rules));
  };
  ASSERT_TRUE(runBatch(4, {{1, 2}, {12, 2}, {20, 2}}));
  EXPECT_EQ(rows(),
            (std::vector<Row>{{0, 1}, {1, 2}, {2, 1}, {3, 1}, {10, 1}, {11, 1}, {12, 2}, {13, 1}, {20, 2}}));
  EXPECT_EQ(version(), 5);
}

TEST_F(DeltaUpsertTest, ADeleteByVectorMeanwhileIsKept) {
  ASSERT_TRUE(runBatch(0, {{1, 1}, {2, 1}, {3, 1}, {4, 1}}));
  store_->beforePut = [&] {
    // Another query upserts into the same table: deletes group 3's row of the same file.
    DeltaWriteOptions options;
    options.keyColumns = {0};
    DeltaStreamSink other(others(), options);
    const auto write = other.beginBatch({0, "another", "run", OutputMode::Update, groupsSchema()});
    const auto task = write->openTask(0);
    task->write(batchOf({{3, 300}}));
    task->close();
    write->commit();
  };
  ASSERT_TRUE(runBatch(1, {{1, 2}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 2}, {2, 1}, {3, 300}, {4, 1}}));
  EXPECT_EQ(version(), 2);
}

TEST_F(DeltaUpsertTest, AnOverwriteMeanwhileLeavesItsRowsAndOurs) {
  ASSERT_TRUE(runBatch(0, {{1, 1}, {2, 1}}));
  store_->beforePut = [&] { appendFromElsewhere({{1, 7}, {5, 7}}, SaveMode::Overwrite); };
  ASSERT_TRUE(runBatch(1, {{1, 2}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 2}, {5, 7}}));
}

TEST_F(DeltaUpsertTest, AVacuumMeanwhileIsPassed) {
  ASSERT_TRUE(runBatch(0, {{1, 1}}));
  const std::string first = actionsOf(0, "add")[0]["path"];
  ASSERT_TRUE(runBatch(1, {{1, 2}, {2, 2}}));
  store_->beforePut = [&] {
    for (const char* step : {"VACUUM START", "VACUUM END"}) {
      const auto log = others();
      delta::Transaction transaction(log, log->require());
      transaction.setOperation({step, {}, {}, {}});
      transaction.commit();
      memory_->remove("/t/" + first);
    }
  };
  ASSERT_TRUE(runBatch(2, {{1, 3}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 3}, {2, 2}}));
  EXPECT_EQ(version(), 4);
}

TEST_F(DeltaUpsertTest, ChangedMetadataEndsTheBatch) {
  ASSERT_TRUE(runBatch(0, {{1, 1}, {2, 1}}));
  store_->beforePut = [&] {
    const auto log = others();
    delta::Transaction transaction(log, log->require());
    delta::Metadata metadata = log->require()->metadata();
    metadata.configuration["delta.enableChangeDataFeed"] = "false";
    transaction.setMetadata(metadata);
    transaction.setOperation({"SET TBLPROPERTIES", {}, {}, {}});
    transaction.commit();
  };
  EXPECT_EQ(conditionOf([&] { runBatch(1, {{1, 2}}); }), "DELTA_METADATA_CHANGED");
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 1}, {2, 1}}));
  EXPECT_EQ(version(), 1);
  std::vector<std::string> left = orphans();
  EXPECT_TRUE(left.empty()) << fmt::format("{}", fmt::join(left, " "));
}

TEST_F(DeltaUpsertTest, AnotherRunOfTheQueryEndsTheBatch) {
  ASSERT_TRUE(runBatch(0, {{1, 1}}));
  store_->beforePut = [&] {
    DeltaWriteOptions options;
    options.keyColumns = {0};
    DeltaStreamSink other(others(), options);
    const auto write = other.beginBatch({1, kQuery, "other run", OutputMode::Update, groupsSchema()});
    const auto task = write->openTask(0);
    task->write(batchOf({{1, 2}}));
    task->close();
    write->commit();
  };
  EXPECT_EQ(conditionOf([&] { runBatch(1, {{1, 2}}); }), "DELTA_CONCURRENT_TRANSACTION");
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 2}}));
}

TEST_F(DeltaUpsertTest, RowsReplacedWhileTheirFilesAreMergedAreReplacedInTheResult) {
  ASSERT_TRUE(runBatch(0, {{1, 1}, {2, 1}, {3, 1}}));
  ASSERT_TRUE(runBatch(1, {{2, 2}, {11, 1}, {12, 1}}));
  ASSERT_TRUE(runBatch(2, {{21, 1}, {22, 1}}));
  const auto store = std::make_shared<RacingFileSystem>(memory_);
  const auto theirs = std::make_shared<delta::DeltaLog>(Location{store, "/t"});
  // Group 3 lies behind a row that was deleted before the merge began.
  store->beforePut = [&] { ASSERT_TRUE(runBatch(3, {{3, 4}, {12, 4}, {22, 4}})); };
  delta::CompactionRules rules;
  rules.minFiles = 2;
  const auto report = delta::compactSmallFiles(theirs, rules);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->numRemovedFiles, 3);
  EXPECT_EQ(report->numAddedFiles, 1);
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 1}, {2, 2}, {3, 4}, {11, 1}, {12, 4}, {21, 1}, {22, 4}}));
  const json merged = actionsOf(4, "add")[0];
  EXPECT_EQ(merged["dataChange"], false);
  EXPECT_EQ(merged["deletionVector"]["cardinality"], 3);
  EXPECT_EQ(json::parse(merged["stats"].get<std::string>())["tightBounds"], false);
  ASSERT_TRUE(runBatch(4, {{1, 5}, {3, 5}}));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 5}, {2, 2}, {3, 5}, {11, 1}, {12, 4}, {21, 1}, {22, 4}}));
}

TEST_F(DeltaUpsertTest, AMergeWhoseFileIsGoneGivesUp) {
  ASSERT_TRUE(runBatch(0, {{1, 1}, {2, 1}}));
  ASSERT_TRUE(runBatch(1, {{11, 1}}));
  const auto store = std::make_shared<RacingFileSystem>(memory_);
  const auto theirs = std::make_shared<delta::DeltaLog>(Location{store, "/t"});
  store->beforePut = [&] { ASSERT_TRUE(runBatch(2, {{11, 2}})); };
  delta::CompactionRules rules;
  rules.minFiles = 2;
  EXPECT_FALSE(delta::compactSmallFiles(theirs, rules));
  EXPECT_EQ(rows(), (std::vector<Row>{{1, 1}, {2, 1}, {11, 2}}));
  EXPECT_EQ(version(), 2);
}

TEST_F(DeltaUpsertTest, ALargeFileOfMostlyDeletedRowsIsWrittenAnew) {
  std::vector<Row> all;
  std::vector<Row> most;
  for (int64_t i = 0; i < 1000; ++i) all.emplace_back(i, 1);
  for (int64_t i = 0; i < 600; ++i) most.emplace_back(i, 2);
  ASSERT_TRUE(runBatch(0, all));
  ASSERT_TRUE(runBatch(1, most));
  delta::CompactionRules rules;
  rules.smallBelowBytes = 1;
  const auto report = delta::compactSmallFiles(others(), rules);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->numRemovedFiles, 1);
  EXPECT_EQ(others()->require()->files().totals().numDeletionVectors, 0);
  EXPECT_EQ(rows().size(), 1000u);
  EXPECT_FALSE(delta::compactSmallFiles(others(), rules));
}

// Crashes and lost answers.

TEST_F(DeltaUpsertTest, AFailureAtAnyPointIsMadeUpForByTheReplay) {
  for (const char* point :
       {"dataFile.before", "dataFile.during", "dataFile.after", "deletionVector.before",
        "deletionVector.after", "deltaCommit.before", "deltaCommit.temp", "deltaCommit.after"}) {
    memory_->removeTree("/t");
    start();
    std::vector<Row> first;
    std::vector<Row> second;
    for (int64_t i = 0; i < 4000; ++i) first.emplace_back(i, 1);
    // Every third row: a vector too large for the log.
    for (int64_t i = 0; i < 4000; i += 3) second.emplace_back(i, 2);
    ASSERT_TRUE(runBatch(0, first));
    armFaultPoint(std::string(point) + ":1=error");
    EXPECT_EQ(conditionOf([&] { runBatch(1, second); }), "FAULT_INJECTED") << point;
    armFaultPoint("");
    start();
    runBatch(1, second);
    const auto result = rows();
    ASSERT_EQ(result.size(), 4000u) << point;
    for (const auto& [group, count] : result) ASSERT_EQ(count, *group % 3 == 0 ? 2 : 1) << point;
    EXPECT_EQ(version(), 1) << point;
  }
}

TEST_F(DeltaUpsertTest, ACommitWhoseOutcomeIsUnknownKeepsItsFiles) {
  for (const char* vectors : {"true", "false"}) {
    memory_->removeTree("/t");
    createTable({{std::string(delta::kEnableDeletionVectors), vectors},
                 {std::string(delta::kEnableChangeDataFeed), "true"}});
    start();
    ASSERT_TRUE(runBatch(0, {{1, 10}, {2, 20}, {3, 30}}));
    store_->beforePut = [&] {
      // The put takes effect, its answer is lost, and the store does not say whether the file is there.
      store_->inject({.operation = FileOperation::PutIfAbsent,
                      .call = store_->calls(FileOperation::PutIfAbsent) + 1,
                      .afterEffect = true});
      store_->inject(
          {.operation = FileOperation::Stat, .call = store_->calls(FileOperation::Stat) + 1, .repeat = 1000});
    };
    EXPECT_EQ(conditionOf([&] { runBatch(1, {{2, 21}}); }), "STORAGE_FAILURE") << vectors;
    store_->clear();
    start();
    EXPECT_EQ(rows(), (std::vector<Row>{{1, 10}, {2, 21}, {3, 30}})) << vectors;
    for (const json& change : actionsOf(version(), "cdc"))
      EXPECT_TRUE(memory_->stat("/t/" + change["path"].get<std::string>())) << vectors;
    EXPECT_FALSE(runBatch(1, {{2, 21}})) << "the table has the batch";
  }
}

// Random batches, runs, compactions and writes of others, against a map.
TEST_F(DeltaUpsertTest, RandomBatchesAgreeWithAMap) {
  for (const bool vectors : {true, false}) {
    for (uint32_t seed = 0; seed < 2; ++seed) {
      std::minstd_rand random(seed + 1);
      memory_->removeTree("/t");
      if (!vectors) createTable({});
      DeltaWriteOptions options;
      options.maxRecordsPerFile = 40;
      start(options);
      std::map<Key, int64_t> model;
      for (int64_t batch = 0; batch < 30; ++batch) {
        std::map<Key, int64_t> changed;
        const size_t size = random() % 60;
        for (size_t i = 0; i < size; ++i) {
          const int64_t key = static_cast<int64_t>(random() % 200);
          changed[key == 0 ? Key() : Key(key)] = batch;
        }
        std::vector<std::vector<Row>> tasks(3);
        for (const auto& [key, value] : changed) {
          tasks[random() % 3].emplace_back(key, value);
          model[key] = value;
        }
        if (batch > 0 && random() % 3 == 0) {
          store_->beforePut = [&] {
            delta::CompactionRules rules;
            rules.minFiles = 2;
            delta::compactSmallFiles(others(), rules);
          };
        }
        ASSERT_TRUE(runBatch(batch, tasks));
        store_->beforePut = nullptr;
        if (random() % 10 == 0) start(options);
        std::vector<Row> expected(model.begin(), model.end());
        ASSERT_EQ(rows(), expected) << "seed " << seed << " batch " << batch;
      }
    }
  }
}

}  // namespace
}  // namespace thalweg
