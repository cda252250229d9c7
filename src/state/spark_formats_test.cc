// The forms of state files that the fixtures do not have, as Spark 4.2 wrote them: testdata/spark-4.2/. Each
// checkpoint is of groupBy("k").sum("v") over three files in three batches; file b has the rows (key<(i · (b
// + 1)) mod 5>, i + b) for i = 0 … 5.
#include <algorithm>
#include <fstream>

#include <arrow/api.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "columnar/binary_row.h"
#include "common/error.h"
#include "state/logged_state.h"
#include "state/state_schema.h"
#include "state/test_support.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;

using Sums = std::map<std::string, int64_t>;

Sums sumsAfter(int64_t numBatches) {
  Sums sums;
  for (int64_t b = 0; b < numBatches; ++b) {
    for (int64_t i = 0; i < 6; ++i) sums["key" + std::to_string(i * (b + 1) % 5)] += i + b;
  }
  return sums;
}

Sums decode(const StateSchema& schema, const StateMap& state) {
  std::vector<std::string_view> keys, values;
  for (const auto& [key, value] : state) {
    keys.push_back(key);
    values.push_back(value);
  }
  BinaryRowDecoder keyDecoder({schema.key->fields()[0].type}, BinaryRowDecoder::Role::Key,
                              arrow::default_memory_pool());
  BinaryRowDecoder valueDecoder({schema.value->fields()[0].type}, BinaryRowDecoder::Role::Value,
                                arrow::default_memory_pool());
  keyDecoder.append(keys);
  valueDecoder.append(values);
  const auto names = keyDecoder.finish()[0], sums = valueDecoder.finish()[0];
  Sums result;
  for (int64_t i = 0; i < names->length(); ++i) {
    result[static_cast<const arrow::StringArray&>(*names).GetString(i)] =
        static_cast<const arrow::Int64Array&>(*sums).Value(i);
  }
  return result;
}

std::map<std::string, std::string> configurationOf(const fs::path& checkpoint) {
  std::ifstream file(checkpoint / "offsets" / "0");
  std::string line;
  std::getline(file, line);
  std::getline(file, line);
  return nlohmann::json::parse(line).at("conf");
}

fs::path checkpointOf(const char* name) {
  return fs::path(THALWEG_TEST_DATA_DIR) / "spark-4.2" / name;
}

class SparkFormats : public ::testing::TestWithParam<const char*> {};

TEST_P(SparkFormats, HoldTheSumsOfEachBatch) {
  const auto fileSystem = makeLocalFileSystem();
  const TestFolder temporary;
  const StateStoreId id{(checkpointOf(GetParam()) / "state").string(), 0, 0, kDefaultStateStore};
  const StateSchema schema = *readStateSchema(*fileSystem, id);
  const LoggedState logged = loggedState(configurationOf(checkpointOf(GetParam())), schema.key, 0);
  const auto files = openStateFiles(logged.provider, fileSystem, id, logged.format, temporary.path());
  EXPECT_EQ(files->latestVersions().latest, 3);
  for (int64_t version = 1; version <= 3; ++version) {
    EXPECT_EQ(decode(schema, loadState(*files, version)), sumsAfter(version)) << version;
  }
}

// Checkpoint format 2 has "<version>_<id>" names, change logs of version 3 with a lineage, and visible
// checksum files beside.
INSTANTIATE_TEST_SUITE_P(All, SparkFormats,
                         ::testing::Values("format2-changelog", "format2-snapshots", "hdfs-zstd",
                                           "rocksdb-changelog-zstd"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(SparkFormatsRefused, SeveralAttemptsAtAVersionOfFormat2) {
  const TestFolder copy;
  fs::copy(checkpointOf("format2-changelog"), copy.path(), fs::copy_options::recursive);
  for (const auto& file : fs::directory_iterator(fs::path(copy.path()) / "state/0/0")) {
    if (file.path().filename().string().starts_with("2_") && file.path().extension() == ".changelog") {
      fs::copy_file(file.path(),
                    file.path().parent_path() / "2_00000000-0000-0000-0000-000000000000.changelog");
      break;
    }
  }
  const auto fileSystem = makeLocalFileSystem();
  const StateStoreId id{copy.path() + "/state", 0, 0, kDefaultStateStore};
  StateFormat format;
  format.keySchema = readStateSchema(*fileSystem, id)->key;
  const auto files = openStateFiles(StateProvider::RocksDb, fileSystem, id, format, copy.path());
  EXPECT_EQ(loadState(*files, 1).size(), 5u);
  EXPECT_THROW(loadState(*files, 3), Error) << "only the commit log knows which attempt counts";
}

TEST(SparkFormatsRefused, ValuesWithChecksums) {
  EXPECT_THROW(loggedState(configurationOf(checkpointOf("rowchecksum")), nullptr, 0), Error);
}

TEST(LoggedStateTest, WhatAnOldLogLacksIsWhatSparkAssumes) {
  const LoggedState state = loggedState({}, nullptr, 0);
  EXPECT_EQ(state.provider, StateProvider::HdfsBacked);
  EXPECT_EQ(state.format.codec, "lz4");
  EXPECT_EQ(state.format.mergeOperatorVersion, 1);
  EXPECT_THROW(loggedState({{"spark.sql.streaming.stateStore.encodingFormat", "avro"}}, nullptr, 0), Error);
}

}  // namespace
}  // namespace thalweg
