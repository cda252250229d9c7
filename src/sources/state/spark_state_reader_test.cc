// What Spark 4.2's state reader answers, option by option: ../testdata/state/spark_state_reader.json, over
// the checkpoints that Spark wrote there and in the shared fixtures.
//
// agg-hdfs and agg-rocksdb: sums by windows of a minute and a key, in append mode, nine batches with
// snapshots every few of them. join-v2: an inner join by two keys, of which partition 0 of the left side is
// kept, from snapshot 3 to version 5.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

#include <arrow/api.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "formats/json/json_writer.h"
#include "sources/state/state_table.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path checkpointOf(const std::string& name) {
  const fs::path own = fs::path(THALWEG_TEST_DATA_DIR) / "state" / name;
  if (fs::exists(own)) return own;
  return fs::path(THALWEG_SHARED_DIR) / "testdata" / "spark-checkpoints" / name / "checkpoint";
}

std::map<std::string, std::string> configurationOf(const Location& checkpoint, int64_t batchId) {
  std::ifstream file(checkpoint.path + "/offsets/" + std::to_string(batchId));
  std::string line;
  std::getline(file, line);
  std::getline(file, line);
  return json::parse(line).at("conf");
}

std::shared_ptr<Table> open(const fs::path& checkpoint, Options options) {
  ReadDefinition read;
  read.paths = {checkpoint.string()};
  read.options = std::move(options);
  return openStateTable(read, FileSystemRegistry(), configurationOf, fs::temp_directory_path().string());
}

std::vector<json> rowsOf(const Table& table, int64_t maxBatchRows = 4) {
  ReadRequest request;
  request.maxBatchRows = maxBatchRows;
  for (int i = 0; i < static_cast<int>(table.schema()->fields().size()); ++i) request.columns.push_back(i);
  JsonOptions options;
  options.ignoreNullFields = false;
  const JsonWriter writer(table.schema(), options);
  std::vector<json> rows;
  for (const SplitPtr& split : table.planScan({})) {
    const auto reader = split->open(request);
    while (const auto batch = reader->next()) {
      EXPECT_TRUE(batch->ValidateFull().ok());
      EXPECT_LE(batch->num_rows(), maxBatchRows);
      const auto texts = writer.write(*batch->ToStructArray().ValueOrDie());
      for (int64_t row = 0; row < texts->length(); ++row)
        rows.push_back(json::parse(static_cast<const arrow::StringArray&>(*texts).GetString(row)));
    }
  }
  return rows;
}

Error errorOf(const fs::path& checkpoint, const Options& options) {
  try {
    rowsOf(*open(checkpoint, options));
  } catch (const Error& error) {
    return error;
  }
  return Error("NO_ERROR", "");
}

class SparkStateReaderTest : public ::testing::Test {
 protected:
  // Holds the answers about one group of options ("stores", "changes", "snapshots") against ours.
  static void expectAnswers(const std::string& group) {
    std::ifstream file(std::string(THALWEG_TEST_DATA_DIR) + "/state/spark_state_reader.json");
    int asked = 0;
    for (const json& answer : json::parse(file)) {
      if (answer.at("of") != group || !fs::exists(checkpointOf(answer.at("checkpoint")))) continue;
      SCOPED_TRACE(answer.at("checkpoint").get<std::string>() + " " + answer.at("options").dump());
      Options options;
      for (const auto& [name, value] : answer.at("options").items()) options.set(name, value);
      const fs::path checkpoint = checkpointOf(answer.at("checkpoint"));
      answer.contains("rows") ? expectRows(checkpoint, options, answer)
                              : expectError(checkpoint, options, answer);
      ++asked;
    }
    EXPECT_GT(asked, 0);
  }

 private:
  static void expectRows(const fs::path& checkpoint, const Options& options, const json& answer) try {
    const auto table = open(checkpoint, options);
    EXPECT_EQ(table->schema()->simpleString(), answer.at("schema"));
    std::vector<json> rows = rowsOf(*table), expected = answer.at("rows");
    // Changes come in the order in which they were made; state has none.
    if (table->schema()->fieldIndex("batch_id") < 0) {
      std::sort(rows.begin(), rows.end());
      std::sort(expected.begin(), expected.end());
    }
    EXPECT_EQ(json(rows), json(expected));
  } catch (const Error& error) {
    ADD_FAILURE() << error.message();
  }

  static void expectError(const fs::path& checkpoint, const Options& options, const json& answer) {
    const Error error = errorOf(checkpoint, options);
    // Of a snapshot that is not there, Spark names the reason with one provider only.
    const std::string condition = answer.at("condition") == "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"
                                      ? "CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_SNAPSHOT_FILE"
                                      : answer.at("condition").get<std::string>();
    EXPECT_EQ(error.condition(), condition) << error.text();
    const json parameters = answer.value("parameters", json::object());
    for (const auto& [name, value] : parameters.items()) {
      const auto found = error.parameters().find(name);
      EXPECT_EQ(found == error.parameters().end() ? "" : found->second, value.get<std::string>()) << name;
    }
  }
};

TEST_F(SparkStateReaderTest, StoresAndSidesOfJoins) {
  expectAnswers("stores");
}
TEST_F(SparkStateReaderTest, ChangesOfBatches) {
  expectAnswers("changes");
}
TEST_F(SparkStateReaderTest, StateFromASnapshotOn) {
  expectAnswers("snapshots");
}

TEST_F(SparkStateReaderTest, ARemovalHasNoValueWhateverTheSizeOfBatches) {
  const auto table =
      open(checkpointOf("agg-hdfs"), {{"readChangeFeed", "true"}, {"changeStartBatchId", "0"}});
  const std::vector<json> rows = rowsOf(*table, 1000);
  EXPECT_EQ(rowsOf(*table, 1), rows);
  int removals = 0;
  for (const json& row : rows) {
    EXPECT_EQ(row.at("change_type") == "delete", row.at("value").is_null());
    removals += row.at("value").is_null();
  }
  EXPECT_EQ(rows.size() - static_cast<size_t>(removals), 27u) << "a row for each of nine batches' three keys";
  EXPECT_EQ(removals, 15);
}

TEST_F(SparkStateReaderTest, ColumnsAreReadInTheOrderAskedFor) {
  const auto table =
      open(checkpointOf("agg-rocksdb"),
           {{"readChangeFeed", "true"}, {"changeStartBatchId", "8"}, {"changeEndBatchId", "8"}});
  ReadRequest request;
  request.columns = {4, 0};
  const auto batch = table->planScan({})[1]->open(request)->next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->schema()->field(0)->name(), "partition_id");
  EXPECT_EQ(static_cast<const arrow::Int32Array&>(*batch->column(0)).Value(0), 1);
  EXPECT_EQ(static_cast<const arrow::Int64Array&>(*batch->column(1)).Value(0), 8);
}

TEST_F(SparkStateReaderTest, WhoNamesNoStoreOfAJoinIsToldWhatToSay) {
  const std::string text = errorOf(checkpointOf("join-v2"), {}).text();
  EXPECT_NE(text.find("joinSide left or right"), std::string::npos) << text;
  EXPECT_NE(text.find("right-keyWithIndexToValue"), std::string::npos) << text;
}

TEST_F(SparkStateReaderTest, MissingFilesAreSaidWithWhatIsThere) {
  const std::string snapshot =
      errorOf(checkpointOf("agg-rocksdb"), {{"snapshotStartBatchId", "3"}, {"snapshotPartitionId", "0"}})
          .text();
  EXPECT_NE(snapshot.find("Versions 3, 6, 9 have one"), std::string::npos) << snapshot;
  EXPECT_NE(snapshot.find("/0/0/4.zip"), std::string::npos) << snapshot;
}

class DamagedStateTest : public SparkStateReaderTest {
 protected:
  fs::path copyOf(const std::string& name) const {
    fs::copy(checkpointOf(name), folder_ / name, fs::copy_options::recursive);
    return folder_ / name;
  }
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

 private:
  fs::path folder_ = fs::path(::testing::TempDir()) / ("damaged_state_" + std::to_string(::getpid()));
};

TEST_F(DamagedStateTest, NoOtherSnapshotStandsInForTheOneThatIsNamed) {
  const fs::path checkpoint = copyOf("agg-hdfs");
  const Options fromSnapshot = {{"snapshotStartBatchId", "7"}, {"snapshotPartitionId", "0"}};
  EXPECT_EQ(errorOf(checkpoint, fromSnapshot).condition(), "NO_ERROR");
  fs::resize_file(checkpoint / "state/0/0/8.snapshot", 20);
  EXPECT_TRUE(errorOf(checkpoint, fromSnapshot).condition().starts_with("CANNOT_LOAD_STATE_STORE."));
  EXPECT_EQ(errorOf(checkpoint, {}).condition(), "NO_ERROR")
      << "snapshot 4 and the changes since give the same";
}

TEST_F(DamagedStateTest, StoresOfAJoinThatDoNotBelongTogetherAreRefused) {
  const fs::path checkpoint = copyOf("join-v2");
  const Options left = {
      {"joinSide", "left"}, {"snapshotStartBatchId", "2"}, {"snapshotPartitionId", "0"}, {"batchId", "4"}};
  const fs::path stores = checkpoint / "state/0/0";
  EXPECT_EQ(rowsOf(*open(checkpoint, left)).size(), 6u);
  fs::copy_file(stores / "left-keyToNumValues/_metadata/schema",
                stores / "left-keyWithIndexToValue/_metadata/schema", fs::copy_options::overwrite_existing);
  EXPECT_EQ(errorOf(checkpoint, left).condition(), "STATE_STORE_CHECKPOINT_CORRUPT");
}

}  // namespace
}  // namespace thalweg
