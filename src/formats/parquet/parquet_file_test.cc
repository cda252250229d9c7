#include "formats/parquet/parquet_file.h"

#include <arrow/api.h>
#include <arrow/io/interfaces.h>
#include <gtest/gtest.h>

#include "common/testing/condition_of.h"
#include "storage/fault_file_system.h"
#include "types/arrow_types.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

template <typename Value, typename Builder>
std::shared_ptr<arrow::Array> build(Builder&& builder, const std::vector<std::optional<Value>>& values) {
  for (const auto& value : values) {
    if (value) {
      EXPECT_TRUE(builder.Append(*value).ok());
    } else {
      EXPECT_TRUE(builder.AppendNull().ok());
    }
  }
  return *builder.Finish();
}

std::shared_ptr<arrow::Array> longs(const std::vector<std::optional<int64_t>>& values) {
  return build<int64_t>(arrow::Int64Builder(), values);
}

std::shared_ptr<arrow::Array> strings(const std::vector<std::optional<std::string>>& values) {
  return build<std::string>(arrow::StringBuilder(), values);
}

std::shared_ptr<arrow::RecordBatch> batchOf(const SchemaPtr& schema, arrow::ArrayVector columns) {
  const int64_t rows = columns[0]->length();
  return arrow::RecordBatch::Make(toArrowSchema(*schema), rows, std::move(columns));
}

void writeFile(FileSystem& store, const std::string& path, const SchemaPtr& schema,
               const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches,
               ParquetWriteOptions options = {}) {
  ParquetFileWriter writer(store.openOutput(path), path, schema, options);
  for (const auto& batch : batches) writer.write(*batch);
  const int64_t bytes = writer.close();
  EXPECT_EQ(bytes, store.stat(path)->sizeBytes);
}

std::vector<ParquetBatch> readFile(FileSystem& store, const std::string& path, const SchemaPtr& wanted,
                                   ParquetReadOptions options = {}) {
  ParquetFileReader reader(store, path, wanted, std::move(options));
  std::vector<ParquetBatch> batches;
  while (true) {
    ParquetBatch batch = reader.next();
    if (!batch.rows) return batches;
    EXPECT_TRUE(batch.rows->ValidateFull().ok());
    batches.push_back(std::move(batch));
  }
}

TEST(ParquetFile, ReadsBackEveryTypeItWrites) {
  const auto store = makeMemoryFileSystem();
  const SchemaPtr schema = parseSchemaDdl(
      "a BIGINT, s STRING, t TIMESTAMP, d DECIMAL(9,2), n STRUCT<x: INT, y: STRING>, l ARRAY<STRING>, m "
      "MAP<STRING, BIGINT>, "
      "b BINARY, by TINYINT, day DATE, f BOOLEAN, ntz TIMESTAMP_NTZ");
  arrow::ArrayVector columns;
  const auto arrowSchema = toArrowSchema(*schema);
  for (const auto& field : arrowSchema->fields()) {
    const auto builder = *arrow::MakeBuilder(field->type());
    ASSERT_TRUE(builder->AppendEmptyValue().ok());
    ASSERT_TRUE(builder->AppendNull().ok());
    columns.push_back(*builder->Finish());
  }
  const auto batch = batchOf(schema, columns);
  writeFile(*store, "/t/f", schema, {batch});
  const auto read = readFile(*store, "/t/f", schema);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_TRUE(read[0].rows->Equals(*batch)) << read[0].rows->ToString();
  EXPECT_TRUE(equals(*readParquetSchema(*store, "/t/f"), *schema))
      << readParquetSchema(*store, "/t/f")->simpleString();
}

// 1000 rows of some 1000 bytes: batches of 10,000 bytes have about ten of them.
TEST(ParquetFile, BatchesAreBoundedByBytes) {
  const auto store = makeMemoryFileSystem();
  const SchemaPtr schema = parseSchemaDdl("s STRING");
  std::vector<std::optional<std::string>> texts;
  for (int i = 0; i < 1000; ++i) texts.push_back(std::to_string(i) + std::string(1000, 'x'));
  writeFile(*store, "/f", schema, {batchOf(schema, {strings(texts)})});
  const auto read = readFile(*store, "/f", schema, {.batchBytes = 10'000});
  EXPECT_GT(read.size(), 50U);
  EXPECT_LE(read[0].rows->num_rows(), 20);
  EXPECT_EQ(readFile(*store, "/f", schema, {}).size(), 1U);
}

TEST(ParquetFile, MissingColumnsAreNullAndOthersStayOut) {
  const auto store = makeMemoryFileSystem();
  const SchemaPtr schema = parseSchemaDdl("a BIGINT, b STRING");
  writeFile(*store, "/f", schema, {batchOf(schema, {longs({1, 2}), strings({"x", {}})})});
  const auto read = readFile(*store, "/f", parseSchemaDdl("z INT, b STRING, n STRUCT<q: INT>, B STRING"));
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].rows->column(0)->null_count(), 2);
  EXPECT_TRUE(read[0].rows->column(1)->Equals(strings({"x", {}})));
  EXPECT_EQ(read[0].rows->column(2)->null_count(), 2);
  EXPECT_EQ(read[0].rows->column(3)->null_count(), 2) << "names match exactly unless told otherwise";
  const auto ignoring = readFile(*store, "/f", parseSchemaDdl("B STRING"),
                                 {.matching = ParquetReadOptions::ColumnMatching::IgnoreCase});
  EXPECT_TRUE(ignoring[0].rows->column(0)->Equals(strings({"x", {}})));
}

TEST(ParquetFile, MatchesColumnsByFieldId) {
  const auto store = makeMemoryFileSystem();
  const auto withIds = [](const std::string& first, const std::string& second) {
    return DataType::structOf({{first, longType(), true, R"({"parquet.field.id":7})"},
                               {second, longType(), true, R"({"parquet.field.id":9})"}});
  };
  const SchemaPtr written = withIds("a", "b");
  writeFile(*store, "/f", written, {batchOf(written, {longs({1}), longs({2})})});
  const auto read = readFile(*store, "/f", withIds("renamed", "a"),
                             {.matching = ParquetReadOptions::ColumnMatching::FieldId});
  EXPECT_TRUE(read[0].rows->column(0)->Equals(longs({1})));
  EXPECT_TRUE(read[0].rows->column(1)->Equals(longs({2})));
}

TEST(ParquetFile, WidensAndRefuses) {
  const auto store = makeMemoryFileSystem();
  const SchemaPtr schema = parseSchemaDdl("a INT");
  writeFile(*store, "/f", schema, {batchOf(schema, {build<int32_t>(arrow::Int32Builder(), {{1}, {}})})});
  EXPECT_TRUE(readFile(*store, "/f", parseSchemaDdl("a BIGINT"))[0].rows->column(0)->Equals(longs({1, {}})));
  EXPECT_EQ(conditionOf([&] { readFile(*store, "/f", parseSchemaDdl("a STRING")); }),
            "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH");
}

TEST(ParquetFile, KnowsRowPositionsAcrossPrunedRowGroups) {
  const auto store = makeMemoryFileSystem();
  const SchemaPtr schema = parseSchemaDdl("a BIGINT");
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (int64_t i = 0; i < 3; ++i) batches.push_back(batchOf(schema, {longs({i * 2, i * 2 + 1})}));
  writeFile(*store, "/f", schema, batches, {.rowGroupRows = 2});
  const auto all = readFile(*store, "/f", schema);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].firstRowIndex, 4);
  ParquetReadOptions options;
  options.keepRowGroup = [](const ParquetRowGroup& group) {
    EXPECT_EQ(group.numRows, 2);
    EXPECT_EQ(group.columns.at("a").nullCount, 0);
    return static_cast<const arrow::Int64Scalar&>(*group.columns.at("a").min).value >= 4;
  };
  const auto kept = readFile(*store, "/f", schema, options);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].firstRowIndex, 4);
  EXPECT_TRUE(kept[0].rows->column(0)->Equals(longs({4, 5})));
  const auto counted = readFile(*store, "/f", parseSchemaDdl("a BIGINT")->structOf({}), {.batchRows = 3});
  int64_t rows = 0;
  for (const ParquetBatch& batch : counted) rows += batch.rows->num_rows();
  EXPECT_EQ(rows, 6);
}

TEST(ParquetFile, ReadsTablesByDottedPath) {
  const auto store = makeMemoryFileSystem();
  const SchemaPtr schema = parseSchemaDdl("a STRUCT<x: BIGINT, y: BIGINT>, ab BIGINT");
  const auto nested = *arrow::StructArray::Make({longs({1}), longs({2})}, std::vector<std::string>{"x", "y"});
  writeFile(*store, "/f", schema, {batchOf(schema, {nested, longs({3})})});
  EXPECT_EQ(readParquetTable(*store, "/f")->num_columns(), 2);
  const auto one = readParquetTable(*store, "/f", {"a.y", "nothing"});
  ASSERT_EQ(one->num_columns(), 1);
  EXPECT_EQ(one->schema()->field(0)->type()->ToString(), "struct<y: int64>");
  EXPECT_EQ(readParquetTable(*store, "/f", {"a"})->schema()->field(0)->type()->num_fields(), 2);
}

TEST(ParquetFile, HoldsItsMemoryBound) {
  const auto store = makeMemoryFileSystem();
  const SchemaPtr schema = parseSchemaDdl("s STRING");
  const std::string path = "/f";
  ParquetFileWriter writer(
      store->openOutput(path), path, schema,
      {.compression = ParquetWriteOptions::Compression::Uncompressed, .rowGroupBytes = 4 << 20});
  int64_t largest = 0;
  for (int64_t i = 0; i < 40; ++i) {
    std::vector<std::optional<std::string>> values;
    for (int64_t j = 0; j < 5000; ++j)
      values.push_back(std::to_string(i * 7919 + j * 104729) + std::string(100, 'x'));
    writer.write(*batchOf(schema, {strings(values)}));
    largest = std::max(largest, writer.bufferedBytes());
  }
  writer.close();
  EXPECT_LT(largest, 12 << 20);
}

TEST(ParquetFile, DamagedFilesAreErrorsThatNameThem) {
  const auto store = makeMemoryFileSystem();
  const SchemaPtr schema = parseSchemaDdl("a BIGINT, s STRING");
  writeFile(*store, "/f", schema, {batchOf(schema, {longs({1, 2}), strings({"x", "y"})})});
  EXPECT_EQ(conditionOf([&] { readFile(*store, "/none", schema); }), "PATH_NOT_FOUND");
  const std::string whole = store->readAll("/f");
  for (size_t length = 0; length < whole.size(); length += 7) {
    store->writeAtomically("/cut", whole.substr(0, length));
    EXPECT_EQ(conditionOf([&] { readFile(*store, "/cut", schema); }), "FAILED_READ_FILE.NO_HINT") << length;
  }
}

TEST(ParquetFile, EveryFailingWriteIsAnError) {
  FaultFileSystem store(makeMemoryFileSystem());
  const SchemaPtr schema = parseSchemaDdl("a BIGINT");
  const auto write = [&] { writeFile(store, "/f", schema, {batchOf(schema, {longs({1, 2})})}); };
  write();
  const int64_t calls = store.calls(FileOperation::StreamWrite);
  ASSERT_GT(calls, 0);
  for (int64_t call = 1; call <= calls; ++call) {
    store.clear();
    store.inject({.operation = FileOperation::StreamWrite, .call = call, .errorNumber = ENOSPC});
    EXPECT_EQ(conditionOf(write), "STORAGE_FAILURE") << call;
  }
  store.clear();
  store.inject({.operation = FileOperation::StreamClose, .call = 1});
  EXPECT_EQ(conditionOf(write), "STORAGE_FAILURE");
}

}  // namespace
}  // namespace thalweg
