#include "sources/files/parquet_records.h"

#include <arrow/io/interfaces.h>
#include <arrow/scalar.h>

#include "formats/parquet/parquet_file.h"
#include "sources/files/file_source.h"
#include "sources/files/files_test_support.h"
#include "types/arrow_types.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

using Rows = std::vector<std::string>;
using Op = ColumnPredicate::Op;

class ParquetSourceTest : public testing::Test {
 protected:
  // A file of a BIGINT column `name` that counts from `first`, in row groups of 10.
  void writeLongs(const std::string& file, int64_t first, int64_t count, const std::string& name = "a") {
    arrow::Int64Builder builder;
    for (int64_t i = 0; i < count; ++i) ASSERT_TRUE(builder.Append(first + i).ok());
    writeColumn(file, name + " BIGINT", *builder.Finish());
  }
  void writeColumn(const std::string& file, const std::string& column,
                   const std::shared_ptr<arrow::Array>& values) {
    const SchemaPtr schema = parseSchemaDdl(column);
    ParquetWriteOptions options;
    options.rowGroupRows = 10;
    ParquetFileWriter writer(store_->openOutput(folder_.path(file)), file, schema, options);
    writer.write(*arrow::RecordBatch::Make(toArrowSchema(*schema), values->length(), {values}));
    writer.close();
  }
  std::shared_ptr<Table> table(const std::string& path, Options options = {}, SchemaPtr schema = nullptr) {
    ReadDefinition read;
    read.options = std::move(options);
    read.paths = {folder_.path(path)};
    read.userSchema = std::move(schema);
    return openFileTable(parquetFileFormat(), read, registry_);
  }
  static std::string columnsOf(const Table& table) {
    const auto& fields = table.schema()->fields();
    return DataType::structOf({fields.begin(), fields.begin() + table.visibleColumns()})->simpleString();
  }
  static ColumnPredicate equal(const std::string& column, int64_t value) {
    return {column, Op::Equal, std::make_shared<arrow::Int64Scalar>(value)};
  }

  TemporaryFolder folder_;
  std::shared_ptr<FileSystem> store_ = makeLocalFileSystem();
  FileSystemRegistry registry_;
};

TEST_F(ParquetSourceTest, TheFirstFileSaysTheColumnsAndFoldersTheRest) {
  writeLongs("t/k=1/a.parquet", 1, 2);
  writeLongs("t/k=2/b.parquet", 3, 1);
  folder_.write("t/_SUCCESS", "");
  const auto read = table("t");
  EXPECT_EQ(columnsOf(*read), "struct<a:bigint,k:int>");
  EXPECT_EQ(readRows(read->planScan({}), {0, 1}), (Rows{"1 1", "2 1", "3 2"}));
  EXPECT_EQ(readRows(read->planScan({}), {}).size(), 3U) << "rows without columns are counted";
}

// Spark 4.2's answers. A column that folders say too has their values; it keeps the place that the files give
// it, with the type that the folders give it, and comes last where the user gives the schema.
TEST_F(ParquetSourceTest, AColumnOfFilesAndFolders) {
  const auto longsOf = [](std::vector<int64_t> values) {
    arrow::Int64Builder builder;
    EXPECT_TRUE(builder.AppendValues(values).ok());
    return *builder.Finish();
  };
  const auto write = [&](const std::string& file, const std::string& ddl, const std::vector<int64_t>& row) {
    const SchemaPtr schema = parseSchemaDdl(ddl);
    ParquetFileWriter writer(store_->openOutput(folder_.path(file)), file, schema, {});
    arrow::ArrayVector columns;
    for (const int64_t value : row) columns.push_back(longsOf({value}));
    writer.write(*arrow::RecordBatch::Make(toArrowSchema(*schema), 1, columns));
    writer.close();
  };
  write("t/k=1/f.parquet", "id BIGINT, K BIGINT, v BIGINT", {5, 9, 6});
  const auto found = table("t");
  EXPECT_EQ(columnsOf(*found), "struct<id:bigint,k:int,v:bigint>");
  EXPECT_EQ(readRows(found->planScan({}), {0, 1, 2}), Rows{"5 1 6"});
  EXPECT_EQ(readRows(found->planScan({}), {1}), Rows{"1"});
  EXPECT_EQ(readRows(found->planScan({}), {2, 0}), Rows{"6 5"});
  const auto given = table("t", {}, parseSchemaDdl("k STRING, id BIGINT, v BIGINT"));
  EXPECT_EQ(columnsOf(*given), "struct<id:bigint,v:bigint,k:string>");
  EXPECT_EQ(readRows(given->planScan({}), {0, 1, 2}), Rows{"5 6 1"});

  write("several/a=1/b=2/c=3/f.parquet", "id BIGINT, b BIGINT, v BIGINT, a BIGINT", {5, 9, 6, 8});
  const auto several = table("several");
  EXPECT_EQ(columnsOf(*several), "struct<id:bigint,b:int,v:bigint,a:int,c:int>");
  EXPECT_EQ(readRows(several->planScan({}), {0, 1, 2, 3, 4}), Rows{"5 2 6 1 3"});
  EXPECT_EQ(columnsOf(*table("several", {}, parseSchemaDdl("id BIGINT, b INT, v BIGINT, a INT"))),
            "struct<id:bigint,v:bigint,a:int,b:int,c:int>");

  ReadDefinition stream;
  stream.paths = {folder_.path("several")};
  stream.userSchema = parseSchemaDdl("id BIGINT, b INT, v BIGINT, a INT");
  EXPECT_EQ(fileStreamSchema(parquetFileFormat(), stream, registry_).schema->simpleString().substr(0, 44),
            "struct<id:bigint,v:bigint,a:int,b:int,c:int,");
}

// Spark 4.2: with recursiveFileLookup folders say nothing, and files have their own values.
TEST_F(ParquetSourceTest, FoldersSayNothingWhereTheLookupIsRecursive) {
  writeLongs("t/k=1/x/a.parquet", 7, 1, "k");
  const Options options = {{"recursiveFileLookup", "true"}};
  EXPECT_EQ(columnsOf(*table("t", options)), "struct<k:bigint>");
  EXPECT_EQ(readRows(table("t", options)->planScan({}), {0}), Rows{"7"});
  ReadDefinition read;
  read.paths = {folder_.path("t")};
  read.options = options;
  read.userSchema = parseSchemaDdl("k BIGINT");
  StreamSourceContext context;
  context.metadataFolder = {store_, folder_.path("checkpoint/sources/0")};
  const auto source = openFileStream(parquetFileFormat(), read, registry_, context);
  EXPECT_EQ(source->visibleColumns(), 1);
  EXPECT_EQ(readRows(source->plan(std::nullopt, *source->latestOffset(std::nullopt, false)), {0}), Rows{"7"});
}

// A batch read as a whole and handed out in parts counts by its parts: after the first rows, of which the
// size is not known, batches are as large as asked for.
TEST_F(ParquetSourceTest, BatchesGrowToTheirSizeAtOnce) {
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < 40'000; ++i) ASSERT_TRUE(builder.Append(i).ok());
  const SchemaPtr schema = parseSchemaDdl("a BIGINT");
  ParquetFileWriter writer(store_->openOutput(folder_.path("t/a.parquet")), "a.parquet", schema, {});
  writer.write(*arrow::RecordBatch::Make(toArrowSchema(*schema), 40'000, {*builder.Finish()}));
  writer.close();
  ReadRequest request;
  request.columns = {0};
  request.maxBatchBytes = 20'000 * 8;
  const auto reader = table("t")->planScan({}).at(0)->open(request);
  std::vector<int64_t> sizes;
  while (const auto batch = reader->next()) sizes.push_back(batch->num_rows());
  ASSERT_GE(sizes.size(), 2U);
  EXPECT_EQ(sizes[0], 1024);
  EXPECT_GT(sizes[1], 10'000);
  EXPECT_LE(sizes.size(), 5U);
}

TEST_F(ParquetSourceTest, ModesOfAncientTimesHaveThreeNames) {
  writeLongs("t/a.parquet", 1, 1);
  for (const char* name : {"CORRECTED", "EXCEPTION", "LEGACY"})
    EXPECT_NO_THROW(table("t", {{"datetimeRebaseMode", name}, {"int96RebaseMode", name}}));
  EXPECT_EQ(conditionOf([&] { table("t", {{"datetimeRebaseMode", "legacy"}}); }), "INVALID_OPTION");
  const Options setting = {{"spark.sql.parquet.int96RebaseModeInRead", "other"}};
  EXPECT_EQ(conditionOf([&] { table("t", setting); }), "INVALID_OPTION");
  Options both = setting;
  both.set("int96RebaseMode", "LEGACY");
  EXPECT_NO_THROW(table("t", both)) << "the option counts before the setting";
}

// Spark 4.2: without the option one file's columns, with it all of them, in the order of the files.
TEST_F(ParquetSourceTest, SchemasAreMergedWhenAsked) {
  writeLongs("t/1.parquet", 1, 1, "a");
  writeLongs("t/2.parquet", 2, 1, "b");
  EXPECT_EQ(columnsOf(*table("t")), "struct<a:bigint>");
  EXPECT_EQ(readRows(table("t")->planScan({}), {0}), (Rows{"1", "null"}));
  EXPECT_EQ(columnsOf(*table("t", {{"mergeSchema", "true"}})), "struct<a:bigint,b:bigint>");
  EXPECT_EQ(columnsOf(*table("t", {{"spark.sql.parquet.mergeSchema", "true"}})), "struct<a:bigint,b:bigint>");
  EXPECT_EQ(columnsOf(*table("t", {{"spark.sql.parquet.mergeSchema", "true"}, {"mergeSchema", "false"}})),
            "struct<a:bigint>");
  arrow::StringBuilder texts;
  ASSERT_TRUE(texts.Append("x").ok());
  writeColumn("t/3.parquet", "A STRING", *texts.Finish());
  EXPECT_EQ(conditionOf([&] { table("t", {{"mergeSchema", "true"}}); }), "CANNOT_MERGE_SCHEMAS");
}

// Spark 4.2's answers, by the setting spark.sql.caseSensitive.
TEST_F(ParquetSourceTest, ColumnsThatDifferInCaseOnly) {
  const Options exact = {{"spark.sql.caseSensitive", "true"}};
  const auto longsOf = [](int64_t value) {
    arrow::Int64Builder builder;
    EXPECT_TRUE(builder.Append(value).ok());
    return *builder.Finish();
  };
  const auto write = [&](const std::string& file, const std::string& ddl, const arrow::ArrayVector& columns) {
    const SchemaPtr schema = parseSchemaDdl(ddl);
    ParquetFileWriter writer(store_->openOutput(folder_.path(file)), file, schema, {});
    writer.write(*arrow::RecordBatch::Make(toArrowSchema(*schema), 1, columns));
    writer.close();
  };
  write("t/f.parquet", "A BIGINT, a BIGINT, b BIGINT", {longsOf(1), longsOf(2), longsOf(3)});
  const auto read = [&](const std::string& ddl, Options options) {
    return readRows(table("t", std::move(options), parseSchemaDdl(ddl))->planScan({}), {0});
  };
  EXPECT_EQ(conditionOf([&] { table("t"); }), "COLUMN_ALREADY_EXISTS");
  EXPECT_EQ(conditionOf([&] { table("t", {{"mergeSchema", "true"}}); }), "COLUMN_ALREADY_EXISTS");
  for (const char* ddl : {"a BIGINT", "A BIGINT"})
    EXPECT_EQ(conditionOf([&] { read(ddl, {}); }), "FAILED_READ_FILE.NO_HINT") << ddl;
  EXPECT_EQ(read("b BIGINT", {}), Rows{"3"});
  EXPECT_EQ(readRows(table("t", {}, parseSchemaDdl("a BIGINT, b BIGINT"))->planScan({}), {1}), Rows{"3"});
  EXPECT_EQ(readRows(table("t", {}, parseSchemaDdl("a BIGINT"))->planScan({}), {}).size(), 1U);
  EXPECT_EQ(read("a BIGINT", {{"ignoreCorruptFiles", "true"}}), Rows{});
  EXPECT_EQ(conditionOf([&] { read("a INT, A STRING", {}); }), "COLUMN_ALREADY_EXISTS");
  EXPECT_EQ(columnsOf(*table("t", exact)), "struct<A:bigint,a:bigint,b:bigint>");
  EXPECT_EQ(readRows(table("t", exact)->planScan({}), {0, 1, 2}), Rows{"1 2 3"});
  EXPECT_EQ(read("a BIGINT", exact), Rows{"2"});
  EXPECT_EQ(read("A BIGINT", exact), Rows{"1"});
  EXPECT_EQ(read("B BIGINT", exact), Rows{"null"});
  EXPECT_EQ(readRows(table("t", exact, parseSchemaDdl("a BIGINT"))->planScan({equal("a", 2)}), {0}),
            Rows{"2"});
  EXPECT_EQ(conditionOf([&] { read("a INT, a INT", exact); }), "COLUMN_ALREADY_EXISTS");

  const SchemaPtr pair = parseSchemaDdl("X BIGINT, x BIGINT, y BIGINT");
  const auto nested =
      *arrow::StructArray::Make({longsOf(1), longsOf(2), longsOf(3)}, toArrowSchema(*pair)->fields());
  write("nested/f.parquet", "s STRUCT<X: BIGINT, x: BIGINT, y: BIGINT>", {nested});
  const auto readNested = [&](const std::string& ddl, Options options) {
    return readRows(table("nested", std::move(options), parseSchemaDdl(ddl))->planScan({}), {0}).size();
  };
  EXPECT_EQ(conditionOf([&] { table("nested"); }), "COLUMN_ALREADY_EXISTS");
  EXPECT_EQ(conditionOf([&] { readNested("s STRUCT<x: BIGINT>", {}); }), "FAILED_READ_FILE.NO_HINT");
  EXPECT_EQ(conditionOf([&] { readNested("s STRUCT<x: INT, X: INT>", {}); }), "COLUMN_ALREADY_EXISTS");
  EXPECT_EQ(readNested("s STRUCT<y: BIGINT>", {}), 1U);
  EXPECT_EQ(readNested("s STRUCT<x: BIGINT, X: BIGINT>", exact), 1U);

  writeLongs("files/1.parquet", 1, 1, "A");
  writeLongs("files/2.parquet", 2, 1, "a");
  EXPECT_EQ(readRows(table("files")->planScan({}), {0}), (Rows{"1", "2"}));
  EXPECT_EQ(readRows(table("files", exact)->planScan({}), {0}), (Rows{"1", "null"}));
  Options merged = exact;
  merged.set("mergeSchema", "true");
  EXPECT_EQ(columnsOf(*table("files", merged)), "struct<A:bigint,a:bigint>");

  writeLongs("folders/a=1/A=2/f.parquet", 7, 1, "v");
  EXPECT_EQ(conditionOf([&] { table("folders"); }), "COLUMN_ALREADY_EXISTS");
  EXPECT_EQ(readRows(table("folders", exact)->planScan({}), {0, 1, 2}), Rows{"7 1 2"});
}

// Spark answers load() and fails the first batch.
TEST_F(ParquetSourceTest, AStreamOfColumnsThatDifferInCaseOnlyIsRefusedAtItsStart) {
  std::filesystem::create_directories(folder_.path("in"));
  ReadDefinition read;
  read.paths = {folder_.path("in")};
  read.userSchema = parseSchemaDdl("a BIGINT, A STRING");
  StreamSourceContext context;
  context.metadataFolder = {store_, folder_.path("checkpoint/sources/0")};
  EXPECT_NO_THROW(fileStreamSchema(parquetFileFormat(), read, registry_));
  EXPECT_EQ(conditionOf([&] { openFileStream(parquetFileFormat(), read, registry_, context); }),
            "COLUMN_ALREADY_EXISTS");
}

// Spark 4.2: files where the partition folders begin are no part of the read, others cannot be told from it.
TEST_F(ParquetSourceTest, FilesBesidePartitionFolders) {
  writeLongs("t/v=1/f.parquet", 7, 1);
  writeLongs("t/f.parquet", 8, 1);
  EXPECT_EQ(readRows(table("t")->planScan({}), {0, 1}), Rows{"7 1"});
  writeLongs("t/v=2/deeper/f.parquet", 9, 1);
  EXPECT_EQ(readRows(table("t")->planScan({}), {0, 1}), (Rows{"7 1", "9 2"}));
  writeLongs("t/x/f.parquet", 10, 1);
  EXPECT_EQ(conditionOf([&] { table("t"); }), "CONFLICTING_DIRECTORY_STRUCTURES");
}

TEST_F(ParquetSourceTest, FoldersOfOtherSpellingsAreOneColumn) {
  writeLongs("t/P=1/f.parquet", 7, 1);
  writeLongs("t/p=2/f.parquet", 8, 1);
  EXPECT_EQ(columnsOf(*table("t")), "struct<a:bigint,P:int>");
  EXPECT_EQ(readRows(table("t")->planScan({}), {0, 1}), (Rows{"7 1", "8 2"}));
  writeLongs("unnamed/=1/f.parquet", 7, 1);
  EXPECT_EQ(conditionOf([&] { table("unnamed"); }), "EMPTY_PARTITION_COLUMN_NAME");
}

TEST_F(ParquetSourceTest, WithoutFilesThereIsNoSchema) {
  std::filesystem::create_directories(folder_.path("t"));
  EXPECT_EQ(conditionOf([&] { table("t"); }), "UNABLE_TO_INFER_SCHEMA");
  EXPECT_EQ(conditionOf([&] { table("none"); }), "PATH_NOT_FOUND");
  EXPECT_TRUE(readRows(table("t", {}, parseSchemaDdl("a INT"))->planScan({}), {0}).empty());
}

TEST_F(ParquetSourceTest, ABrokenFileIsNamedOrPassedOver) {
  folder_.write("t/x.parquet", "not a parquet file at all");
  EXPECT_EQ(conditionOf([&] { table("t"); }), "FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER");
  EXPECT_EQ(conditionOf([&] { table("t", {{"ignoreCorruptFiles", "true"}}); }), "UNABLE_TO_INFER_SCHEMA");
  const SchemaPtr schema = parseSchemaDdl("a BIGINT");
  EXPECT_EQ(conditionOf([&] { readRows(table("t", {}, schema)->planScan({}), {0}); }),
            "FAILED_READ_FILE.NO_HINT");
  writeLongs("t/y.parquet", 5, 1);
  EXPECT_EQ(readRows(table("t", {{"ignoreCorruptFiles", "true"}}, schema)->planScan({}), {0}), Rows{"5"});
  EXPECT_EQ(readRows(table("t", {{"spark.sql.files.ignoreCorruptFiles", "true"}}, schema)->planScan({}), {0}),
            Rows{"5"});
}

TEST_F(ParquetSourceTest, ColumnsThatDoNotFitAreNamed) {
  writeLongs("t/a.parquet", 1, 1);
  EXPECT_EQ(conditionOf([&] { readRows(table("t", {}, parseSchemaDdl("a STRING"))->planScan({}), {0}); }),
            "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH");
  EXPECT_EQ(readRows(table("t", {}, parseSchemaDdl("A BIGINT, b INT"))->planScan({}), {0, 1}),
            Rows{"1 null"});
}

TEST_F(ParquetSourceTest, RowGroupsThatCannotMatchStayUnread) {
  writeLongs("t/a.parquet", 0, 30);
  const auto read = table("t");
  EXPECT_EQ(readRows(read->planScan({equal("a", 15)}), {0}).size(), 10U);
  EXPECT_EQ(readRows(read->planScan({equal("a", 99)}), {0}).size(), 0U);
  EXPECT_EQ(readRows(read->planScan({equal("unknown", 1)}), {0}).size(), 30U);
}

TEST_F(ParquetSourceTest, FoldersThatCannotMatchStayUnread) {
  writeLongs("t/k=1/a.parquet", 1, 1);
  folder_.write("t/k=2/b.parquet", "not read");
  const auto read = table("t", {}, parseSchemaDdl("a BIGINT, k BIGINT"));
  EXPECT_EQ(readRows(read->planScan({equal("k", 1)}), {0, 1}), Rows{"1 1"});
}

TEST_F(ParquetSourceTest, MetadataCountsRowsOfTheFile) {
  writeLongs("t/a.parquet", 0, 25);
  const auto read = table("t");
  const auto batches = read->planScan({equal("a", 12)});  // the first row group is left out
  ReadRequest request;
  request.columns = {0, 1};
  request.maxBatchRows = 4;
  const auto reader = batches.at(0)->open(request);
  int64_t row = 10;
  while (const auto batch = reader->next()) {
    ASSERT_LE(batch->num_rows(), 4);
    const auto& metadata = static_cast<const arrow::StructArray&>(*batch->column(1));
    const auto& indexes = static_cast<const arrow::Int64Array&>(*metadata.GetFieldByName("row_index"));
    const auto& values = static_cast<const arrow::Int64Array&>(*batch->column(0));
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      EXPECT_EQ(indexes.Value(i), row);
      EXPECT_EQ(values.Value(i), row++);
    }
  }
  EXPECT_EQ(row, 20);
}

TEST_F(ParquetSourceTest, AStreamTakesNewFiles) {
  std::filesystem::create_directories(folder_.path("in"));
  ReadDefinition read;
  read.paths = {folder_.path("in")};
  EXPECT_EQ(conditionOf([&] { fileStreamSchema(parquetFileFormat(), read, registry_); }),
            "_LEGACY_ERROR_TEMP_2048");
  read.userSchema = parseSchemaDdl("a BIGINT");
  StreamSourceContext context;
  context.metadataFolder = {store_, folder_.path("checkpoint/sources/0")};
  const auto source = openFileStream(parquetFileFormat(), read, registry_, context);
  writeLongs("in/a.parquet", 1, 1);
  const auto first = source->latestOffset(std::nullopt, false);
  ASSERT_TRUE(first);
  EXPECT_EQ(readRows(source->plan(std::nullopt, *first), {0}), Rows{"1"});
  writeLongs("in/b.parquet", 2, 1);
  const auto second = source->latestOffset(first, false);
  EXPECT_EQ(readRows(source->plan(first, *second), {0}), Rows{"2"});
}

// Written by Spark 4.2: three batches of a streaming query, and its log.
TEST_F(ParquetSourceTest, ReadsWhatSparksFileSinkWrote) {
  const std::filesystem::path from =
      std::string(THALWEG_SHARED_DIR) + "/testdata/spark-checkpoints/file-sink-parquet/table";
  if (!std::filesystem::exists(from)) GTEST_SKIP() << from << " is absent";
  for (const auto& file : std::filesystem::directory_iterator(from)) {
    if (file.is_regular_file())
      std::filesystem::copy(file, std::filesystem::path(folder_.path()) / file.path().filename());
  }
  EXPECT_EQ(table("")->inputFiles().size(), 3U);
  const auto rows = readRows(table("")->planScan({}), {0}).size();
  EXPECT_GT(rows, 0U);
  // The log's addresses are of where it was written: they move with the folder.
  for (int batch = 0; batch < 2; ++batch) {
    std::string log = store_->readAll((from / "_spark_metadata" / std::to_string(batch)).string());
    const std::string old = "file:///data/spark-fixtures/file-sink-parquet/table";
    const size_t at = log.find(old);
    ASSERT_NE(at, std::string::npos);
    folder_.write("_spark_metadata/" + std::to_string(batch),
                  log.replace(at, old.size(), "file://" + folder_.path()));
  }
  EXPECT_EQ(table("")->inputFiles().size(), 2U) << "the third batch is not in the log";
}

}  // namespace
}  // namespace thalweg
