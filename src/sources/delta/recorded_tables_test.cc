// Tables of other writers, read as batches, at older versions, as streams and as change feeds, against what
// Spark says they hold: a few small ones of the repository's own, and many where ../shared is.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "formats/parquet/parquet_file.h"
#include "sources/delta/change_feed_table.h"
#include "sources/delta/delta_table.h"
#include "sources/delta/delta_test_support.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class RecordedTables : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    root_ = GetParam();
    if (!fs::exists(root_ / "MANIFEST.json")) GTEST_SKIP() << "no test tables at " << root_;
    manifest_ = json::parse(std::ifstream(root_ / "MANIFEST.json"))["tables"];
    scratch_ = fs::temp_directory_path() / ("thalweg-recorded-" + std::to_string(::getpid()));
  }
  void TearDown() override { fs::remove_all(scratch_); }

  // Files of a case that hold absolute paths say {CASE} for its place: those are read from a copy that has
  // it.
  fs::path placed(const json& table) {
    const fs::path at = root_ / table["path"].get<std::string>();
    if (!table["path"].get<std::string>().ends_with("restore-clone")) return fs::weakly_canonical(at);
    const fs::path copy = scratch_ / "case";
    fs::remove_all(copy);
    fs::create_directories(scratch_);
    fs::copy(at, copy, fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(copy)) {
      if (entry.path().extension() != ".json" && entry.path().extension() != ".crc") continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      std::string changed = text.str();
      for (size_t i; (i = changed.find("{CASE}")) != std::string::npos;) changed.replace(i, 6, copy.string());
      fs::permissions(entry.path(), fs::perms::owner_write, fs::perm_options::add);
      std::ofstream(entry.path()) << changed;
    }
    return copy;
  }

  static std::shared_ptr<delta::DeltaLog> open(const fs::path& table) {
    return std::make_shared<delta::DeltaLog>(Location{makeLocalFileSystem(), table.string()});
  }

  static RowTexts expected(const fs::path& folder, const SchemaPtr& schema) {
    const auto store = makeLocalFileSystem();
    RowTexts rows;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".parquet") continue;
      ParquetReadOptions options;
      options.matching = ParquetReadOptions::ColumnMatching::IgnoreCase;
      ParquetFileReader reader(*store, entry.path().string(), schema, options);
      while (const auto batch = reader.next().rows) addRowTexts(*batch, &rows);
    }
    return rows;
  }

  static void expectSame(const RowTexts& got, const RowTexts& wanted) {
    EXPECT_EQ(got.size(), wanted.size());
    EXPECT_TRUE(got == wanted) << "first got: " << (got.empty() ? "" : *got.begin())
                               << "\nfirst wanted: " << (wanted.empty() ? "" : *wanted.begin());
  }

  static SchemaPtr firstFields(const SchemaPtr& schema, int count) {
    return DataType::structOf({schema->fields().begin(), schema->fields().begin() + count});
  }

  // The least number of tables that a test must have compared.
  int atLeast(int shared, int own) const { return isOwn() ? own : shared; }
  bool isOwn() const { return root_.string().starts_with(THALWEG_TEST_DATA_DIR); }
  bool tracksRows(const json& table) const {
    return isOwn() ? table["tracksRows"].get<bool>() : table["path"] == "spark-4.4/row-tracking";
  }

  fs::path root_;
  fs::path scratch_;
  json manifest_;
};

TEST_P(RecordedTables, EveryRecordedVersionHasItsRows) {
  int compared = 0;
  for (const json& table : manifest_) {
    if (!table["answer"].contains("also")) continue;
    SCOPED_TRACE(table["path"].get<std::string>());
    const fs::path at = placed(table);
    for (const std::string name : table["answer"]["also"]) {
      if (!name.starts_with('v')) continue;
      SCOPED_TRACE(name);
      const auto read =
          openDeltaTable(open(at / "delta"), {}, Options{{"versionAsOf", name.substr(1)}}, "UTC");
      RowTexts rows;
      readSplits(read->planScan({}), read->visibleColumns(), &rows);
      expectSame(rows, expected(at / "expected" / name, firstFields(read->schema(), read->visibleColumns())));
      ++compared;
    }
  }
  EXPECT_GE(compared, atLeast(36, 4));
}

TEST_P(RecordedTables, RowIdsAndTheirVersionsAreThoseOfSpark) {
  for (const json& table : manifest_) {
    if (!tracksRows(table)) continue;
    const fs::path at = placed(table);
    const auto read = openDeltaTable(open(at / "delta"), {}, {}, "UTC");
    ReadRequest request;
    const int id = 0;
    const int metadata = read->visibleColumns();
    request.columns = {id, metadata};
    std::set<std::tuple<int64_t, int64_t, int64_t>> got;
    for (const SplitPtr& split : read->planScan({})) {
      const auto reader = split->open(request);
      while (const auto batch = reader->next()) {
        const auto& members = static_cast<const arrow::StructArray&>(*batch->column(1));
        const auto member = [&](const char* name) {
          return std::static_pointer_cast<arrow::Int64Array>(members.GetFieldByName(name));
        };
        for (int64_t row = 0; row < batch->num_rows(); ++row) {
          got.emplace(static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(row),
                      member("row_id")->Value(row), member("row_commit_version")->Value(row));
        }
      }
    }
    std::set<std::tuple<int64_t, int64_t, int64_t>> wanted;
    const auto schema =
        DataType::structOf({{"id", longType()}, {"row_id", longType()}, {"row_commit_version", longType()}});
    for (const auto& entry : fs::directory_iterator(at / "expected/rowids")) {
      if (entry.path().extension() != ".parquet") continue;
      const auto store = makeLocalFileSystem();
      ParquetFileReader reader(*store, entry.path().string(), schema);
      while (const auto batch = reader.next().rows) {
        const auto value = [&](int column, int64_t row) {
          return static_cast<const arrow::Int64Array&>(*batch->column(column)).Value(row);
        };
        for (int64_t row = 0; row < batch->num_rows(); ++row)
          wanted.emplace(value(0, row), value(1, row), value(2, row));
      }
    }
    EXPECT_EQ(wanted.size(), isOwn() ? 6u : 10u);
    EXPECT_EQ(got, wanted);
  }
}

// The feed as a batch, and as a stream that takes a file a batch.
TEST_P(RecordedTables, ChangeFeedsAreThoseOfSpark) {
  int compared = 0;
  for (const json& table : manifest_) {
    const json& answer = table["answer"];
    const bool listed = answer.contains("also") && answer["also"].dump().find("\"cdf\"") != std::string::npos;
    if (!listed && !answer.contains("cdf")) continue;
    SCOPED_TRACE(table["path"].get<std::string>());
    const fs::path at = placed(table);
    const int64_t first = listed ? 1 : answer["cdf"]["startingVersion"].get<int64_t>();
    Options options{{"readChangeFeed", "true"}, {"startingVersion", std::to_string(first)}};
    const auto feed = openChangeFeed(open(at / "delta"), {}, options, "UTC");
    const int columns = feed->visibleColumns() - 1;  // the time is of the copied file
    const RowTexts wanted = expected(at / "expected/cdf", firstFields(feed->schema(), columns));
    RowTexts batch;
    readSplits(feed->planScan({}), columns, &batch);
    expectSame(batch, wanted);
    options.set("maxFilesPerTrigger", "1");
    SourceRun run(open(at / "delta"), options, {makeMemoryFileSystem(), "/checkpoint"});
    expectSame(run.drainRows(columns), wanted);
    ++compared;
  }
  EXPECT_GE(compared, atLeast(12, 1));
}

TEST_P(RecordedTables, AStreamBeginsWithTheRowsOfTheTable) {
  int compared = 0;
  for (const json& table : manifest_) {
    if (table["answer"]["kind"] != "parquet" || table["path"].get<std::string>().ends_with("restore-clone"))
      continue;
    const fs::path at = placed(table);
    SCOPED_TRACE(at.string());
    const auto log = open(at / "delta");
    if (log->require()->schema()->fields().empty()) continue;
    RowTexts wanted;
    const auto read = openDeltaTable(log, {}, {}, "UTC");
    readSplits(read->planScan({}), read->visibleColumns(), &wanted);
    SourceRun run(log, Options{{"maxFilesPerTrigger", "2"}}, {makeMemoryFileSystem(), "/checkpoint"});
    expectSame(run.drainRows(read->visibleColumns()), wanted);
    ++compared;
  }
  EXPECT_GE(compared, atLeast(101, 2));
}

INSTANTIATE_TEST_SUITE_P(Of, RecordedTables,
                         testing::Values(THALWEG_TEST_DATA_DIR "/delta/tables",
                                         THALWEG_SHARED_DIR "/testdata/delta"),
                         [](const auto& root) { return root.index == 0 ? "TheRepository" : "Shared"; });

}  // namespace
}  // namespace thalweg
