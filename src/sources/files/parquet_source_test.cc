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
