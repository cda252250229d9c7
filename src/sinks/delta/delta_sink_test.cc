#include <cerrno>
#include <sstream>

#include <arrow/api.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/fault_points.h"
#include "common/testing/condition_of.h"
#include "delta/files/expression_evaluator.h"
#include "delta/maintain/auto_compaction.h"
#include "delta/modify/row_condition.h"
#include "delta/scan/data_file_reader.h"
#include "delta/snapshot/clustering.h"
#include "sinks/delta/delta_batch_write.h"
#include "sinks/delta/delta_stream_sink.h"
#include "storage/racing_file_system.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/ddl.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

using nlohmann::json;
using Row = std::pair<std::optional<int64_t>, std::optional<std::string>>;

constexpr const char* kQuery = "6f1c7a3e-0000-4000-8000-000000000001";

SchemaPtr idAndName() {
  return parseSchemaDdl("id BIGINT, name STRING");
}

std::shared_ptr<arrow::RecordBatch> batchOf(const std::vector<Row>& rows,
                                            const SchemaPtr& schema = idAndName()) {
  arrow::Int64Builder ids;
  arrow::StringBuilder names;
  for (const auto& [id, name] : rows) {
    EXPECT_TRUE((id ? ids.Append(*id) : ids.AppendNull()).ok());
    EXPECT_TRUE((name ? names.Append(*name) : names.AppendNull()).ok());
  }
  return arrow::RecordBatch::Make(toArrowSchema(*schema), static_cast<int64_t>(rows.size()),
                                  {*ids.Finish(), *names.Finish()});
}

class DeltaSinkTest : public testing::Test {
 protected:
  DeltaSinkTest() : store_(std::make_shared<RacingFileSystem>(makeMemoryFileSystem())), table_{store_, "/t"} {
    log_ = std::make_shared<delta::DeltaLog>(table_);
  }
  ~DeltaSinkTest() override { armFaultPoint(""); }

  bool runBatch(int64_t id, const std::vector<Row>& rows, OutputMode mode = OutputMode::Append,
                DeltaWriteOptions options = {}, const SchemaPtr& schema = idAndName()) {
    DeltaStreamSink sink(log_, std::move(options));
    sink.validate(mode, *schema);
    const auto write = sink.beginBatch({id, kQuery, "run", mode, schema});
    if (!write) return false;
    const auto task = write->openTask(0);
    if (!rows.empty()) task->write(batchOf(rows, schema));
    task->close();
    write->commit();
    return true;
  }

  // All rows as texts "id/name", sorted.
  std::vector<std::string> rows() {
    const auto snapshot = delta::DeltaLog(table_).require();
    const auto layout = delta::makeTableLayout(table_, snapshot->metadata(), snapshot->schema());
    std::vector<std::string> texts;
    for (const delta::AddFile& file : snapshot->liveFiles()) {
      delta::DataFileReadOptions options;
      for (size_t i = 0; i < snapshot->schema()->fields().size(); ++i)
        options.columns.push_back(static_cast<int>(i));
      delta::DataFileReader reader(layout, file, options);
      while (const auto batch = reader.next()) {
        for (int64_t row = 0; row < batch->num_rows(); ++row) {
          std::string text;
          for (const auto& column : batch->columns())
            text += (text.empty() ? "" : "/") + (*column->GetScalar(row))->ToString();
          texts.push_back(text);
        }
      }
    }
    std::sort(texts.begin(), texts.end());
    return texts;
  }

  std::vector<json> commit(int64_t version) {
    std::vector<json> actions;
    std::istringstream lines(store_->readAll(fmt::format("/t/_delta_log/{:020}.json", version)));
    for (std::string line; std::getline(lines, line);) actions.push_back(json::parse(line));
    return actions;
  }

  // The next put takes effect and its answer is lost; the store does not say whether the file is there
  // either.
  void loseTheNextCommit() {
    store_->beforePut = [this] {
      store_->inject({.operation = FileOperation::PutIfAbsent,
                      .call = store_->calls(FileOperation::PutIfAbsent) + 1,
                      .afterEffect = true});
      store_->inject(
          {.operation = FileOperation::Stat, .call = store_->calls(FileOperation::Stat) + 1, .repeat = 1000});
    };
  }

  int64_t version() { return delta::DeltaLog(table_).require()->version(); }

  std::shared_ptr<RacingFileSystem> store_;
  Location table_;
  std::shared_ptr<delta::DeltaLog> log_;
};

TEST_F(DeltaSinkTest, TheFirstBatchMakesTheTable) {
  ASSERT_TRUE(runBatch(0, {{1, "a"}, {2, std::nullopt}}));
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a", "2/null"}));
  const auto actions = commit(0);
  const json& info = actions[0]["commitInfo"];
  EXPECT_EQ(info["operation"], "STREAMING UPDATE");
  EXPECT_EQ(info["operationParameters"],
            (json{{"outputMode", "Append"}, {"queryId", kQuery}, {"epochId", "0"}}));
  EXPECT_EQ(info["operationMetrics"]["numAddedFiles"], "1");
  EXPECT_EQ(info["operationMetrics"]["numRemovedFiles"], "0");
  EXPECT_EQ(info["operationMetrics"]["numOutputRows"], "2");
  EXPECT_EQ(info["isBlindAppend"], true);
  EXPECT_EQ(actions[2]["protocol"], (json{{"minReaderVersion", 1}, {"minWriterVersion", 2}}));
  EXPECT_EQ(actions[3]["txn"]["appId"], kQuery);
  EXPECT_EQ(actions[3]["txn"]["version"], 0);
  EXPECT_EQ(
      actions[4]["add"]["stats"].get<std::string>(),
      R"({"numRecords":2,"minValues":{"id":1,"name":"a"},"maxValues":{"id":2,"name":"a"},"nullCount":{"id":0,"name":1}})");
}

TEST_F(DeltaSinkTest, AReplayedBatchIsSkipped) {
  ASSERT_TRUE(runBatch(0, {{1, "a"}}));
  ASSERT_TRUE(runBatch(1, {{2, "b"}}));
  EXPECT_FALSE(runBatch(1, {{2, "b"}}));
  log_ = std::make_shared<delta::DeltaLog>(table_);
  EXPECT_FALSE(runBatch(1, {{2, "b"}}));
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a", "2/b"}));
}

TEST_F(DeltaSinkTest, ABatchBeforeTheTablesLastIsRefused) {
  ASSERT_TRUE(runBatch(0, {{1, "a"}}));
  ASSERT_TRUE(runBatch(1, {{2, "b"}}));
  EXPECT_EQ(conditionOf([&] { runBatch(0, {{3, "c"}}); }), "STREAMING_CHECKPOINT_BEHIND_SINK");
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a", "2/b"}));
}

// A checkpoint that lost its last batch plans that batch again, over other records.
TEST_F(DeltaSinkTest, ANewBatchOfAnIdThatTheTableHasIsRefused) {
  ASSERT_TRUE(runBatch(0, {{1, "a"}}));
  DeltaStreamSink sink(log_, {});
  sink.validate(OutputMode::Append, *idAndName());
  EXPECT_EQ(conditionOf([&] {
              sink.beginBatch({0, kQuery, "run", OutputMode::Append, idAndName(), /*replayed=*/false});
            }),
            "STREAMING_CHECKPOINT_BEHIND_SINK");
}

// The question that comes before a batch is durable, at every start.
TEST_F(DeltaSinkTest, ABatchThatTheTableHasIsNotPlannedAgain) {
  ASSERT_TRUE(runBatch(0, {{1, "a"}}));
  ASSERT_TRUE(runBatch(1, {{2, "b"}}));
  const auto ask = [&](int64_t id, const std::string& query) {
    DeltaStreamSink sink(log_, {});
    sink.validate(OutputMode::Append, *idAndName());
    return conditionOf([&] {
      sink.checkUnwritten({id, query, "run", OutputMode::Append, idAndName(), /*replayed=*/false});
    });
  };
  for (int start = 0; start < 2; ++start) {
    EXPECT_EQ(ask(0, kQuery), "STREAMING_CHECKPOINT_BEHIND_SINK");
    EXPECT_EQ(ask(1, kQuery), "STREAMING_CHECKPOINT_BEHIND_SINK");
    EXPECT_EQ(ask(2, kQuery), "none");
    EXPECT_EQ(ask(0, "another query"), "none");
  }
  EXPECT_FALSE(runBatch(1, {{2, "b"}})) << "one that was planned before is a replay";
}

// Of all that is written, as Spark: the writer's own option comes before the session's setting.
TEST_F(DeltaSinkTest, FilesEndAtTheirNumberOfRowsByOptionThenSetting) {
  const auto filesOf = [&](const Options& options) {
    const auto write =
        beginDeltaWrite(log_, SaveMode::Overwrite, idAndName(), DeltaWriteOptions::parse(options, {}));
    const auto task = write->openTask(0);
    task->write(batchOf({{1, "a"}, {2, "a"}, {3, "a"}, {4, "a"}, {5, "a"}}));
    task->close();
    write->commit();
    return log_->update()->liveFiles().size();
  };
  EXPECT_EQ(filesOf({{"spark.sql.files.maxRecordsPerFile", "2"}}), 3u);
  EXPECT_EQ(filesOf({{"maxRecordsPerFile", "3"}, {"spark.sql.files.maxRecordsPerFile", "2"}}), 2u);
  EXPECT_EQ(filesOf({{"maxRecordsPerFile", "0"}, {"spark.sql.files.maxRecordsPerFile", "2"}}), 1u);
}

TEST_F(DeltaSinkTest, ABatchWithoutRowsIsACommitOfItsOwn) {
  ASSERT_TRUE(runBatch(0, {{1, "a"}}));
  ASSERT_TRUE(runBatch(1, {}));
  EXPECT_EQ(version(), 1);
  EXPECT_EQ(commit(1).size(), 2u) << "commitInfo and txn";
  EXPECT_FALSE(runBatch(1, {{9, "z"}}));
}

TEST_F(DeltaSinkTest, CompleteModeReplacesAllRowsInOneCommit) {
  ASSERT_TRUE(runBatch(0, {{1, "a"}}, OutputMode::Complete));
  ASSERT_TRUE(runBatch(1, {{1, "b"}, {2, "c"}}, OutputMode::Complete));
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/b", "2/c"}));
  const auto actions = commit(1);
  EXPECT_EQ(actions[0]["commitInfo"]["operationMetrics"]["numRemovedFiles"], "1");
  EXPECT_EQ(actions[0]["commitInfo"]["operationParameters"]["outputMode"], "Complete");
  EXPECT_EQ(actions[0]["commitInfo"]["isBlindAppend"], false);
}

TEST_F(DeltaSinkTest, PartitionsByColumnsAndLeavesThemOutOfFiles) {
  DeltaWriteOptions options;
  options.partitionBy = {"NAME"};
  ASSERT_TRUE(runBatch(0, {{1, "a b"}, {2, ""}, {3, std::nullopt}, {4, "a b"}, {5, "x/y:z"}},
                       OutputMode::Append, options));
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a b", "2/null", "3/null", "4/a b", "5/x/y:z"}));
  const auto snapshot = log_->update();
  EXPECT_EQ(snapshot->partitionColumns(), std::vector<std::string>{"name"});
  std::set<std::string> folders;
  for (const delta::AddFile& file : snapshot->liveFiles())
    folders.insert(file.path.substr(0, file.path.find("/part-")));
  EXPECT_EQ(folders,
            (std::set<std::string>{"name=a%20b", "name=__HIVE_DEFAULT_PARTITION__", "name=x%252Fy%253Az"}));
}

TEST_F(DeltaSinkTest, HoldsTheTablesSchema) {
  ASSERT_TRUE(runBatch(0, {{1, "a"}}));
  const SchemaPtr other = parseSchemaDdl("id BIGINT, extra STRING");
  EXPECT_EQ(conditionOf([&] {
              runBatch(1, {{2, "b"}}, OutputMode::Append, {}, other);
            }),
            "DELTA_METADATA_MISMATCH");
  EXPECT_EQ(conditionOf([&] {
              runBatch(1, {{2, "b"}}, OutputMode::Append, {}, parseSchemaDdl("id BIGINT, name BIGINT"));
            }),
            "DELTA_FAILED_TO_MERGE_FIELDS");
  DeltaWriteOptions merge;
  merge.mergeSchema = true;
  ASSERT_TRUE(runBatch(1, {{2, "b"}}, OutputMode::Append, merge, other));
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a/null", "2/null/b"}));
  ASSERT_TRUE(runBatch(2, {{3, "c"}}, OutputMode::Append, {}, parseSchemaDdl("ID BIGINT, Name STRING")));
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a/null", "2/null/b", "3/c/null"}));
}

TEST_F(DeltaSinkTest, AnAbortedBatchLeavesNothing) {
  ASSERT_TRUE(runBatch(0, {{1, "a"}}));
  const size_t files = store_->list("/t").size();
  DeltaStreamSink sink(log_, {});
  const auto write = sink.beginBatch({1, kQuery, "run", OutputMode::Append, idAndName()});
  const auto done = write->openTask(0);
  done->write(batchOf({{2, "b"}}));
  done->close();
  write->openTask(1)->write(batchOf({{3, "c"}}));
  write->abort();
  EXPECT_EQ(store_->list("/t").size(), files);
  EXPECT_EQ(version(), 0);
}

TEST_F(DeltaSinkTest, EveryFailingStepIsRepairedByTheReplay) {
  ASSERT_TRUE(runBatch(0, {{1, "a"}}));
  int64_t batch = 1;
  for (const char* point : {"dataFile.before", "dataFile.during", "dataFile.after", "deltaCommit.before",
                            "deltaCommit.temp", "deltaCommit.after"}) {
    SCOPED_TRACE(point);
    armFaultPoint(std::string(point) + "=error");
    EXPECT_NE(conditionOf([&] { runBatch(batch, {{batch, "x"}}); }), "none");
    armFaultPoint("");
    log_ = std::make_shared<delta::DeltaLog>(table_);
    runBatch(batch, {{batch, "x"}});
    ++batch;
  }
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a", "1/x", "2/x", "3/x", "4/x", "5/x", "6/x"}));
}

TEST_F(DeltaSinkTest, AFullDiskAtAnyWriteCommitsNothing) {
  ASSERT_TRUE(runBatch(0, {{1, "a"}}));
  store_->clear();
  ASSERT_TRUE(runBatch(1, {{2, "b"}}));
  const int64_t writes = store_->calls(FileOperation::StreamWrite);
  for (int64_t call = 1; call <= writes; ++call) {
    store_->clear();
    store_->inject({.operation = FileOperation::StreamWrite, .call = call, .errorNumber = ENOSPC});
    EXPECT_EQ(conditionOf([&] { runBatch(2, {{3, "c"}}); }), "STORAGE_FAILURE") << call;
  }
  store_->clear();
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a", "2/b"}));
  ASSERT_TRUE(runBatch(2, {{3, "c"}}));
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a", "2/b", "3/c"}));
}

TEST_F(DeltaSinkTest, ALostAnswerOfTheCommitIsResolved) {
  ASSERT_TRUE(runBatch(0, {{1, "a"}}));
  store_->clear();
  store_->inject({.operation = FileOperation::PutIfAbsent, .call = 1, .afterEffect = true});
  ASSERT_TRUE(runBatch(1, {{2, "b"}}));
  store_->clear();
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a", "2/b"}));
}

// What takes rows out of batch writes does not take them out of a stream's: complete mode replaces all.
TEST_F(DeltaSinkTest, CompleteModeReplacesAllRowsWhateverABatchOverwriteWouldDo) {
  Options asked;
  asked.set("partitionOverwriteMode", "dynamic");
  const DeltaWriteOptions dynamic = DeltaWriteOptions::parse(asked, {"name"});
  ASSERT_TRUE(runBatch(0, {{1, "a"}, {2, "b"}}, OutputMode::Complete, dynamic));
  ASSERT_TRUE(runBatch(1, {{3, "b"}}, OutputMode::Complete, dynamic));
  EXPECT_EQ(rows(), (std::vector<std::string>{"3/b"}));
  asked = Options();
  asked.set("replaceWhere", "name = 'c'");
  ASSERT_TRUE(runBatch(2, {{4, "c"}}, OutputMode::Complete, DeltaWriteOptions::parse(asked, {"name"})));
  EXPECT_EQ(rows(), (std::vector<std::string>{"4/c"}));
}

// Writes batch `id` through a sink that has the run's earlier batches behind it.
bool writeThrough(DeltaStreamSink& sink, int64_t id) {
  const auto write = sink.beginBatch({id, kQuery, "run", OutputMode::Append, idAndName()});
  if (!write) return false;
  const auto task = write->openTask(0);
  task->write(batchOf({{id, "a"}}));
  task->close();
  write->commit();
  return true;
}

TEST_F(DeltaSinkTest, AQueryWhoseTableIsGoneEndsAndMakesNoNewOne) {
  for (const bool there : {false, true}) {
    if (there) runBatch(0, {{0, "a"}});
    DeltaStreamSink sink(log_, {});
    sink.validate(OutputMode::Append, *idAndName());
    ASSERT_TRUE(writeThrough(sink, 1));
    store_->removeTree("/t");
    log_ = std::make_shared<delta::DeltaLog>(table_);
    EXPECT_EQ(conditionOf([&] { writeThrough(sink, 2); }), "DELTA_TABLE_NOT_FOUND") << there;
    EXPECT_TRUE(store_->list("/t").empty());
  }
}

TEST_F(DeltaSinkTest, AQueryDoesNotGoOnInAnotherTable) {
  for (const bool there : {false, true}) {
    if (there) runBatch(0, {{0, "a"}});
    DeltaStreamSink sink(log_, {});
    sink.validate(OutputMode::Append, *idAndName());
    ASSERT_TRUE(writeThrough(sink, 1));
    store_->removeTree("/t");
    log_ = std::make_shared<delta::DeltaLog>(table_);
    const auto other = beginDeltaWrite(log_, SaveMode::Append, idAndName(), {});
    other->commit();
    EXPECT_EQ(conditionOf([&] { writeThrough(sink, 2); }), "DELTA_TABLE_NOT_FOUND") << there;
    EXPECT_TRUE(rows().empty());
    store_->removeTree("/t");
    log_ = std::make_shared<delta::DeltaLog>(table_);
  }
}

TEST_F(DeltaSinkTest, ASecondWriterOfTheSameBatchLoses) {
  ASSERT_TRUE(runBatch(0, {{1, "a"}}));
  DeltaStreamSink sink(log_, {});
  const auto late = sink.beginBatch({1, kQuery, "zombie", OutputMode::Append, idAndName()});
  const auto task = late->openTask(0);
  task->write(batchOf({{2, "b"}}));
  task->close();
  ASSERT_TRUE(runBatch(1, {{2, "b"}}));
  EXPECT_EQ(conditionOf([&] { late->commit(); }), "DELTA_CONCURRENT_TRANSACTION");
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a", "2/b"}));
}

class DeltaBatchWriteTest : public DeltaSinkTest {
 protected:
  bool write(SaveMode mode, const std::vector<Row>& rows, DeltaWriteOptions options = {}) {
    const auto write = beginDeltaWrite(log_, mode, idAndName(), std::move(options));
    if (!write) return false;
    const auto task = write->openTask(0);
    task->write(batchOf(rows));
    task->close();
    write->commit();
    return true;
  }
};

TEST_F(DeltaBatchWriteTest, SaveModesDoAsSparkSays) {
  EXPECT_TRUE(write(SaveMode::ErrorIfExists, {{1, "a"}}));
  EXPECT_EQ(conditionOf([&] { write(SaveMode::ErrorIfExists, {{1, "a"}}); }), "DELTA_PATH_EXISTS");
  EXPECT_FALSE(write(SaveMode::Ignore, {{2, "b"}}));
  EXPECT_TRUE(write(SaveMode::Append, {{3, "c"}}));
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a", "3/c"}));
  EXPECT_TRUE(write(SaveMode::Overwrite, {{4, "d"}}));
  EXPECT_EQ(rows(), (std::vector<std::string>{"4/d"}));
  const json info = commit(2)[0]["commitInfo"];
  EXPECT_EQ(info["operation"], "WRITE");
  EXPECT_EQ(info["operationParameters"], (json{{"mode", "Overwrite"}, {"partitionBy", "[]"}}));
  EXPECT_EQ(info["operationMetrics"]["numRemovedFiles"], "2");
}

// What Spark 4.2 with Delta 4.4 does: the partitions that rows come for are replaced, others stay.
TEST_F(DeltaBatchWriteTest, ADynamicOverwriteReplacesThePartitionsThatRowsComeFor) {
  Options asked;
  asked.set("partitionOverwriteMode", "DYNAMIC");
  const DeltaWriteOptions dynamic = DeltaWriteOptions::parse(asked, {"name"});
  EXPECT_TRUE(write(SaveMode::Append, {{1, "a"}, {2, "b"}}, dynamic));
  EXPECT_TRUE(write(SaveMode::Overwrite, {{3, "b"}, {4, "c"}}, dynamic));
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a", "3/b", "4/c"}));
  const json info = commit(1)[0]["commitInfo"];
  EXPECT_EQ(info["operationParameters"]["isDynamicPartitionOverwrite"], true);
  EXPECT_EQ(info["operationMetrics"]["numRemovedFiles"], "1");
  EXPECT_EQ(info["isBlindAppend"], false);
}

// Asked of Spark 4.2 with Delta 4.4 in a session of Europe/Berlin: both files of nine o'clock UTC go, the
// third stays.
TEST_F(DeltaBatchWriteTest, ADynamicOverwriteKnowsPartitionsThatSayNoZone) {
  const SchemaPtr schema = parseSchemaDdl("id BIGINT, t TIMESTAMP");
  const json metadata = {{"id", "m"},
                         {"format", {{"provider", "parquet"}, {"options", json::object()}}},
                         {"schemaString", toSchemaJson(*schema)},
                         {"partitionColumns", {"t"}},
                         {"configuration", json::object()}};
  std::string log = R"({"protocol":{"minReaderVersion":1,"minWriterVersion":2}})"
                    "\n" +
                    json{{"metaData", metadata}}.dump() + "\n";
  int number = 0;
  for (const char* time :
       {"2024-01-01 10:00:00", "2024-01-01T09:00:00.000000Z", "2024-01-01T10:00:00.000000Z"}) {
    const json add = {{"path", "f" + std::to_string(number++)},
                      {"partitionValues", {{"t", time}}},
                      {"size", 1},
                      {"modificationTime", 1},
                      {"dataChange", true}};
    log += json{{"add", add}}.dump() + "\n";
  }
  store_->writeAtomically("/t/_delta_log/00000000000000000000.json", log);
  Options asked;
  asked.set("partitionOverwriteMode", "dynamic");
  DeltaWriteEngine engine;
  engine.timeZone = TimeZone::parse("Europe/Berlin");
  const auto overwrite =
      beginDeltaWrite(log_, SaveMode::Overwrite, schema, DeltaWriteOptions::parse(asked, {"t"}), engine);
  const auto task = overwrite->openTask(0);
  arrow::Int64Builder ids;
  arrow::TimestampBuilder times(toArrowType(*timestampType()), arrow::default_memory_pool());
  throwIfFailed(ids.Append(5));
  throwIfFailed(times.Append(1704099600000000));
  task->write(arrow::RecordBatch::Make(toArrowSchema(*schema), 1, {*ids.Finish(), *times.Finish()}));
  task->close();
  overwrite->commit();
  std::set<std::string> removed;
  for (const json& action : commit(1)) {
    if (action.contains("remove")) removed.insert(action["remove"]["path"].get<std::string>());
    if (action.contains("add")) {
      EXPECT_EQ(action["add"]["partitionValues"]["t"], "2024-01-01T09:00:00.000000Z");
    }
  }
  EXPECT_EQ(removed, (std::set<std::string>{"f0", "f1"}));
}

// Streams know a table by its id: it is another table once it was replaced, and the same after any overwrite.
TEST_F(DeltaBatchWriteTest, TheTablesIdIsNewOnlyWhereItIsReplaced) {
  EXPECT_TRUE(write(SaveMode::Append, {{1, "a"}}));
  const std::string first = log_->update()->metadata().id;
  EXPECT_TRUE(write(SaveMode::Overwrite, {{2, "b"}}));
  EXPECT_EQ(log_->update()->metadata().id, first);
  DeltaWriteOptions options;
  options.overwriteSchema = true;
  EXPECT_TRUE(write(SaveMode::Overwrite, {{3, "c"}}, options));
  EXPECT_EQ(log_->update()->metadata().id, first);
  TableCreation replacement;
  replacement.operation = "CREATE OR REPLACE TABLE";
  replacement.replace = true;
  beginDeltaCreation(log_, replacement, idAndName(), {}, {})->commit();
  EXPECT_NE(log_->update()->metadata().id, first);
}

TEST_F(DeltaBatchWriteTest, OptionsOfAnOverwriteThatDoNotGoTogetherAreRefused) {
  EXPECT_TRUE(write(SaveMode::Append, {{1, "a"}}));
  Options asked;
  asked.set("replaceWhere", "id = 1");
  EXPECT_EQ(conditionOf([&] {
              write(SaveMode::Overwrite, {{1, "a"}}, DeltaWriteOptions::parse(asked, {}));
            }),
            "UNSUPPORTED_FEATURE.THALWEG")
      << "without an evaluator of SQL";
  asked.set("partitionOverwriteMode", "dynamic");
  EXPECT_EQ(conditionOf([&] {
              write(SaveMode::Overwrite, {{1, "a"}}, DeltaWriteOptions::parse(asked, {}));
            }),
            "DELTA_REPLACE_WHERE_WITH_DYNAMIC_PARTITION_OVERWRITE");
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a"}));
}

TEST_F(DeltaBatchWriteTest, ADynamicOverwriteOfATableWithoutPartitionsReplacesIt) {
  Options asked;
  asked.set("partitionOverwriteMode", "dynamic");
  EXPECT_TRUE(write(SaveMode::Append, {{1, "a"}}));
  EXPECT_TRUE(write(SaveMode::Overwrite, {{2, "b"}}, DeltaWriteOptions::parse(asked, {})));
  EXPECT_EQ(rows(), (std::vector<std::string>{"2/b"}));
}

TEST_F(DeltaBatchWriteTest, ADynamicOverwriteCannotReplaceTheSchema) {
  Options asked;
  asked.set("partitionOverwriteMode", "dynamic");
  asked.set("overwriteSchema", "true");
  EXPECT_TRUE(write(SaveMode::Append, {{1, "a"}, {2, "b"}}, DeltaWriteOptions::parse({}, {"name"})));
  EXPECT_EQ(conditionOf([&] {
              write(SaveMode::Overwrite, {{3, "a"}}, DeltaWriteOptions::parse(asked, {"name"}));
            }),
            "DELTA_OVERWRITE_SCHEMA_WITH_DYNAMIC_PARTITION_OVERWRITE");
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a", "2/b"}));
  Options still = asked;
  still.set("partitionOverwriteMode", "static");
  EXPECT_TRUE(write(SaveMode::Overwrite, {{3, "a"}}, DeltaWriteOptions::parse(still, {"name"})));
  EXPECT_EQ(rows(), (std::vector<std::string>{"3/a"}));
  EXPECT_TRUE(write(SaveMode::Overwrite, {{4, "b"}}, DeltaWriteOptions::parse(asked, {})))
      << "without partitionBy the new table has no partitions, as in Spark 4.2 with Delta 4.4";
  EXPECT_EQ(rows(), (std::vector<std::string>{"4/b"}));
}

TEST_F(DeltaBatchWriteTest, AReplacedTableKeepsNoRowsOfTheOldOne) {
  EXPECT_TRUE(write(SaveMode::Append, {{1, "a"}, {2, "b"}}, DeltaWriteOptions::parse({}, {"name"})));
  TableCreation replacement;
  replacement.operation = "CREATE OR REPLACE TABLE AS SELECT";
  replacement.replace = true;
  Options asked;
  asked.set("partitionOverwriteMode", "dynamic");
  const auto replacing =
      beginDeltaCreation(log_, replacement, idAndName(), DeltaWriteOptions::parse(asked, {"name"}), {});
  const auto task = replacing->openTask(0);
  task->write(batchOf({{3, "a"}}));
  task->close();
  replacing->commit();
  EXPECT_EQ(rows(), (std::vector<std::string>{"3/a"})) << "as in Spark 4.2 with Delta 4.4";
  asked = Options();
  asked.set("replaceWhere", "id = 1");
  EXPECT_EQ(conditionOf([&] {
              beginDeltaCreation(log_, replacement, idAndName(), DeltaWriteOptions::parse(asked, {"name"}),
                                 {});
            }),
            "UNSUPPORTED_FEATURE.THALWEG");
}

// Asked of Spark 4.2 with Delta 4.4: overwriteSchema leaves no clustering, though the columns stay.
TEST_F(DeltaBatchWriteTest, AnotherSchemaEndsTheClustering) {
  TableCreation creation;
  creation.operation = "CREATE TABLE";
  creation.clusterBy = {{"NAME"}};
  creation.declared = true;
  beginDeltaCreation(log_, creation, idAndName(), {}, {})->commit();
  EXPECT_EQ(delta::clusteringColumns(*log_->update()), (std::vector<std::vector<std::string>>{{"name"}}));
  DeltaWriteOptions options;
  options.overwriteSchema = true;
  EXPECT_TRUE(write(SaveMode::Overwrite, {{1, "a"}}, options));
  EXPECT_TRUE(delta::clusteringColumns(*log_->update()).empty());
  EXPECT_EQ(log_->update()->domainMetadata().at(std::string(delta::kClusteringDomain)).configuration,
            R"({"clusteringColumns":[],"domainName":"delta.clustering"})");
}

TEST_F(DeltaBatchWriteTest, ANewTableIsClusteredAsTheWriteSays) {
  DeltaWriteOptions options;
  options.clusterBy = {{"Name"}};
  EXPECT_TRUE(write(SaveMode::Append, {{1, "a"}}, options));
  EXPECT_EQ(delta::clusteringColumns(*log_->update()), (std::vector<std::vector<std::string>>{{"name"}}));
}

// Delta 4.4's answer to its table builder, which nothing stops before.
TEST_F(DeltaBatchWriteTest, NoTableIsPartitionedAndClustered) {
  DeltaWriteOptions options;
  options.clusterBy = {{"id"}};
  options.partitionBy = {"name"};
  EXPECT_EQ(conditionOf([&] {
              write(SaveMode::Append, {{1, "a"}}, options);
            }),
            "DELTA_CLUSTER_BY_WITH_PARTITIONED_BY");
  TableCreation creation;
  creation.operation = "CREATE TABLE";
  creation.clusterBy = {{"id"}};
  creation.declared = true;
  EXPECT_EQ(conditionOf([&] {
              beginDeltaCreation(log_, creation, idAndName(), DeltaWriteOptions::parse({}, {"name"}), {});
            }),
            "DELTA_CLUSTER_BY_WITH_PARTITIONED_BY");
}

// Takes every text for the condition id = 1.
class IdIsOne final : public delta::ExpressionEvaluator {
 public:
  class Value final : public delta::RowExpression {
   public:
    std::shared_ptr<arrow::Array> evaluate(const arrow::RecordBatch& rows) const override {
      arrow::BooleanBuilder values;
      for (int64_t row = 0; row < rows.num_rows(); ++row)
        throwIfFailed(values.Append(static_cast<const arrow::Int64Array&>(*rows.column(0)).Value(row) == 1));
      return valueOrThrow(values.Finish());
    }
    const std::vector<int>& columns() const override { return columns_; }
    const DataTypePtr& type() const override { return type_; }

   private:
    std::vector<int> columns_ = {0};
    DataTypePtr type_ = DataType::primitive(TypeId::Boolean);
  };
  class Condition final : public delta::RowCondition {
   public:
    bool mayMatch(const delta::AddFile&) override { return true; }
    bool partitionsOnly() const override { return false; }
    const std::vector<int>& columns() const override { return columns_; }
    std::vector<int64_t> match(const delta::FileRows& part) const override {
      std::vector<int64_t> rows;
      for (const int64_t row : part.liveRows()) {
        if (static_cast<const arrow::Int64Array&>(*part.rows->column(0)).Value(row) == 1) rows.push_back(row);
      }
      return rows;
    }

   private:
    std::vector<int> columns_ = {0};
  };
  std::shared_ptr<const delta::RowExpression> compile(const std::string&, const SchemaPtr&,
                                                      const DataTypePtr&) const override {
    return std::make_shared<Value>();
  }
  std::shared_ptr<delta::RowCondition> condition(const std::string&, const delta::Snapshot&) const override {
    return std::make_shared<Condition>();
  }
};

TEST_F(DeltaBatchWriteTest, AReplaceWhereWhoseOutcomeIsUnknownKeepsItsFiles) {
  EXPECT_TRUE(write(SaveMode::Append, {{1, "a"}, {2, "b"}}));
  Options asked;
  asked.set("replaceWhere", "id = 1");
  DeltaWriteEngine engine;
  engine.expressions = std::make_shared<IdIsOne>();
  auto replacing = beginDeltaWrite(log_, SaveMode::Overwrite, idAndName(),
                                   DeltaWriteOptions::parse(asked, {}), std::move(engine));
  const auto task = replacing->openTask(0);
  task->write(batchOf({{1, "c"}}));
  task->close();
  loseTheNextCommit();
  EXPECT_EQ(conditionOf([&] { replacing->commit(); }), "STORAGE_FAILURE");
  replacing.reset();
  store_->clear();
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/c", "2/b"}));
}

// INSERT INTO t SELECT … FROM t: two of them at once would each miss the other's rows. As Delta, which says
// of such a commit that it is no blind append.
TEST_F(DeltaBatchWriteTest, RowsOfTheTableItselfConflictWithRowsThatCameSince) {
  write(SaveMode::Append, {{1, "a"}});
  DeltaWriteOptions copying;
  copying.readVersion = version();
  EXPECT_TRUE(write(SaveMode::Append, {{2, "a"}}, copying));
  EXPECT_EQ(commit(1)[0]["commitInfo"]["isBlindAppend"], false);
  EXPECT_EQ(conditionOf([&] {
              write(SaveMode::Append, {{3, "a"}}, copying);
            }),
            "DELTA_CONCURRENT_APPEND.WITHOUT_HINT");
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a", "2/a"}));
}

// Asked of Spark 4.2: df.write.option("delta.appendOnly", "true").save(path).
TEST_F(DeltaBatchWriteTest, OptionsOfDeltasNamesArePropertiesOfANewTable) {
  Options asked;
  asked.set("DELTA.appendOnly", "true");
  write(SaveMode::Append, {{1, "a"}}, DeltaWriteOptions::parse(asked, {}));
  const auto configuration = [&] { return delta::DeltaLog(table_).require()->metadata().configuration; };
  const std::map<std::string, std::string> expected = {{"delta.appendOnly", "true"}};
  EXPECT_EQ(configuration(), expected);
  Options later;
  later.set("delta.checkpointInterval", "3");
  write(SaveMode::Append, {{2, "b"}}, DeltaWriteOptions::parse(later, {}));
  EXPECT_EQ(configuration(), expected) << "a table that is there keeps its own";
  Options unknown;
  unknown.set("delta.nonsense", "1");
  EXPECT_EQ(conditionOf([&] { DeltaWriteOptions::parse(unknown, {}); }), "DELTA_UNKNOWN_CONFIGURATION");
}

// Asked of Spark 4.2: another word must not overwrite the whole table.
TEST_F(DeltaBatchWriteTest, AnUnknownOverwriteModeIsRefused) {
  Options asked;
  asked.set("partitionOverwriteMode", "dinamic");
  EXPECT_EQ(conditionOf([&] { DeltaWriteOptions::parse(asked, {}); }), "DELTA_ILLEGAL_OPTION");
}

TEST_F(DeltaBatchWriteTest, ANamedTransactionIsWrittenOnce) {
  DeltaWriteOptions options;
  options.txnAppId = "job";
  options.txnVersion = 7;
  EXPECT_TRUE(write(SaveMode::Append, {{1, "a"}}, options));
  EXPECT_FALSE(write(SaveMode::Append, {{1, "a"}}, options));
  EXPECT_EQ(rows(), (std::vector<std::string>{"1/a"}));
}

// The option goes before the table's property, as in Delta; rows are gathered by the table's partitions.
TEST_F(DeltaBatchWriteTest, AnOptimizedWriteWantsItsRowsGathered) {
  EXPECT_TRUE(write(SaveMode::Append, {{1, "a"}}, DeltaWriteOptions::parse({}, {"name"})));
  const auto gathering = [&](const char* option) {
    Options asked;
    if (*option) asked.set("optimizeWrite", option);
    return beginDeltaWrite(log_, SaveMode::Append, idAndName(), DeltaWriteOptions::parse(asked, {}))
        ->gathering();
  };
  EXPECT_FALSE(gathering(""));
  ASSERT_TRUE(gathering("true"));
  EXPECT_EQ(gathering("true")->columns, std::vector<int>{1});
  delta::Metadata metadata = log_->require()->metadata();
  metadata.configuration["delta.autoOptimize.optimizeWrite"] = "true";
  delta::Transaction change(log_, log_->require());
  change.setMetadata(metadata);
  delta::Operation operation;
  operation.name = "SET TBLPROPERTIES";
  change.setOperation(operation);
  EXPECT_TRUE(std::holds_alternative<delta::Committed>(change.commit()));
  EXPECT_TRUE(gathering(""));
  EXPECT_FALSE(gathering("false"));
}

class AutoCompactionTest : public DeltaBatchWriteTest {
 protected:
  DeltaWriteOptions session(const std::string& enabled, const std::string& minNumFiles) {
    Options asked;
    asked.set(delta::kAutoCompactSetting, enabled);
    asked.set(delta::kAutoCompactMinFilesSetting, minNumFiles);
    return DeltaWriteOptions::parse(asked, {});
  }
  std::vector<std::string> operations() {
    std::vector<std::string> names;
    for (int64_t i = 0; i <= version(); ++i) {
      for (const json& action : commit(i)) {
        if (action.contains("commitInfo"))
          names.push_back(action["commitInfo"]["operation"].get<std::string>());
      }
    }
    return names;
  }
};

// Spark's history of appends of one file each under minNumFiles 4: the first occasion that this process has,
// then with the fourth small file.
TEST_F(AutoCompactionTest, SmallFilesAreMergedBehindABatchWrite) {
  for (int64_t i = 0; i < 5; ++i) EXPECT_TRUE(write(SaveMode::Append, {{i, "a"}}, session("true", "4")));
  EXPECT_EQ(operations(),
            (std::vector<std::string>{"WRITE", "WRITE", "WRITE", "WRITE", "OPTIMIZE", "WRITE"}));
  const json info = commit(4)[0]["commitInfo"];
  EXPECT_EQ(info["operationParameters"],
            json::parse(R"({"predicate":"[]","zOrderBy":"[]","clusterBy":"[]","auto":true})"));
  EXPECT_EQ(info["isolationLevel"], "SnapshotIsolation");
  EXPECT_EQ(rows(), (std::vector<std::string>{"0/a", "1/a", "2/a", "3/a", "4/a"}));
  EXPECT_EQ(log_->require()->numFiles(), 2);
}

TEST_F(AutoCompactionTest, TheSessionsSettingGoesBeforeTheTablesProperty) {
  delta::Metadata metadata;
  const auto isOn = [&](const std::optional<std::string>& setting) {
    return delta::autoCompactionRules(metadata,
                                      [&](const std::string& key) {
                                        return key == delta::kAutoCompactSetting ? setting : std::nullopt;
                                      })
        .has_value();
  };
  EXPECT_FALSE(isOn(std::nullopt));
  EXPECT_TRUE(isOn("true"));
  metadata.configuration["delta.autoOptimize.autoCompact"] = "true";
  EXPECT_TRUE(isOn(std::nullopt));
  EXPECT_FALSE(isOn("false"));
  metadata.configuration = {{"delta.autoOptimize", "true"}};
  EXPECT_TRUE(isOn(std::nullopt));
}

}  // namespace
}  // namespace thalweg
