// Rows of tables that track them, by all that moves rows to other files.
#include "delta/files/row_tracking.h"

#include <arrow/api.h>
#include <nlohmann/json.hpp>

#include "common/testing/condition_of.h"
#include "delta/maintain/compaction.h"
#include "delta/maintain/optimize.h"
#include "delta/maintain/table_for_tests.h"
#include "delta/modify/edits_for_tests.h"
#include "delta/modify/table_edit.h"
#include "formats/parquet/parquet_file.h"
#include "storage/uri_path.h"

namespace thalweg::delta {
namespace {

struct Tracked {
  int64_t id = 0;
  int64_t version = 0;  // that changed the row last
  bool operator==(const Tracked&) const = default;
  friend void PrintTo(const Tracked& row, std::ostream* out) {
    *out << "id " << row.id << " of version " << row.version;
  }
};

std::shared_ptr<arrow::RecordBatch> withText(const std::shared_ptr<arrow::RecordBatch>& rows, int column,
                                             const std::string& text) {
  EXPECT_EQ(rows->num_columns(), 3) << "ids are no business of who changes rows";
  auto texts = valueOrThrow(arrow::MakeArrayFromScalar(arrow::StringScalar(text), rows->num_rows()));
  return valueOrThrow(rows->SetColumn(column, rows->schema()->field(column), std::move(texts)));
}

struct Kind {
  const char* name;
  std::vector<std::string> partitionColumns;
  std::map<std::string, std::string> properties;
};

std::map<std::string, std::string> tracking(std::map<std::string, std::string> more) {
  more.emplace("delta.enableRowTracking", "true");
  return more;
}

const Kind kKinds[] = {
    {"Rewritten", {}, tracking({{"delta.enableDeletionVectors", "false"}})},
    {"Vectors", {}, tracking({})},
    {"Partitions", {"p"}, tracking({{"delta.enableDeletionVectors", "false"}})},
    {"ChangeFeed", {"p"}, tracking({{"delta.enableChangeDataFeed", "true"}})},
    {"MappedByName", {}, tracking({{"delta.columnMapping.mode", "name"}})},
    {"MappedById",
     {"p"},
     tracking({{"delta.columnMapping.mode", "id"}, {"delta.enableDeletionVectors", "false"}})},
    // Statistics of all columns, but not of the ids.
    {"AllStatistics",
     {},
     tracking({{"delta.dataSkippingNumIndexedCols", "-1"}, {"delta.enableDeletionVectors", "false"}})},
};

class RowTrackingTest : public TableTest, public testing::WithParamInterface<Kind> {
 protected:
  RowTrackingTest() : TableTest(GetParam().partitionColumns, GetParam().properties) {}

  using Ids = std::map<int64_t, Tracked>;

  Ids ids() {
    const SnapshotPtr snapshot = log_->require();
    const auto layout = makeTableLayout(snapshot->table(), snapshot->metadata(), snapshot->schema());
    Ids found;
    for (const AddFile& file : snapshot->liveFiles()) {
      DataFileReader reader(layout, file, {.columns = {1}, .rowIds = true});
      while (const auto rows = reader.next()) {
        const auto column = [&](int i) -> const arrow::Int64Array& {
          return static_cast<const arrow::Int64Array&>(*rows->column(i));
        };
        for (int64_t row = 0; row < rows->num_rows(); ++row)
          found[column(0).Value(row)] = {column(1).Value(row), column(2).Value(row)};
      }
    }
    return found;
  }

  // Sets the column to `text` in rows with these x; without a text they are deleted.
  void edit(std::set<int64_t> values, std::optional<std::string> text, int column = 2) {
    const SnapshotPtr snapshot = log_->require();
    RowEdit edit{std::make_shared<OneOf>(std::move(values)), {}};
    if (text) edit.change = [&](const auto& rows) { return withText(rows, column, *text); };
    TableEdit work(*snapshot, std::move(edit), nullptr);
    Transaction transaction(log_, snapshot);
    ASSERT_TRUE(work.run(transaction, 1, runTasks, clock_.nowMillis()));
    transaction.setOperation({text ? "UPDATE" : "DELETE", {}, {}, {}, {}});
    ASSERT_TRUE(std::holds_alternative<Committed>(work.commit(transaction)));
  }

  void optimize(OptimizeRequest::Kind kind = OptimizeRequest::Kind::Compact) {
    OptimizeRequest request;
    request.operation.name = "OPTIMIZE";
    request.kind = kind;
    request.columns = {{"y"}};
    const int64_t version = log_->require()->version();
    optimizeTable(log_, log_->require(), request, 1, runTasks, nullptr);
    ASSERT_EQ(log_->require()->version(), version + 1);
  }

  // Ten rows in two files, x and id alike.
  void appendTen() {
    Values values;
    for (int64_t x = 0; x < 6; ++x) values.emplace_back(x, "a");
    append("one", values);
    values.clear();
    for (int64_t x = 6; x < 10; ++x) values.emplace_back(x, "a");
    append("one", values);
  }
};

// Spark 4.2 with Delta 4.4 gives ids and versions by the same rules for the same statements.
TEST_P(RowTrackingTest, RowsKeepTheirIdsWhateverMovesThem) {
  appendTen();
  Ids expected;
  for (int64_t x = 0; x < 10; ++x) expected[x] = {x, x < 6 ? 1 : 2};
  ASSERT_EQ(ids(), expected);
  edit({2, 7}, "u");
  expected[2].version = expected[7].version = 3;
  ASSERT_EQ(ids(), expected) << "an update is of its version, copied rows of theirs";
  edit({0, 8}, std::nullopt);
  expected.erase(0);
  expected.erase(8);
  ASSERT_EQ(ids(), expected);
  append("one", {{20, "b"}});
  expected[20] = ids().at(20);
  ASSERT_EQ(expected[20].version, 5);
  optimize();
  ASSERT_EQ(ids(), expected);
  edit({2, 3}, "w");
  expected[2].version = expected[3].version = 7;
  ASSERT_EQ(ids(), expected);
  optimize(OptimizeRequest::Kind::Curve);
  ASSERT_EQ(ids(), expected);
  edit({5}, "elsewhere", 0);  // the partition
  expected[5].version = 9;
  ASSERT_EQ(ids(), expected);
  const std::string optimized = files_->readAll("/t/_delta_log/00000000000000000006.json");
  EXPECT_NE(optimized.find(R"("tags":{"delta.rowTracking.preserved":"true"})"), std::string::npos);
}

TEST_P(RowTrackingTest, NewRowsGetIdsThatNoRowEverHad) {
  appendTen();
  edit({2, 7}, "u");
  append("one", {{50, "new"}});
  optimize();
  edit({1}, std::nullopt);
  append("one", {{100, "newer"}});
  const Ids found = ids();
  EXPECT_GE(found.at(50).id, 10);
  EXPECT_GT(found.at(100).id, found.at(50).id);
  std::set<int64_t> different;
  for (const auto& [x, row] : found) different.insert(row.id);
  EXPECT_EQ(different.size(), found.size());
}

TEST_P(RowTrackingTest, IdsColumnsAreNoneOfTheTable) {
  appendTen();
  edit({2}, "u");
  append("one", {{50, "new"}});
  optimize();
  const SnapshotPtr snapshot = log_->require();
  const auto columns = rowIdColumns(snapshot->metadata());
  ASSERT_TRUE(columns);
  EXPECT_LT(snapshot->schema()->fieldIndex(columns->rowId, /*caseSensitive=*/false), 0);
  const AddFile file = snapshot->liveFiles().front();
  EXPECT_EQ(file.stats->find("_row-"), std::string::npos) << *file.stats;
  const SchemaPtr stored = readParquetSchema(*files_, "/t/" + decodeUriPath(file.path));
  EXPECT_GE(stored->fieldIndex(columns->rowId, true), 0);
  EXPECT_GE(stored->fieldIndex(columns->rowCommitVersion, true), 0);
}

// Who loses a race gives ids above those that the winner gave.
TEST_P(RowTrackingTest, LostRacesGiveOtherIds) {
  appendTen();
  const std::shared_ptr<DeltaLog> log = log_;
  store_->beforePut = [this] {
    const auto own = std::exchange(log_, std::make_shared<DeltaLog>(Location{files_, "/t"}, clock_));
    append("one", {{200, "winner"}});
    log_ = own;
  };
  OptimizeRequest request;
  request.operation.name = "OPTIMIZE";
  optimizeTable(log, log->require(), request, 1, runTasks, nullptr);
  Ids expected;
  for (int64_t x = 0; x < 10; ++x) expected[x] = {x, x < 6 ? 1 : 2};
  expected[200] = {10, 3};
  EXPECT_EQ(ids(), expected);
  std::set<int64_t> bases;
  for (const AddFile& file : log_->require()->liveFiles()) bases.insert(file.baseRowId.value());
  EXPECT_EQ(bases, (std::set<int64_t>{10, 11}));
}

TEST_P(RowTrackingTest, SmallFilesAreMergedWithTheirIds) {
  for (int64_t x = 0; x < 4; ++x) append("one", {{x, "a"}});
  CompactionRules rules;
  rules.minFiles = 4;
  ASSERT_TRUE(compactSmallFiles(log_, rules));
  EXPECT_EQ(log_->require()->numFiles(), 1);
  EXPECT_EQ(ids(), (Ids{{0, {0, 1}}, {1, {1, 2}}, {2, {2, 3}}, {3, {3, 4}}}));
}

INSTANTIATE_TEST_SUITE_P(Tables, RowTrackingTest, testing::ValuesIn(kKinds),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RowTracking, ATableWithoutPlaceForIdsTakesNoMovedRows) {
  Metadata metadata;
  metadata.schemaString =
      R"({"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}}]})";
  const Location table{makeMemoryFileSystem(), "/t"};
  EXPECT_FALSE(movedRowsLayout(table, metadata, {}).hasRowIds);
  metadata.configuration["delta.enableRowTracking"] = "true";
  EXPECT_EQ(conditionOf([&] { movedRowsLayout(table, metadata, {}); }),
            "DELTA_MATERIALIZED_ROW_TRACKING_COLUMN_NAME_MISSING");
  metadata.configuration["delta.rowTracking.materializedRowIdColumnName"] = "X";
  metadata.configuration["delta.rowTracking.materializedRowCommitVersionColumnName"] = "version";
  EXPECT_EQ(conditionOf([&] { movedRowsLayout(table, metadata, {}); }),
            "DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED");
  EXPECT_FALSE(rowIdColumns(metadata)) << "values of the table's own column are no ids";
  metadata.configuration["delta.rowTracking.materializedRowIdColumnName"] = "id";
  EXPECT_TRUE(movedRowsLayout(table, metadata, {}).hasRowIds);
}

TEST(RowTracking, NamesThatATableHasStay) {
  Metadata metadata;
  nameRowIdColumns(&metadata);
  EXPECT_TRUE(metadata.configuration.empty());
  metadata.configuration = {{"delta.enableRowTracking", "true"},
                            {"delta.rowTracking.materializedRowIdColumnName", "mine"}};
  nameRowIdColumns(&metadata);
  EXPECT_EQ(metadata.configuration.at("delta.rowTracking.materializedRowIdColumnName"), "mine");
  EXPECT_TRUE(metadata.configuration.at("delta.rowTracking.materializedRowCommitVersionColumnName")
                  .starts_with("_row-commit-version-col-"));
}

}  // namespace
}  // namespace thalweg::delta
