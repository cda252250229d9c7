#include "sinks/files/file_sink.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "common/fault_points.h"
#include "common/testing/condition_of.h"
#include "common/uuid.h"
#include "connector/sink_file_log.h"
#include "formats/parquet/parquet_file.h"
#include "sinks/files/file_batch_write.h"
#include "sinks/files/parquet_output.h"
#include "storage/fault_file_system.h"
#include "storage/file_uri.h"
#include "types/arrow_types.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;
using Row = std::pair<int64_t, std::optional<std::string>>;
using Names = std::vector<std::string>;

SchemaPtr idAndKey() {
  return parseSchemaDdl("id BIGINT, k STRING");
}

std::shared_ptr<arrow::RecordBatch> batchOf(const std::vector<Row>& rows) {
  arrow::Int64Builder ids;
  arrow::StringBuilder keys;
  for (const auto& [id, key] : rows) {
    EXPECT_TRUE(ids.Append(id).ok());
    EXPECT_TRUE((key ? keys.Append(*key) : keys.AppendNull()).ok());
  }
  return arrow::RecordBatch::Make(toArrowSchema(*idAndKey()), static_cast<int64_t>(rows.size()),
                                  {*ids.Finish(), *keys.Finish()});
}

class FileSinkTest : public testing::Test {
 protected:
  FileSinkTest() : folder_(fs::temp_directory_path() / ("thalweg-sink-" + randomUuid())) {}
  ~FileSinkTest() override {
    armFaultPoint("");
    fs::remove_all(folder_);
  }

  WriteDefinition definition(Options options = {}, std::vector<std::string> partitions = {}) {
    WriteDefinition write;
    write.options = std::move(options);
    write.path = folder_.string();
    write.partitionColumns = std::move(partitions);
    return write;
  }
  std::unique_ptr<BatchWrite> begin(const WriteDefinition& write, SaveMode mode) {
    return openFileWrite(parquetFileOutput(), write, registry_, mode, idAndKey());
  }
  void save(const WriteDefinition& write, SaveMode mode, const std::vector<Row>& rows) {
    const auto batchWrite = begin(write, mode);
    ASSERT_TRUE(batchWrite);
    run(*batchWrite, rows);
    batchWrite->commit();
  }
  static void run(BatchWrite& write, const std::vector<Row>& rows) {
    const auto task = write.openTask(0);
    task->write(batchOf(rows));
    task->close();
  }

  // Files that a reader looks at, below the output folder, without what differs from run to run.
  Names files() const {
    Names names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string relative = entry.path().lexically_relative(folder_).string();
      if (entry.is_regular_file() && !relative.starts_with('_')) names.push_back(relative);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::vector<int64_t> ids(const Names& names) const {
    std::vector<int64_t> ids;
    const auto store = makeLocalFileSystem();
    for (const std::string& name : names) {
      const auto table = readParquetTable(*store, (folder_ / name).string());
      for (const auto& chunk : table->GetColumnByName("id")->chunks()) {
        const auto& values = static_cast<const arrow::Int64Array&>(*chunk);
        for (int64_t i = 0; i < values.length(); ++i) ids.push_back(values.Value(i));
      }
    }
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  std::vector<int64_t> ids() const { return ids(files()); }

  // By what the log says.
  std::vector<int64_t> loggedIds() const {
    const auto store = makeLocalFileSystem();
    Names names;
    for (const SinkFileEntry& file : SinkFileLog({store, folder_.string()}, systemClock()).files()) {
      const fs::path path = *pathOfUri(*store, file.uri);
      EXPECT_EQ(file.sizeBytes, static_cast<int64_t>(fs::file_size(path)));
      names.push_back(path.lexically_relative(folder_).string());
    }
    return ids(names);
  }

  fs::path folder_;
  FileSystemRegistry registry_;
};

TEST_F(FileSinkTest, ABatchAppearsWithItsCommit) {
  const auto write = begin(definition(), SaveMode::ErrorIfExists);
  run(*write, {{1, "x"}, {2, {}}});
  for (const std::string& name : files()) FAIL() << name << " is seen before the commit";
  write->commit();
  ASSERT_EQ(files().size(), 1U);
  EXPECT_TRUE(files()[0].starts_with("part-00000-") && files()[0].ends_with("-c000.snappy.parquet"))
      << files()[0];
  EXPECT_EQ(ids(), (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(fs::exists(folder_ / "_SUCCESS"));
  EXPECT_FALSE(fs::exists(folder_ / "_temporary"));
  EXPECT_EQ(write->numOutputRows(), 2);
}

TEST_F(FileSinkTest, AnAbortedBatchLeavesNothing) {
  const auto write = begin(definition(), SaveMode::Append);
  run(*write, {{1, "x"}});
  write->abort();
  EXPECT_TRUE(files().empty());
  EXPECT_FALSE(fs::exists(folder_ / "_temporary"));
}

TEST_F(FileSinkTest, ModesAreSparks) {
  save(definition(), SaveMode::ErrorIfExists, {{1, "x"}});
  EXPECT_EQ(conditionOf([&] { begin(definition(), SaveMode::ErrorIfExists); }), "PATH_ALREADY_EXISTS");
  EXPECT_FALSE(begin(definition(), SaveMode::Ignore));
  save(definition(), SaveMode::Append, {{2, "x"}});
  EXPECT_EQ(ids(), (std::vector<int64_t>{1, 2}));
  save(definition(), SaveMode::Overwrite, {{3, "x"}});
  EXPECT_EQ(ids(), std::vector<int64_t>{3});
}

// As Spark: what is overwritten is gone before the new rows are written.
TEST_F(FileSinkTest, OverwriteRemovesFirst) {
  save(definition(), SaveMode::Append, {{1, "x"}});
  const auto write = begin(definition(), SaveMode::Overwrite);
  EXPECT_TRUE(files().empty());
  write->abort();
}

// Spark's names of folders; an empty text is no value.
TEST_F(FileSinkTest, PartitionsAreFolders) {
  save(definition({}, {"k"}), SaveMode::Append, {{1, "a/b c%"}, {2, {}}, {3, "a/b c%"}, {4, ""}});
  const Names names = files();
  ASSERT_EQ(names.size(), 2U);
  EXPECT_TRUE(names[0].starts_with("k=__HIVE_DEFAULT_PARTITION__/part-00000-")) << names[0];
  EXPECT_TRUE(names[1].starts_with("k=a%2Fb c%25/part-00000-")) << names[1];
  EXPECT_TRUE(names[1].ends_with(".c000.snappy.parquet")) << names[1];
  EXPECT_EQ(ids({names[0]}), (std::vector<int64_t>{2, 4}));
}

TEST_F(FileSinkTest, DynamicOverwriteReplacesThePartitionsThatRowsCameFor) {
  save(definition({}, {"k"}), SaveMode::Append, {{1, "a"}, {2, "b"}});
  save(definition({{"partitionOverwriteMode", "dynamic"}}, {"k"}), SaveMode::Overwrite, {{3, "b"}});
  EXPECT_EQ(ids(), (std::vector<int64_t>{1, 3}));
  save(definition({}, {"k"}), SaveMode::Overwrite, {{4, "b"}});
  EXPECT_EQ(ids(), std::vector<int64_t>{4});
}

TEST_F(FileSinkTest, FilesEndAtTheirNumberOfRows) {
  save(definition({{"maxRecordsPerFile", "2"}}), SaveMode::Append,
       {{1, "a"}, {2, "a"}, {3, "a"}, {4, "a"}, {5, "a"}});
  ASSERT_EQ(files().size(), 3U);
  EXPECT_TRUE(files()[2].ends_with("-c002.snappy.parquet")) << files()[2];
  EXPECT_EQ(ids().size(), 5U);
}

TEST_F(FileSinkTest, CodecsAreNamedByOptionThenSetting) {
  const auto extension = [&](Options options) {
    save(definition(std::move(options)), SaveMode::Overwrite, {{1, "a"}});
    EXPECT_EQ(ids(), std::vector<int64_t>{1});
    return files()[0].substr(files()[0].find("-c000") + 5);
  };
  EXPECT_EQ(extension({{"compression", "none"}}), ".parquet");
  EXPECT_EQ(extension({{"compression", "ZSTD"}, {"spark.sql.parquet.compression.codec", "snappy"}}),
            ".zstd.parquet");
  EXPECT_EQ(extension({{"spark.sql.parquet.compression.codec", "gzip"}}), ".gz.parquet");
  EXPECT_EQ(conditionOf([&] {
              extension({{"compression", "nosuch"}});
            }),
            "CODEC_NOT_AVAILABLE.WITH_AVAILABLE_CODECS_SUGGESTION");
}

TEST_F(FileSinkTest, WithoutRowsAFileSaysTheColumns) {
  save(definition(), SaveMode::Append, {});
  ASSERT_EQ(files().size(), 1U);
  const auto store = makeLocalFileSystem();
  EXPECT_TRUE(equals(*readParquetSchema(*store, (folder_ / files()[0]).string()), *idAndKey()));
  save(definition({}, {"k"}), SaveMode::Overwrite, {});
  EXPECT_TRUE(files().empty()) << "as Spark: none in partitions";
}

TEST_F(FileSinkTest, ColumnsAreCheckedBeforeAnythingGoes) {
  save(definition(), SaveMode::Append, {{1, "x"}});
  const auto overwrite = [&](std::vector<std::string> partitions, const SchemaPtr& schema) {
    return conditionOf([&] {
      openFileWrite(parquetFileOutput(), definition({}, std::move(partitions)), registry_,
                    SaveMode::Overwrite, schema);
    });
  };
  EXPECT_EQ(overwrite({"nope"}, idAndKey()), "_LEGACY_ERROR_TEMP_1155");
  EXPECT_EQ(overwrite({"id", "k"}, idAndKey()), "ALL_PARTITION_COLUMNS_NOT_ALLOWED");
  EXPECT_EQ(overwrite({"k", "k"}, idAndKey()), "COLUMN_ALREADY_EXISTS");
  EXPECT_EQ(overwrite({"k", "K"}, idAndKey()), "COLUMN_ALREADY_EXISTS");
  EXPECT_EQ(overwrite({}, DataType::structOf({{"a", intType()}, {"A", intType()}})), "COLUMN_ALREADY_EXISTS");
  EXPECT_EQ(overwrite({"a"}, parseSchemaDdl("a ARRAY<INT>, b INT")), "INVALID_PARTITION_COLUMN_DATA_TYPE");
  for (const char* column :
       {"a STRUCT<>", "a STRUCT<x: INT, b: STRUCT<>>", "a ARRAY<STRUCT<>>", "a MAP<INT, STRUCT<>>"}) {
    EXPECT_EQ(overwrite({}, parseSchemaDdl(column)), "EMPTY_SCHEMA_NOT_SUPPORTED_FOR_DATASOURCE") << column;
  }
  EXPECT_EQ(overwrite({}, DataType::structOf({})), "EMPTY_SCHEMA_NOT_SUPPORTED_FOR_DATASOURCE");
  EXPECT_EQ(overwrite({}, parseSchemaDdl("s STRUCT<a: INT, A: INT>")), "COLUMN_ALREADY_EXISTS");
  EXPECT_EQ(overwrite({}, DataType::structOf({{"i", DataType::primitive(TypeId::CalendarInterval)}})),
            "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE");
  EXPECT_EQ(ids(), std::vector<int64_t>{1});
}

TEST_F(FileSinkTest, TimesInFoldersAreOfTheSessionsZone) {
  WriteDefinition write = definition({}, {"t"});
  write.timeZone = "Asia/Tokyo";
  const SchemaPtr schema = parseSchemaDdl("id BIGINT, t TIMESTAMP");
  const auto batchWrite = openFileWrite(parquetFileOutput(), write, registry_, SaveMode::Append, schema);
  arrow::Int64Builder ids;
  ASSERT_TRUE(ids.Append(1).ok());
  arrow::TimestampBuilder times(toArrowType(*timestampType()), arrow::default_memory_pool());
  ASSERT_TRUE(times.Append(500'000).ok());
  const auto task = batchWrite->openTask(0);
  task->write(arrow::RecordBatch::Make(toArrowSchema(*schema), 1, {*ids.Finish(), *times.Finish()}));
  task->close();
  batchWrite->commit();
  ASSERT_EQ(files().size(), 1U);
  EXPECT_TRUE(files()[0].starts_with("t=1970-01-01 09%3A00%3A00.5/")) << files()[0];
}

// A commit of three files whose store fails.
class FailingCommitTest : public FileSinkTest {
 protected:
  Location output() const { return {faults_, folder_.string()}; }
  std::unique_ptr<BatchWrite> threeFiles(bool dynamicOverwrite = false) {
    auto layout = std::make_shared<const FileLayout>(
        FileLayout::make(parquetFileOutput(), definition({}, {"k"}), idAndKey()));
    auto write = beginFileWrite(std::move(layout), output(), dynamicOverwrite);
    run(*write, {{1, "a"}, {2, "b"}, {3, "c"}});
    return write;
  }
  std::shared_ptr<FaultFileSystem> faults_ = std::make_shared<FaultFileSystem>(makeLocalFileSystem());
};

TEST_F(FailingCommitTest, AnErrorBetweenMovesTakesTheMovedFilesAway) {
  for (const bool afterEffect : {false, true}) {
    for (int64_t move = 1; move <= 3; ++move) {
      SCOPED_TRACE(fmt::format("move {}, {}", move, afterEffect));
      const auto write = threeFiles();
      faults_->clear();
      faults_->inject({.operation = FileOperation::Move, .call = move, .afterEffect = afterEffect});
      EXPECT_EQ(conditionOf([&] { write->commit(); }), "STORAGE_FAILURE");
      EXPECT_EQ(faults_->calls(FileOperation::Move), move);
      EXPECT_TRUE(files().empty()) << files()[0];
      EXPECT_FALSE(fs::exists(folder_ / "_SUCCESS"));
      EXPECT_TRUE(fs::is_empty(folder_ / "_temporary"));
    }
  }
  faults_->clear();
  threeFiles()->commit();
  EXPECT_EQ(ids(), (std::vector<int64_t>{1, 2, 3})) << "a repeated write is there once";
}

TEST_F(FailingCommitTest, WhatCannotBeTakenAwayIsLeft) {
  const auto write = threeFiles();
  faults_->inject({.operation = FileOperation::Move, .call = 2});
  faults_->inject({.operation = FileOperation::Remove, .call = 1, .repeat = 100});
  EXPECT_EQ(conditionOf([&] { write->commit(); }), "STORAGE_FAILURE");
  EXPECT_EQ(ids(), std::vector<int64_t>{1}) << "the error is the move's, and the file stays";
}

TEST_F(FailingCommitTest, BehindTheLastMoveTheWriteHasHappened) {
  for (const FileOperation operation : {FileOperation::WriteAtomically, FileOperation::Remove}) {
    const auto write = threeFiles();
    faults_->clear();
    faults_->inject({.operation = operation, .repeat = 100});
    EXPECT_NO_THROW(write->commit());
  }
  armFaultPoint("fileMove.after=error");
  faults_->clear();
  EXPECT_NO_THROW(threeFiles()->commit());
  EXPECT_EQ(ids(), (std::vector<int64_t>{1, 1, 1, 2, 2, 2, 3, 3, 3}));
}

TEST_F(FailingCommitTest, AnErrorBeforeTheFirstMoveLeavesNoStagedFiles) {
  save(definition({}, {"k"}), SaveMode::Append, {{9, "z"}});
  const auto write = threeFiles(/*dynamicOverwrite=*/true);
  faults_->clear();
  faults_->inject({.operation = FileOperation::List});
  EXPECT_EQ(conditionOf([&] { write->commit(); }), "STORAGE_FAILURE");
  EXPECT_TRUE(fs::is_empty(folder_ / "_temporary"));
  EXPECT_EQ(ids(), std::vector<int64_t>{9});
}

// Rows of a table's files that were deleted are in them still, and its readers know no other files.
TEST_F(FileSinkTest, ADeltaTableIsNoFolderOfFiles) {
  fs::create_directories(folder_ / "_delta_log");
  const auto write = [&](const fs::path& folder, SaveMode mode) {
    WriteDefinition definition;
    definition.path = folder.string();
    return conditionOf(
        [&] { openFileWrite(parquetFileOutput(), definition, registry_, mode, idAndKey())->commit(); });
  };
  EXPECT_EQ(write(folder_, SaveMode::Append), "DELTA_INVALID_FORMAT");
  EXPECT_EQ(write(folder_, SaveMode::Overwrite), "DELTA_INVALID_FORMAT");
  EXPECT_EQ(write(folder_ / "k=1", SaveMode::Overwrite), "DELTA_INVALID_FORMAT");
  EXPECT_EQ(write(folder_ / "_exports/a", SaveMode::Append), "none") << "a table passes over such folders";
  const auto out = openFileStreamSink(parquetFileOutput(), definition(), registry_);
  EXPECT_EQ(conditionOf([&] { out->validate(OutputMode::Append, *idAndKey()); }), "DELTA_INVALID_FORMAT");
}

// Tables are looked for in the folders above, and not beyond what the server may see.
TEST_F(FileSinkTest, AServerWithRootsWritesBelowThem) {
  const FileSystemRegistry bounded(PathPolicy({folder_.string()}));
  WriteDefinition definition;
  definition.path = (folder_ / "a/b").string();
  EXPECT_EQ(conditionOf([&] {
              openFileWrite(parquetFileOutput(), definition, bounded, SaveMode::Append, idAndKey())->commit();
            }),
            "none");
  fs::create_directories(folder_ / "_delta_log");
  EXPECT_EQ(conditionOf([&] {
              openFileWrite(parquetFileOutput(), definition, bounded, SaveMode::Append, idAndKey());
            }),
            "DELTA_INVALID_FORMAT");
}

class FileStreamSinkTest : public FileSinkTest {
 protected:
  std::unique_ptr<StreamSink> sink(Options options = {}, std::vector<std::string> partitions = {}) {
    auto made = openFileStreamSink(parquetFileOutput(), definition(std::move(options), std::move(partitions)),
                                   registry_);
    made->validate(OutputMode::Append, *idAndKey());
    return made;
  }
  static StreamBatch batch(int64_t id, bool replayed) {
    return {id, "query", "run", OutputMode::Append, idAndKey(), replayed};
  }
  // False where the batch was there.
  static bool runBatch(StreamSink& sink, int64_t id, const std::vector<Row>& rows, bool replayed = false) {
    if (!replayed) sink.checkUnwritten(batch(id, false));
    const auto write = sink.beginBatch(batch(id, replayed));
    if (!write) return false;
    run(*write, rows);
    write->commit();
    return true;
  }
};

TEST_F(FileStreamSinkTest, TheLogSaysWhichFilesCount) {
  const auto out = sink({}, {"k"});
  EXPECT_EQ(out->description(), "FileSink[" + folder_.string() + "]");
  EXPECT_TRUE(runBatch(*out, 0, {{1, "a"}, {2, "b"}}));
  EXPECT_TRUE(runBatch(*out, 1, {}));
  EXPECT_TRUE(runBatch(*out, 2, {{3, "a"}}));
  EXPECT_EQ(loggedIds(), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_FALSE(fs::exists(folder_ / "_SUCCESS"));
}

TEST_F(FileStreamSinkTest, ABatchThatDiedBeforeItsLogIsWrittenOnce) {
  runBatch(*sink(), 0, {{1, "a"}});
  {
    const auto out = sink();
    const auto write = out->beginBatch(batch(1, false));
    run(*write, {{2, "b"}});
    armFaultPoint("sinkLog.before=error");
    EXPECT_EQ(conditionOf([&] { write->commit(); }), "FAULT_INJECTED");
    armFaultPoint("");
  }
  EXPECT_EQ(files().size(), 2U) << "the attempt's file lies there";
  EXPECT_EQ(loggedIds(), std::vector<int64_t>{1});
  EXPECT_TRUE(runBatch(*sink(), 1, {{2, "b"}}, /*replayed=*/true));
  EXPECT_EQ(files().size(), 3U);
  EXPECT_EQ(loggedIds(), (std::vector<int64_t>{1, 2}));
}

TEST_F(FileStreamSinkTest, ABatchThatDiedAfterItsLogIsSkipped) {
  const auto out = sink();
  const auto write = out->beginBatch(batch(0, false));
  run(*write, {{1, "a"}});
  armFaultPoint("sinkLog.after=error");
  EXPECT_EQ(conditionOf([&] { write->commit(); }), "FAULT_INJECTED");
  armFaultPoint("");
  EXPECT_FALSE(runBatch(*sink(), 0, {{1, "a"}}, /*replayed=*/true));
  EXPECT_EQ(loggedIds(), std::vector<int64_t>{1});
}

// Spark skips such batches and loses their rows.
TEST_F(FileStreamSinkTest, ANewCheckpointOverAnOldFolderIsRefused) {
  const auto old = sink();
  runBatch(*old, 0, {{1, "a"}});
  runBatch(*old, 1, {{2, "a"}});
  EXPECT_EQ(conditionOf([&] { runBatch(*sink(), 0, {{9, "a"}}); }), "STREAMING_CHECKPOINT_BEHIND_SINK");
  EXPECT_EQ(conditionOf([&] { runBatch(*sink(), 0, {{9, "a"}}, true); }), "STREAMING_CHECKPOINT_BEHIND_SINK");
  EXPECT_EQ(loggedIds(), (std::vector<int64_t>{1, 2}));
}

// Once its offsets are written a batch passes for a replay: it is to be refused before, at every start.
TEST_F(FileStreamSinkTest, ABatchThatTheLogHasIsNotPlannedAgain) {
  runBatch(*sink(), 0, {{1, "a"}});
  for (int start = 0; start < 2; ++start) {
    const auto out = sink();
    EXPECT_EQ(conditionOf([&] { out->checkUnwritten(batch(0, false)); }), "STREAMING_CHECKPOINT_BEHIND_SINK");
  }
  EXPECT_EQ(conditionOf([&] { sink()->checkUnwritten(batch(1, false)); }), "none");
  EXPECT_FALSE(runBatch(*sink(), 0, {{1, "a"}}, /*replayed=*/true))
      << "one that was planned before is a replay";
}

TEST_F(FileStreamSinkTest, AnotherQueryOfTheSameFolderIsSeenWhileItRuns) {
  const auto one = sink();
  const auto other = sink();
  runBatch(*one, 0, {{1, "a"}});
  EXPECT_EQ(conditionOf([&] { runBatch(*other, 0, {{2, "a"}}); }), "STREAMING_CHECKPOINT_BEHIND_SINK");
  const auto late = sink();
  late->checkUnwritten(batch(1, false));
  runBatch(*one, 1, {{3, "a"}});
  EXPECT_EQ(conditionOf([&] { late->checkUnwritten(batch(1, false)); }), "STREAMING_CHECKPOINT_BEHIND_SINK");
  EXPECT_EQ(loggedIds(), (std::vector<int64_t>{1, 3}));
}

// Readers of a stream's output take what its log names. Spark writes there all the same, and nobody sees it.
TEST_F(FileStreamSinkTest, ABatchWriteIntoAStreamsOutputIsRefused) {
  runBatch(*sink({}, {"k"}), 0, {{1, "a"}});
  EXPECT_EQ(conditionOf([&] { begin(definition(), SaveMode::Append); }),
            "STREAMING_OUTPUT_FOLDER.BATCH_WRITE");
  EXPECT_EQ(conditionOf([&] {
              begin(definition({{"partitionOverwriteMode", "dynamic"}}, {"k"}), SaveMode::Overwrite);
            }),
            "STREAMING_OUTPUT_FOLDER.BATCH_WRITE");
  EXPECT_EQ(loggedIds(), std::vector<int64_t>{1});
  save(definition(), SaveMode::Overwrite, {{2, "b"}});
  EXPECT_FALSE(fs::exists(folder_ / "_spark_metadata")) << "as Spark: the log goes with the files";
  EXPECT_EQ(ids(), std::vector<int64_t>{2});
}

// The log of a stream would hide the files of a batch write. Spark begins it, and their rows are gone.
TEST_F(FileStreamSinkTest, AStreamIntoAFolderOfOtherFilesIsRefused) {
  const std::string refusal = "STREAMING_OUTPUT_FOLDER.UNLOGGED_FILES";
  save(definition(), SaveMode::Append, {{1, "a"}});
  for (int start = 0; start < 2; ++start)
    EXPECT_EQ(conditionOf([&] { runBatch(*sink(), 0, {{2, "a"}}); }), refusal);
  save(definition({}, {"k"}), SaveMode::Overwrite, {{1, "a"}});
  EXPECT_EQ(conditionOf([&] { runBatch(*sink(), 7, {{2, "a"}}); }), refusal) << "in partitions too";
  EXPECT_EQ(ids(), std::vector<int64_t>{1});
}

TEST_F(FileStreamSinkTest, FilesThatAreNoDataAreNoMatter) {
  for (const char* name : {"checkpoint/offsets/0", "checkpoint/state/0/0/1.delta",
                           "_temporary/part-0.parquet", ".hidden/a.parquet", "_SUCCESS", "notes.txt"}) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << "x";
  }
  EXPECT_TRUE(runBatch(*sink(), 0, {{1, "a"}}));
}

TEST_F(FileStreamSinkTest, AFolderOverwrittenWhileTheQueryRunsIsNoticed) {
  const auto out = sink();
  runBatch(*out, 0, {{1, "a"}});
  save(definition(), SaveMode::Overwrite, {{2, "b"}});
  EXPECT_EQ(conditionOf([&] { runBatch(*out, 1, {{3, "c"}}); }), "STREAMING_OUTPUT_FOLDER.UNLOGGED_FILES");
  EXPECT_EQ(ids(), std::vector<int64_t>{2});
}

TEST_F(FileStreamSinkTest, AnAbortedBatchTakesItsFilesAway) {
  const auto out = sink();
  const auto write = out->beginBatch(batch(0, false));
  run(*write, {{1, "a"}});
  write->abort();
  EXPECT_TRUE(files().empty());
}

TEST_F(FileStreamSinkTest, StartChecksColumnsAndOptions) {
  EXPECT_EQ(conditionOf([&] { sink({}, {"nope"}); }), "_LEGACY_ERROR_TEMP_1196");
  EXPECT_EQ(conditionOf([&] { sink({{"retention", "soon"}}); }), "INVALID_OPTION");
  WriteDefinition write = definition();
  write.path.reset();
  EXPECT_EQ(conditionOf([&] { openFileStreamSink(parquetFileOutput(), write, registry_); }),
            "_LEGACY_ERROR_TEMP_2047");
  EXPECT_EQ(conditionOf(
                [&] { openFileWrite(parquetFileOutput(), write, registry_, SaveMode::Append, idAndKey()); }),
            "_LEGACY_ERROR_TEMP_2047");
}

}  // namespace
}  // namespace thalweg
