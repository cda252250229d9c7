#include "sources/files/file_source.h"

#include "sources/files/files_test_support.h"
#include "sources/files/json_records.h"

namespace thalweg {
namespace {

using Rows = std::vector<std::string>;

class FileSourceTest : public testing::Test {
 protected:
  ReadDefinition definition(Options options = {}, const std::string& below = "in") {
    ReadDefinition read;
    read.options = std::move(options);
    read.paths = {folder_.path(below)};
    read.userSchema = schema_;
    return read;
  }
  std::unique_ptr<StreamSource> open(Options options = {}, const std::string& below = "in") {
    StreamSourceContext context;
    context.metadataFolder = {makeLocalFileSystem(), folder_.path("checkpoint/sources/0")};
    return openFileStream(jsonFileFormat(), definition(std::move(options), below), registry_, context);
  }
  static Rows sorted(Rows rows) {
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  Rows table(const std::vector<int>& columns, Options options = {}, const std::string& below = "in") {
    const auto table = openFileTable(jsonFileFormat(), definition(std::move(options), below), registry_);
    return sorted(readRows(table->planScan({}), columns));
  }
  TemporaryFolder folder_;
  FileSystemRegistry registry_;
  SchemaPtr schema_ = DataType::structOf({{"a", intType(), false}, {"s", stringType()}});
};

TEST_F(FileSourceTest, FilesAreReadOnceInOrderOfTheirTimes) {
  folder_.write("in/z.json", "{\"a\":1}\n", 1000);
  folder_.write("in/b.json", "{\"a\":2}\n", 2000);
  const auto source = open();
  EXPECT_EQ(source->initialOffset(), std::nullopt);
  EXPECT_EQ(source->latestOffset(std::nullopt, false), "{\"logOffset\":0}");
  EXPECT_EQ(source->latestOffset("{\"logOffset\":0}", false), "{\"logOffset\":0}");
  EXPECT_EQ(readRows(source->plan(std::nullopt, "{\"logOffset\":0}"), {0}), (Rows{"1", "2"}));
  folder_.write("in/c.json", "{\"a\":3}\n", 1500);
  folder_.write("in/b.json", "{\"a\":99}\n", 9000);  // seen: never again
  EXPECT_EQ(source->latestOffset("{\"logOffset\":0}", false), "{\"logOffset\":1}");
  EXPECT_EQ(readRows(source->plan("{\"logOffset\":0}", "{\"logOffset\":1}"), {0}), Rows{"3"});
  EXPECT_EQ(source->description(), "FileStreamSource[file:" + folder_.path("in") + "]");
  EXPECT_EQ(source->reportLatestOffset(), std::nullopt);
}

TEST_F(FileSourceTest, NothingThereYet) {
  std::filesystem::create_directories(folder_.path("in"));
  const auto source = open();
  EXPECT_EQ(source->latestOffset(std::nullopt, false), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("checkpoint/sources/0/0")));
}

TEST_F(FileSourceTest, GoesOnAfterARestart) {
  folder_.write("in/a.json", "{\"a\":1}\n", 1000);
  open()->latestOffset(std::nullopt, false);
  folder_.write("in/b.json", "{\"a\":2}\n", 2000);
  const auto source = open();
  // The entry was written, but no batch used it: it is still to be read, with what is new in an entry of its
  // own.
  EXPECT_EQ(source->latestOffset(std::nullopt, false), "{\"logOffset\":1}");
  EXPECT_EQ(readRows(source->plan(std::nullopt, "{\"logOffset\":1}"), {0}), (Rows{"1", "2"}));
  EXPECT_EQ(readRows(open()->plan("{\"logOffset\":0}", "{\"logOffset\":1}"), {0}), Rows{"2"});
}

TEST_F(FileSourceTest, Limits) {
  for (int i = 0; i < 4; ++i)
    folder_.write("in/" + std::to_string(i), "{\"a\":" + std::to_string(i) + "}", 1000 + i);
  {
    const auto source = open({{"maxFilesPerTrigger", "3"}});
    ASSERT_TRUE(source->prepareForAvailableNow());
    folder_.write("in/later", "{\"a\":9}", 2000);
    EXPECT_EQ(source->latestOffset(std::nullopt, false), "{\"logOffset\":0}");
    EXPECT_EQ(readRows(source->plan(std::nullopt, "{\"logOffset\":0}"), {0}), (Rows{"0", "1", "2"}));
    EXPECT_EQ(source->latestOffset("{\"logOffset\":0}", false), "{\"logOffset\":1}");
    EXPECT_EQ(source->latestOffset("{\"logOffset\":1}", false), "{\"logOffset\":1}");
    EXPECT_EQ(readRows(source->plan("{\"logOffset\":0}", "{\"logOffset\":1}"), {0}), Rows{"3"});
  }
  std::filesystem::remove_all(folder_.path("checkpoint"));
  {
    const auto source = open({{"maxFilesPerTrigger", "2"}, {"latestFirst", "true"}});
    source->latestOffset(std::nullopt, false);
    EXPECT_EQ(readRows(source->plan(std::nullopt, "{\"logOffset\":0}"), {0}), (Rows{"9", "3"}));
  }
  std::filesystem::remove_all(folder_.path("checkpoint"));
  {
    const auto source = open({{"maxBytesPerTrigger", "1"}});  // one file at least
    source->latestOffset(std::nullopt, false);
    EXPECT_EQ(readRows(source->plan(std::nullopt, "{\"logOffset\":0}"), {0}), Rows{"0"});
    EXPECT_EQ(source->latestOffset("{\"logOffset\":0}", true), "{\"logOffset\":1}");
    EXPECT_EQ(readRows(source->plan("{\"logOffset\":0}", "{\"logOffset\":1}"), {0}),
              (Rows{"1", "2", "3", "9"}));
  }
}

// Conditions and words as Spark 4.2 gave them for the same calls.
TEST_F(FileSourceTest, WhatSparkRefuses) {
  folder_.write("in/a.json", "{\"a\":1}");
  for (const Options& options :
       {Options{{"maxFilesPerTrigger", "1"}, {"maxBytesPerTrigger", "1"}},
        Options{{"maxFilesPerTrigger", "0"}}, Options{{"modifiedAfter", "2020-01-01T00:00:00"}},
        Options{{"maxFileAge", "x"}}}) {
    EXPECT_EQ(conditionOf([&] { open(options); }), "INVALID_OPTION");
  }
  EXPECT_EQ(conditionOf([&] { open({{"cleanSource", "delete"}}); }), "UNSUPPORTED_FEATURE.THALWEG");
  EXPECT_EQ(conditionOf([&] { open({}, "none"); }), "PATH_NOT_FOUND");
  EXPECT_NO_THROW(open({}, "none*"));
  EXPECT_EQ(conditionOf([&] { table({0}, {}, "none*"); }), "PATH_NOT_FOUND");
  ReadDefinition read = definition();
  read.paths.clear();
  EXPECT_EQ(conditionOf([&] { fileStreamSchema(jsonFileFormat(), read, registry_); }),
            "_LEGACY_ERROR_TEMP_2047");
  schema_ = nullptr;
  EXPECT_EQ(conditionOf([&] { open(); }), "_LEGACY_ERROR_TEMP_2048");
  EXPECT_EQ(conditionOf([&] { table({0}); }), "UNSUPPORTED_FEATURE.THALWEG");
}

TEST_F(FileSourceTest, MaxFileAgeCountsFromTheNewestSeen) {
  folder_.write("in/a", "{\"a\":1}", 1000);
  folder_.write("in/b", "{\"a\":2}", 2000);
  const auto source = open({{"maxFileAge", "100s"}});
  source->latestOffset(std::nullopt, false);
  EXPECT_EQ(readRows(source->plan(std::nullopt, "{\"logOffset\":0}"), {0}), (Rows{"1", "2"}));
  folder_.write("in/old", "{\"a\":3}", 1899);
  EXPECT_EQ(source->latestOffset("{\"logOffset\":0}", false), "{\"logOffset\":0}");
  folder_.write("in/young", "{\"a\":4}", 1900);
  EXPECT_EQ(source->latestOffset("{\"logOffset\":0}", false), "{\"logOffset\":1}");
}

TEST_F(FileSourceTest, ADeletedFileIsNamed) {
  folder_.write("in/a.json", "{\"a\":1}", 1000);
  folder_.write("in/b.json", "{\"a\":2}", 1001);
  open()->latestOffset(std::nullopt, false);
  std::filesystem::remove(folder_.path("in/a.json"));
  try {
    open()->plan(std::nullopt, "{\"logOffset\":0}");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.condition(), "FAILED_READ_FILE.FILE_NOT_EXIST");
    EXPECT_NE(error.text().find("file://" + folder_.path("in/a.json")), std::string::npos) << error.text();
  }
  EXPECT_EQ(readRows(open({{"ignoreMissingFiles", "true"}})->plan(std::nullopt, "{\"logOffset\":0}"), {0}),
            Rows{"2"});
}

TEST_F(FileSourceTest, TheCheckpointOfAnotherFolderIsRefused) {
  folder_.write("in/a.json", "{\"a\":1}");
  folder_.write("other/a.json", "{\"a\":1}");
  open()->latestOffset(std::nullopt, false);
  EXPECT_EQ(conditionOf([&] { open({}, "other")->plan(std::nullopt, "{\"logOffset\":0}"); }),
            "INVALID_OPTION");
  EXPECT_EQ(conditionOf([&] { open()->latestOffset("{\"logOffset\":3}", false); }),
            "STREAMING_CHECKPOINT_LOG_CORRUPT");
  EXPECT_EQ(conditionOf([&] { open()->plan(std::nullopt, "17"); }), "STREAMING_CHECKPOINT_LOG_CORRUPT");
}

TEST_F(FileSourceTest, MetadataIsHiddenAndPrintedAsSpark) {
  folder_.write("in/x y%\xc3\xa9#.json", "{\"a\":1}\n", 1'700'000'000);
  const auto source = open();
  EXPECT_EQ(source->visibleColumns(), 2);
  ASSERT_EQ(source->schema()->fields().size(), 3U);
  EXPECT_EQ(source->schema()->fields()[2].name, "_metadata");
  EXPECT_TRUE(source->schema()->fields()[0].nullable);
  source->latestOffset(std::nullopt, false);
  std::string batch;
  ReadRequest request;
  request.columns = {2};
  const auto splits = source->plan(std::nullopt, "{\"logOffset\":0}");
  const auto reader = splits.at(0)->open(request);
  const auto rows = reader->next();
  ASSERT_EQ(rows->num_rows(), 1);
  const auto& metadata = static_cast<const arrow::StructArray&>(*rows->column(0));
  const auto text = [&](int field) { return metadata.field(field)->GetScalar(0).ValueOrDie()->ToString(); };
  // Spark 4.2 printed {file:/…/x%20y%25é%23.json, x%20y%25é%23.json, 8, 0, 8, …}.
  EXPECT_EQ(text(0), "file:" + folder_.path("in") + "/x%20y%25\xc3\xa9%23.json");
  EXPECT_EQ(text(1), "x%20y%25\xc3\xa9%23.json");
  EXPECT_EQ(text(2) + " " + text(3) + " " + text(4), "8 0 8");
  EXPECT_EQ(static_cast<const arrow::TimestampArray&>(*metadata.field(5)).Value(0), 1'700'000'000'000'000);
  const auto table = openFileTable(jsonFileFormat(), definition(), registry_);
  EXPECT_EQ(table->inputFiles(), Rows{"file://" + folder_.path("in") + "/x%20y%25\xc3\xa9%23.json"});
}

// Spark 4.2's answers for the same folders: k from the folder wins over k in the record.
TEST_F(FileSourceTest, PartitionColumns) {
  folder_.write("in/k=1/d=2024-01-02/f.json", "{\"a\":1}\n", 1000);
  folder_.write("in/k=__HIVE_DEFAULT_PARTITION__/d=2024-01-03/g.json", "{\"a\":3,\"k\":7}\n", 1001);
  EXPECT_EQ(openFileTable(jsonFileFormat(), definition(), registry_)->schema()->simpleString().substr(0, 43),
            "struct<a:int,s:string,k:int,d:date,_metadat");
  EXPECT_EQ(table({0, 2, 3}), (Rows{"1 1 2024-01-02", "3 null 2024-01-03"}));
  const auto source = open();
  source->latestOffset(std::nullopt, false);
  EXPECT_EQ(readRows(source->plan(std::nullopt, "{\"logOffset\":0}"), {0, 2, 3}),
            (Rows{"1 1 2024-01-02", "3 null 2024-01-03"}));
  schema_ = DataType::structOf({{"k", stringType()}, {"a", intType()}});
  EXPECT_EQ(table({0, 1}), (Rows{"1 1", "3 null"}));
  EXPECT_EQ(openFileTable(jsonFileFormat(), definition(), registry_)->schema()->fields()[1].type->id(),
            TypeId::String);
  schema_ = DataType::structOf({{"k", booleanType()}, {"a", intType()}});
  EXPECT_EQ(conditionOf([&] { table({0}); }), "INVALID_PARTITION_VALUE");
}

TEST_F(FileSourceTest, FoldersThatChangeBetweenLoadAndStartAreNoticed) {
  std::filesystem::create_directories(folder_.path("in"));
  StreamSourceContext context;
  context.metadataFolder = {makeLocalFileSystem(), folder_.path("checkpoint/sources/0")};
  context.schema = fileStreamSchema(jsonFileFormat(), definition(), registry_).schema;
  folder_.write("in/k=1/f.json", "{}");
  EXPECT_EQ(conditionOf([&] { openFileStream(jsonFileFormat(), definition(), registry_, context); }),
            "INVALID_SCHEMA");
}

TEST_F(FileSourceTest, MalformedRecordsFollowTheMode) {
  folder_.write("in/a.json", "{\"a\":1}\n{\"a\":\n\n{\"a\":3}\n");
  schema_ = DataType::structOf({{"a", intType()}, {"_corrupt_record", stringType()}});
  EXPECT_EQ(table({0, 1}), (Rows{"1 null", "3 null", "null {\"a\":"}));
  EXPECT_EQ(table({0}, {{"mode", "DROPMALFORMED"}}), (Rows{"1", "3"}));
  EXPECT_EQ(conditionOf([&] { table({0}, {{"mode", "FAILFAST"}}); }), "FAILED_READ_FILE.NO_HINT");
  EXPECT_EQ(conditionOf([&] { table({1}); }), "UNSUPPORTED_FEATURE.QUERY_ONLY_CORRUPT_RECORD_COLUMN");
  EXPECT_EQ(table({}).size(), 3U);
}

TEST_F(FileSourceTest, SmallFilesShareASplitAndBatchesAreBounded) {
  for (int i = 0; i < 100; ++i) folder_.write("in/f" + std::to_string(i), "{\"a\":1}\n{\"a\":2}\n");
  const auto table = openFileTable(jsonFileFormat(), definition(), registry_);
  EXPECT_LE(table->planScan({}).size(), 64U);
  std::string lines;
  for (int i = 0; i < 5000; ++i) lines += "{\"s\":\"" + std::string(1000, 'x') + "\"}\n";
  folder_.write("big/f", lines);
  const auto big = openFileTable(jsonFileFormat(), definition({}, "big"), registry_);
  ReadRequest request;
  request.columns = {1};
  request.maxBatchBytes = 200'000;
  const auto reader = big->planScan({}).at(0)->open(request);
  int64_t rows = 0;
  int64_t largest = 0;
  for (bool first = true; const auto batch = reader->next(); first = false) {
    rows += batch->num_rows();
    if (!first) largest = std::max(largest, batch->num_rows());
  }
  EXPECT_EQ(rows, 5000);
  EXPECT_LE(largest, 250);
}

// Spark's own checkpoint, taken over: its log's paths point to where the fixture was made, here to a copy.
class SparkCheckpoint : public FileSourceTest, public testing::WithParamInterface<std::string> {};

TEST_P(SparkCheckpoint, IsTakenOver) {
  const std::filesystem::path fixture =
      std::filesystem::path(THALWEG_SHARED_DIR) / "testdata/spark-checkpoints" / GetParam();
  if (!std::filesystem::exists(fixture)) GTEST_SKIP() << fixture << " is absent";
  std::filesystem::copy(fixture / "in", folder_.path("in"), std::filesystem::copy_options::recursive);
  std::filesystem::copy(fixture / "checkpoint", folder_.path("checkpoint"),
                        std::filesystem::copy_options::recursive);
  const auto disk = makeLocalFileSystem();
  for (const FileInfo& file : disk->list(folder_.path("checkpoint/sources/0"))) {
    if (file.name().starts_with(".")) continue;
    std::string text = disk->readAll(file.path);
    const std::string from = "/data/spark-fixtures/" + GetParam() + "/in";
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += folder_.path("in").size()) {
      text.replace(at, from.size(), folder_.path("in"));
    }
    disk->writeAtomically(file.path, text);
  }
  schema_ = DataType::structOf({{"user_id", stringType()}, {"price", doubleType()}});
  const auto source = open();
  const int64_t last = GetParam() == "files-to-delta" ? 14 : 1;
  const std::string end = "{\"logOffset\":" + std::to_string(last) + "}";
  EXPECT_EQ(source->latestOffset(end, false), end);
  // All entries give all rows; each file holds as many.
  std::ifstream expected(fixture / "expected.jsonl");
  size_t lines = 0;
  for (std::string line; std::getline(expected, line);) ++lines;
  EXPECT_EQ(readRows(source->plan(std::nullopt, end), {0, 1}).size(), lines);
  EXPECT_EQ(readRows(source->plan("{\"logOffset\":" + std::to_string(last - 1) + "}", end), {0}).size(),
            lines / static_cast<size_t>(last + 1));
  folder_.write("in/new.json", "{\"user_id\":\"u\",\"price\":1}");
  EXPECT_EQ(source->latestOffset(end, false), "{\"logOffset\":" + std::to_string(last + 1) + "}");
  EXPECT_EQ(readRows(source->plan(end, "{\"logOffset\":" + std::to_string(last + 1) + "}"), {0}), Rows{"u"});
}

INSTANTIATE_TEST_SUITE_P(Fixtures, SparkCheckpoint,
                         testing::Values("files-to-delta", "files-to-partitioned-delta"),
                         [](const auto& info) {
                           return info.param == "files-to-delta" ? "Plain" : "Partitioned";
                         });

}  // namespace
}  // namespace thalweg
