// The library through its public header alone, as another program has it.
#include "thalweg/delta.h"

#include <filesystem>
#include <map>

#include <arrow/api.h>
#include <arrow/c/bridge.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace thalweg {
namespace {

std::shared_ptr<arrow::Schema> someSchema() {
  return arrow::schema({arrow::field("id", arrow::int64()), arrow::field("p", arrow::utf8())});
}

class DeltaLibraryTest : public testing::Test {
 protected:
  DeltaLibraryTest() {
    char name[] = "/tmp/thalweg-library-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~DeltaLibraryTest() override { std::filesystem::remove_all(folder_); }

  DeltaTable create(const DeltaTable::Creation& creation = {}) {
    ArrowSchema schema;
    EXPECT_TRUE(arrow::ExportSchema(*someSchema(), &schema).ok());
    return DeltaTable::create(path(), &schema, creation);
  }
  std::string path() const { return folder_ + "/t"; }

  // Rows as JSON: "[[1, \"a\"]]".
  static void append(DeltaTransaction& transaction, const char* rows,
                     const std::shared_ptr<arrow::Schema>& schema = someSchema()) {
    const auto structs = *arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()), rows);
    const auto batch = *arrow::RecordBatch::FromStructArray(structs);
    ArrowArrayStream stream;
    ASSERT_TRUE(arrow::ExportRecordBatchReader(*arrow::RecordBatchReader::Make({batch}), &stream).ok());
    transaction.append(&stream);
  }
  static int64_t write(const DeltaTable& table, const char* rows) {
    auto transaction = table.begin();
    append(transaction, rows);
    return transaction.commit();
  }
  static std::vector<int64_t> idsOf(const DeltaTable& table) {
    ArrowArrayStream stream;
    table.scan(&stream, {"id"});
    const auto read = *(*arrow::ImportRecordBatchReader(&stream))->ToTable();
    std::vector<int64_t> ids;
    for (const auto& chunk : read->column(0)->chunks()) {
      const auto& values = static_cast<const arrow::Int64Array&>(*chunk);
      for (int64_t i = 0; i < values.length(); ++i) ids.push_back(values.Value(i));
    }
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  template <typename Function>
  static std::string conditionOf(const Function& function) {
    try {
      function();
    } catch (const DeltaError& error) {
      return error.condition();
    }
    return "none";
  }
  // Data files in the table's folder, whether the log names them or not.
  int64_t numFilesOnDisk() const {
    int64_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path()))
      count += entry.path().extension() == ".parquet";
    return count;
  }

  std::string folder_;
};

using Ids = std::vector<int64_t>;

TEST_F(DeltaLibraryTest, RowsAreReadAtTheirVersion) {
  DeltaTable table = create({{"p"}, {{"delta.appendOnly", "false"}}, "clicks"});
  EXPECT_EQ(table.version(), 0);
  EXPECT_EQ(table.partitionColumns(), std::vector<std::string>{"p"});
  EXPECT_EQ(write(table, R"([[1, "a"], [2, "b"]])"), 1);
  EXPECT_EQ(write(table, R"([[3, null]])"), 2) << "appends do not conflict, though the table was read before";
  EXPECT_EQ(idsOf(table), Ids{}) << "a table is one version until it is updated";
  EXPECT_EQ(table.update(), 2);
  EXPECT_EQ(idsOf(table), (Ids{1, 2, 3}));
  EXPECT_EQ(table.numRows(), 3);
  EXPECT_EQ(table.numFiles(), 3);
  EXPECT_EQ(idsOf(table.at(1)), (Ids{1, 2}));
  EXPECT_EQ(idsOf(DeltaTable::open(path())), (Ids{1, 2, 3}));
}

TEST_F(DeltaLibraryTest, RowsOfATableThatTracksThemHaveAPlaceForTheirIds) {
  DeltaTable table = create({{}, {{"delta.enableRowTracking", "true"}}, {}});
  EXPECT_TRUE(table.properties().contains("delta.rowTracking.materializedRowIdColumnName"));
  EXPECT_TRUE(table.properties().contains("delta.rowTracking.materializedRowCommitVersionColumnName"));
  write(table, R"([[1, "a"]])");
  write(table, R"([[2, "b"]])");
  table.update();
  EXPECT_EQ(table.optimize(), 1);
  EXPECT_EQ(idsOf(table), (Ids{1, 2}));
}

TEST_F(DeltaLibraryTest, OverwritingReplacesAllRowsInOneVersion) {
  DeltaTable table = create();
  write(table, R"([[1, "a"]])");
  table.update();
  auto transaction = table.begin();
  append(transaction, R"([[7, "z"]])");
  transaction.overwrite();
  EXPECT_EQ(transaction.commit(), 2);
  table.update();
  EXPECT_EQ(idsOf(table), Ids{7});
  EXPECT_EQ(idsOf(table.at(1)), Ids{1});
}

TEST_F(DeltaLibraryTest, AnOverwriteThatOthersWroteUnderConflictsAndLeavesNoFiles) {
  DeltaTable table = create();
  auto transaction = table.begin();
  append(transaction, R"([[7, "z"]])");
  transaction.overwrite();
  write(table, R"([[1, "a"]])");
  EXPECT_EQ(conditionOf([&] { transaction.commit(); }), "DELTA_CONCURRENT_APPEND.WITHOUT_HINT");
  table.update();
  EXPECT_EQ(idsOf(table), Ids{1});
  EXPECT_EQ(numFilesOnDisk(), 1);
}

TEST_F(DeltaLibraryTest, ATransactionWithoutACommitLeavesNoFiles) {
  const DeltaTable table = create();
  {
    auto transaction = table.begin();
    append(transaction, R"([[1, "a"]])");
  }
  EXPECT_EQ(numFilesOnDisk(), 0);
  EXPECT_EQ(DeltaTable::open(path()).version(), 0);
}

TEST_F(DeltaLibraryTest, AnApplicationsVersionIsRecordedWithItsRows) {
  DeltaTable table = create();
  EXPECT_EQ(table.applicationVersion("loader"), std::nullopt);
  auto first = table.begin(), second = table.begin();
  for (auto* transaction : {&first, &second}) {
    append(*transaction, R"([[1, "a"]])");
    transaction->setApplication("loader", 4);
  }
  first.commit();
  EXPECT_EQ(conditionOf([&] { second.commit(); }), "DELTA_CONCURRENT_TRANSACTION");
  table.update();
  EXPECT_EQ(table.applicationVersion("loader"), 4);
  EXPECT_EQ(idsOf(table), Ids{1});
}

TEST_F(DeltaLibraryTest, FilesAreListedWithWhatTheLogSaysOfThem) {
  DeltaTable::Creation byP;
  byP.partitionBy = {"p"};
  DeltaTable table = create(byP);
  write(table, R"([[1, "a"], [2, "b"], [3, "a"], [4, null]])");
  table.update();
  std::map<std::string, DeltaFile> files;
  table.files([&](const DeltaFile& file) { files[file.partitionValues.at("p").value_or("null")] = file; });
  ASSERT_EQ(files.size(), 3u);
  EXPECT_NE(files["a"].statistics->find(R"("numRecords":2)"), std::string::npos) << *files["a"].statistics;
  EXPECT_GT(files["a"].sizeInBytes, 0);
  EXPECT_TRUE(std::filesystem::exists(path() + "/" + files["a"].path));
  const auto pathsOf = [&](const PartitionValues& partition) {
    std::vector<std::string> paths;
    EXPECT_EQ(
        DeltaTable::listFiles(path(), partition, [&](const DeltaFile& file) { paths.push_back(file.path); }),
        1);
    return paths;
  };
  EXPECT_EQ(pathsOf({}).size(), 3u);
  EXPECT_EQ(pathsOf({{"P", "a"}}), std::vector{files["a"].path});
  EXPECT_EQ(pathsOf({{"p", std::nullopt}}), std::vector{files["null"].path});
  EXPECT_EQ(pathsOf({{"p", "c"}}), std::vector<std::string>{});
  const auto none = [](const DeltaFile&) {};
  EXPECT_EQ(conditionOf([&] {
              DeltaTable::listFiles(path(), {{"id", "1"}}, none);
            }),
            "DELTA_NON_PARTITION_COLUMN_REFERENCE");
  EXPECT_EQ(conditionOf([&] { DeltaTable::listFiles(path() + "x", {}, none); }), "DELTA_PATH_DOES_NOT_EXIST");
}

TEST_F(DeltaLibraryTest, OptimizingKeepsTheRowsInFewerFiles) {
  DeltaTable table = create();
  for (int i = 0; i < 5; ++i) write(table, R"([[1, "a"], [2, "b"]])");
  EXPECT_EQ(table.optimize(), 4);
  EXPECT_EQ(table.numFiles(), 1);
  EXPECT_EQ(table.numRows(), 10);
  EXPECT_EQ(table.optimize(), 0) << "nothing is left to do";
}

TEST_F(DeltaLibraryTest, RowsThatLieTogetherAreFoundInFewFiles) {
  DeltaTable table = create();
  // Each file has both ends of the ids.
  for (const char* rows : {R"([[1, "a"], [100, "b"]])", R"([[2, "a"], [99, "b"]])"}) {
    write(table, rows);
    table.update();
  }
  table.zOrder({"id"}, /*targetBytes=*/1);
  EXPECT_EQ(table.version(), 3);
  EXPECT_EQ(idsOf(table), (Ids{1, 2, 99, 100}));
  table.files([](const DeltaFile& file) {
    const auto statistics = nlohmann::json::parse(*file.statistics);
    EXPECT_EQ(statistics["minValues"]["id"] < 50, statistics["maxValues"]["id"] < 50) << *file.statistics;
  });
  EXPECT_EQ(conditionOf([&] { table.zOrder({"nope"}); }), "DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST");
  EXPECT_EQ(conditionOf([&] { table.zOrder({"a b"}); }), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA");
}

TEST_F(DeltaLibraryTest, AnEarlierVersionComesBackUntilItsFilesAreVacuumed) {
  DeltaTable table = create();
  write(table, R"([[1, "a"]])");
  table.update();
  auto overwriting = table.begin();
  overwriting.overwrite();
  append(overwriting, R"([[2, "b"]])");
  overwriting.commit();
  table.restore(1);
  EXPECT_EQ(table.version(), 3);
  EXPECT_EQ(idsOf(table), Ids{1});
  EXPECT_EQ(conditionOf([&] { table.restore(9); }), "DELTA_CANNOT_RESTORE_TABLE_VERSION");
  EXPECT_EQ(table.vacuum(), 0) << "the file of version 2 is of today";
  EXPECT_EQ(conditionOf([&] { table.vacuum(1); }), "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT");
  EXPECT_EQ(numFilesOnDisk(), 2);
}

TEST_F(DeltaLibraryTest, ColumnsAreFoundByNameAndHeldToTheTablesTypes) {
  DeltaTable table = create();
  auto transaction = table.begin();
  append(transaction, R"([["x", 5]])",
         arrow::schema({arrow::field("P", arrow::utf8()), arrow::field("ID", arrow::int64())}));
  append(transaction, R"([[6]])", arrow::schema({arrow::field("id", arrow::int64())}));
  append(transaction, R"([[8, "large"]])",
         arrow::schema({arrow::field("id", arrow::int64()), arrow::field("p", arrow::large_utf8())}));
  const auto other = arrow::schema({arrow::field("other", arrow::int64())});
  EXPECT_EQ(conditionOf([&] { append(transaction, "[[1]]", other); }), "DELTA_METADATA_MISMATCH");
  const auto text = arrow::schema({arrow::field("id", arrow::utf8())});
  EXPECT_EQ(conditionOf([&] { append(transaction, R"([["1"]])", text); }), "DELTA_FAILED_TO_MERGE_FIELDS");
  transaction.commit();
  table.update();
  EXPECT_EQ(idsOf(table), (Ids{5, 6, 8}));
}

TEST_F(DeltaLibraryTest, WhatIsNotThereIsNamed) {
  EXPECT_EQ(conditionOf([&] { DeltaTable::open(folder_ + "/none"); }), "DELTA_PATH_DOES_NOT_EXIST");
  EXPECT_EQ(conditionOf([&] { DeltaTable::open(folder_); }), "DELTA_MISSING_DELTA_TABLE");
  const DeltaTable table = create();
  EXPECT_EQ(conditionOf([&] { create(); }), "DELTA_PATH_EXISTS");
  EXPECT_EQ(conditionOf([&] { table.at(3); }), "DELTA_VERSION_NOT_FOUND");
  ArrowArrayStream stream;
  EXPECT_EQ(conditionOf([&] { table.scan(&stream, {"nope"}); }), "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION");
}

}  // namespace
}  // namespace thalweg
