// Every stateful checkpoint that Spark wrote, at every version, holds the rows that Spark's own state reader
// found there. testdata/<fixture>.json is that reader's answer (spark.read.format("statestore") of Spark 4.2,
// by batch and store): distinct rows as [partition, key's bytes, value's bytes, key, value], and for each
// version which of them it holds.
#include <fstream>

#include <arrow/api.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "columnar/binary_row.h"
#include "columnar/row_hash.h"
#include "state/operator_metadata.h"
#include "state/state_schema.h"
#include "state/test_support.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string fromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

struct Fixture {
  const char* folder;
  const char* record;  // of the same input and query
  StateProvider provider;
};

constexpr auto kHdfs = StateProvider::HdfsBacked;
constexpr auto kRocksDb = StateProvider::RocksDb;

void PrintTo(const Fixture& fixture, std::ostream* out) {
  *out << fixture.folder;
}

class SparkFixtures : public ::testing::TestWithParam<Fixture> {
 protected:
  void SetUp() override {
    if (!fs::exists(checkpoint())) GTEST_SKIP() << "no shared test data";
    std::ifstream file(std::string(THALWEG_TEST_DATA_DIR) + "/" + GetParam().record + ".json");
    recorded_ = json::parse(file);
  }
  static fs::path checkpoint() { return sparkCheckpoints() / GetParam().folder / "checkpoint"; }
  static std::string stateFolder() { return (checkpoint() / "state").string(); }

  static StateStoreId storeId(const std::string& name, int32_t partition) {
    StateStoreId id{stateFolder(), 0, partition, kDefaultStateStore};
    id.storeName = name.substr(name.find('/') + 1);
    return id;
  }

  std::unique_ptr<StateFiles> open(const StateStoreId& id, const StateSchema& schema,
                                   int numColsPrefixKey) const {
    StateFormat format;
    format.keySchema = schema.key;
    format.numColsPrefixKey = numColsPrefixKey;
    return openStateFiles(GetParam().provider, fileSystem_, id, format, temporary_.path());
  }

  json recorded_;
  std::shared_ptr<FileSystem> fileSystem_ = makeLocalFileSystem();
  TestFolder temporary_;
};

TEST_P(SparkFixtures, EachVersionHoldsTheRowsThatSparkFinds) {
  int versions = 0;
  for (const auto& [name, store] : recorded_.at("stores").items()) {
    for (int32_t partition = 0; partition < 2; ++partition) {
      const StateStoreId id = storeId(name, partition);
      const std::optional<StateSchema> schema = readStateSchema(*fileSystem_, id);
      ASSERT_TRUE(schema) << name;
      const auto metadata = readOperatorMetadata(*fileSystem_, stateFolder() + "/0");
      const int numPrefix = metadata ? metadata->store(id.storeName)->numColsPrefixKey : 0;
      const auto files = open(id, *schema, numPrefix);
      EXPECT_EQ(files->latestVersions().latest, static_cast<int64_t>(store.at("versions").size()));
      EXPECT_EQ(loadState(*files, 0), StateMap());
      for (const auto& [version, indices] : store.at("versions").items()) {
        StateMap expected;
        for (const size_t index : indices.get<std::vector<size_t>>()) {
          const json& row = store.at("rows").at(index);
          if (row[0] == partition) expected[fromHex(row[1])] = fromHex(row[2]);
        }
        EXPECT_EQ(loadState(*files, std::stoll(version)), expected)
            << name << " version " << version << " partition " << partition;
        ++versions;
      }
    }
  }
  EXPECT_GE(versions, 6);
}

TEST_P(SparkFixtures, KeysLieInThePartitionOfTheirHash) {
  // What Spark's reader shows as the partition is where the operator's exchange sent the row: by the grouping
  // columns, which for sessions and the values of joins are not the whole key.
  for (const auto& [name, store] : recorded_.at("stores").items()) {
    const StateSchema schema = *readStateSchema(*fileSystem_, storeId(name, 0));
    std::vector<DataTypePtr> types = fieldTypes(*schema.key);
    std::vector<std::string> bytes;
    for (const json& row : store.at("rows")) bytes.push_back(fromHex(row[1]));
    BinaryRowDecoder decoder(types, BinaryRowDecoder::Role::Key, arrow::default_memory_pool());
    decoder.append(std::vector<std::string_view>(bytes.begin(), bytes.end()));
    auto columns = decoder.finish();
    const bool hasExtraColumn = name.find("keyWithIndex") != std::string::npos ||
                                schema.key->fields().back().name == "sessionStartTime";
    if (hasExtraColumn) {
      types.pop_back();
      columns.pop_back();
    }
    const auto partitions = partitionIds(types, columns, static_cast<int64_t>(bytes.size()), 2);
    for (size_t i = 0; i < bytes.size(); ++i)
      EXPECT_EQ(partitions[i], store.at("rows")[i][0].get<int32_t>()) << name << " row " << i;
  }
}

TEST_P(SparkFixtures, RowsDecodeToSparksValuesAndBack) {
  for (const auto& [name, store] : recorded_.at("stores").items()) {
    const StateSchema schema = *readStateSchema(*fileSystem_, storeId(name, 0));
    for (const bool key : {true, false}) {
      const std::vector<DataTypePtr> types = fieldTypes(*(key ? schema.key : schema.value));
      std::vector<std::string> bytes;
      for (const json& row : store.at("rows")) bytes.push_back(fromHex(row[key ? 1 : 2]));
      BinaryRowDecoder decoder(types, BinaryRowDecoder::Role::Value, arrow::default_memory_pool());
      decoder.append(std::vector<std::string_view>(bytes.begin(), bytes.end()));
      const auto columns = decoder.finish();
      BinaryRows again;
      BinaryRowEncoder(types).encode(columns, 0, static_cast<int64_t>(bytes.size()), &again);
      for (size_t i = 0; i < bytes.size(); ++i)
        EXPECT_EQ(std::string(again[i]), bytes[i]) << name << " row " << i;
      for (size_t c = 0; c < types.size(); ++c) {
        const json column = (key ? schema.key : schema.value)->fields()[c].name;
        for (size_t i = 0; i < bytes.size(); ++i) {
          const json& value = store.at("rows")[i][key ? 3 : 4].at(column.get<std::string>());
          if (types[c]->id() == TypeId::Long) {
            EXPECT_EQ(static_cast<const arrow::Int64Array&>(*columns[c]).Value(static_cast<int64_t>(i)),
                      value.get<int64_t>());
          } else if (types[c]->id() == TypeId::String && !value.is_null()) {
            EXPECT_EQ(static_cast<const arrow::StringArray&>(*columns[c]).GetString(static_cast<int64_t>(i)),
                      value.get<std::string>());
          } else if (types[c]->id() == TypeId::Double && !value.is_null()) {
            EXPECT_EQ(static_cast<const arrow::DoubleArray&>(*columns[c]).Value(static_cast<int64_t>(i)),
                      value.get<double>());
          }
        }
      }
    }
  }
}

TEST_P(SparkFixtures, MetadataAndSchemaAreReadAndWrittenToTheByte) {
  const std::string metadataPath = stateFolder() + "/0/_metadata/metadata";
  if (const auto metadata = readOperatorMetadata(*fileSystem_, stateFolder() + "/0")) {
    EXPECT_EQ(formatOperatorMetadata(*metadata), fileSystem_->readAll(metadataPath));
    EXPECT_EQ(metadata->operatorName, recorded_.at("metadata")[0].at("operatorName"));
  } else {
    EXPECT_NE(std::string(GetParam().folder).find("spark-3.5"), std::string::npos)
        << "only Spark 3.5 wrote none";
  }
  for (const auto& [name, store] : recorded_.at("stores").items()) {
    const StateStoreId id = storeId(name, 1);
    const StateSchema schema = *readStateSchema(*fileSystem_, id);
    EXPECT_TRUE(equals(*schema.key, *parseSchemaJson(store.at("keySchema").dump()), true)) << name;
    EXPECT_EQ(formatStateSchema(schema),
              fileSystem_->readAll(storeId(name, 0).folder() + "/_metadata/schema"))
        << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SparkFixtures,
    ::testing::Values(Fixture{"windowed-hdfs", "windowed-hdfs", kHdfs},
                      Fixture{"windowed-rocksdb", "windowed-hdfs", kRocksDb},
                      Fixture{"windowed-rocksdb-changelog", "windowed-hdfs", kRocksDb},
                      Fixture{"spark-4.1/windowed-hdfs", "windowed-hdfs", kHdfs},
                      Fixture{"spark-4.1/windowed-rocksdb", "windowed-hdfs", kRocksDb},
                      Fixture{"spark-3.5/windowed-hdfs", "windowed-hdfs", kHdfs},
                      Fixture{"spark-3.5/windowed-rocksdb", "windowed-hdfs", kRocksDb},
                      Fixture{"complete-mode-hdfs", "complete-mode-hdfs", kHdfs},
                      Fixture{"foreachbatch-merge", "foreachbatch-merge", kHdfs},
                      Fixture{"dedup-hdfs", "dedup-hdfs", kHdfs},
                      Fixture{"dedup-rocksdb", "dedup-hdfs", kRocksDb},
                      Fixture{"spark-4.1/dedup-rocksdb", "dedup-hdfs", kRocksDb},
                      Fixture{"spark-3.5/dedup-rocksdb", "dedup-hdfs", kRocksDb},
                      Fixture{"dedup-within-watermark-rocksdb", "dedup-within-watermark-rocksdb", kRocksDb},
                      Fixture{"join-inner-hdfs", "join-inner-hdfs", kHdfs},
                      Fixture{"join-left-outer-rocksdb", "join-left-outer-rocksdb", kRocksDb},
                      Fixture{"spark-4.1/join-left-outer-rocksdb", "join-left-outer-rocksdb", kRocksDb},
                      Fixture{"spark-3.5/join-left-outer-rocksdb", "join-left-outer-rocksdb", kRocksDb},
                      Fixture{"session-window-rocksdb", "session-window-rocksdb", kRocksDb}));

}  // namespace
}  // namespace thalweg
