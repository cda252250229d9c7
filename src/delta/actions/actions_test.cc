#include "delta/actions/actions.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "delta/actions/action_reader.h"
#include "delta/actions/action_writer.h"

namespace thalweg::delta {
namespace {

namespace fs = std::filesystem;

template <typename Value>
Value readOne(const std::string& line) {
  auto actions = readActions(line, "test");
  EXPECT_EQ(actions.size(), 1u);
  return std::get<Value>(actions.at(0));
}

TEST(ActionReader, ReadsEveryFieldOfAnAdd) {
  const auto add = readOne<AddFile>(
      R"({"add":{"path":"p=a%20b/f.parquet","partitionValues":{"p":"a b","q":null,"e":""},"size":12,)"
      R"("modificationTime":34,"dataChange":false,"stats":"{\"numRecords\":5}","tags":{"t":"1"},)"
      R"("deletionVector":{"storageType":"u","pathOrInlineDv":"ab^-aqEH.-t@S}K{vb[*k^","offset":4,"sizeInBytes":40,)"
      R"("cardinality":6},"baseRowId":7,"defaultRowCommitVersion":8,"clusteringProvider":"liquid","new":{"x":[1]}}})");
  EXPECT_EQ(add.path, "p=a%20b/f.parquet");
  EXPECT_EQ(add.partitionValues, (PartitionValues{{"p", "a b"}, {"q", std::nullopt}, {"e", ""}}));
  EXPECT_EQ(add.size, 12);
  EXPECT_EQ(add.modificationTime, 34);
  EXPECT_FALSE(add.dataChange);
  EXPECT_EQ(add.stats, R"({"numRecords":5})");
  EXPECT_EQ(add.tags, (std::map<std::string, std::string>{{"t", "1"}}));
  EXPECT_EQ(add.deletionVector->uniqueId(), "uab^-aqEH.-t@S}K{vb[*k^@4");
  EXPECT_EQ(add.deletionVector->cardinality, 6);
  EXPECT_EQ(add.baseRowId, 7);
  EXPECT_EQ(add.defaultRowCommitVersion, 8);
  EXPECT_EQ(add.clusteringProvider, "liquid");
}

TEST(ActionReader, IdOfAVectorWithoutOffsetHasNoAt) {
  DeletionVector vector;
  vector.storageType = "i";
  vector.pathOrInlineDv = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L";
  EXPECT_EQ(vector.uniqueId(), "iwi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L");
}

TEST(ActionReader, SkipsUnknownActionsBlankLinesAndCarriageReturns) {
  const auto actions =
      readActions("\n{\"future\":{\"a\":1}}\r\n  \n{\"txn\":{\"appId\":\"a\",\"version\":3}}\r\n\n", "test");
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(std::get<SetTransaction>(actions[0]).version, 3);
}

TEST(ActionReader, TheLastLineNeedsNoEnd) {
  EXPECT_EQ(readActions(R"({"remove":{"path":"x","dataChange":true}})", "test").size(), 1u);
}

TEST(ActionReader, AnObjectMayTakeSeveralLines) {
  const auto actions = readActions(
      "{\n  \"txn\": {\n \"appId\": \"}{\", \"version\": 3\n  "
      "}\n}\n{\n\"txn\":{\"appId\":\"b\",\"version\":4}}",
      "test");
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(std::get<SetTransaction>(actions[0]).appId, "}{");
}

TEST(ActionReader, NullIsAbsent) {
  const auto metadata = readOne<Metadata>(
      R"({"metaData":{"id":"i","name":null,"description":null,"createdTime":null,"schemaString":""}})");
  EXPECT_FALSE(metadata.name);
  EXPECT_FALSE(metadata.createdTime);
  EXPECT_TRUE(readActions(R"({"add":null,"txn":null})", "test").empty());
}

// Statistics of many columns, and deletion vectors in line, make them.
TEST(ActionReader, ALineMayBeAsLongAsItWants) {
  const std::string stats(20 << 20, 'x');
  const std::string text =
      R"({"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true,)"
      R"("stats":")" +
      stats +
      R"("}})"
      "\n"
      R"({"txn":{"appId":"q","version":1}})"
      "\n";
  const auto actions = readActions(text, "f");
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(std::get<AddFile>(actions[0]).stats, stats);
  EXPECT_EQ(std::get<SetTransaction>(actions[1]).appId, "q");
}

// As Jackson does for Spark: a writer who logs numbers and flags as such means their texts.
TEST(ActionReader, PropertiesThatAreNoTextsAreReadAsTheirTexts) {
  const auto metadata = std::get<Metadata>(
      readActions(R"({"metaData":{"id":"m","schemaString":"{}","partitionColumns":[],"configuration":)"
                  R"({"a":true,"b":10,"c":-1.5,"d":false,"e":null,"f":"x","g":18446744073709551615}}})",
                  "f")
          .at(0));
  EXPECT_EQ(metadata.configuration, (std::map<std::string, std::string>{{"a", "true"},
                                                                        {"b", "10"},
                                                                        {"c", "-1.5"},
                                                                        {"d", "false"},
                                                                        {"e", ""},
                                                                        {"f", "x"},
                                                                        {"g", "18446744073709551615"}}));
  for (const char* value : {"[1]", "{}"}) {
    EXPECT_THROW(
        readActions(std::string(R"({"metaData":{"id":"m","schemaString":"{}","partitionColumns":[],)") +
                        R"("configuration":{"a":)" + value + "}}}",
                    "f"),
        Error)
        << value;
  }
}

TEST(ActionReader, NamesFileAndLineOfWhatItCannotRead) {
  const auto messageOf = [](const std::string& text) -> std::string {
    try {
      readActions(text, "0.json");
    } catch (const Error& error) {
      EXPECT_EQ(error.condition(), "DELTA_STATE_RECOVER_ERROR");
      return error.message();
    }
    return "";
  };
  EXPECT_NE(messageOf("{\"txn\":{\"appId\":\"a\",\"version\":3}}\n{\"add\":{\"size\":1}}")
                .find("Line 2 of the Delta log file 0.json"),
            std::string::npos);
  EXPECT_NE(messageOf("{\"add\":{\"path\":1}}"), "");
  EXPECT_NE(messageOf("{\"add\":{\"path\":\"x\",\"size\":\"1\"}}"), "");
  EXPECT_NE(messageOf("{\"add\":{\"path\":\"x\""), "");
  EXPECT_NE(messageOf("[]"), "");
  EXPECT_NE(messageOf("{\"add\":{\"path\":\"\xff\"}}"), "");
  EXPECT_NE(messageOf("{\"add\":" + std::string(100000, '[')), "");
  EXPECT_NE(messageOf("{\"protocol\":{\"minReaderVersion\":4294967296}}"), "");
}

TEST(ActionReader, CommitInfoKeepsItsTextAndGivesItsFields) {
  const auto info = readOne<CommitInfo>(
      R"({"commitInfo":{"timestamp":5,"operationParameters":{"a":[1,{"b":null}]},"txnId":"t","isBlindAppend":true}})");
  EXPECT_EQ(info.json,
            R"({"timestamp":5,"operationParameters":{"a":[1,{"b":null}]},"txnId":"t","isBlindAppend":true})");
  const auto fields = readCommitInfoFields(info);
  EXPECT_EQ(fields.timestamp, 5);
  EXPECT_EQ(fields.txnId, "t");
  EXPECT_EQ(fields.isBlindAppend, true);
  EXPECT_FALSE(fields.inCommitTimestamp);
}

TEST(ActionWriter, EscapesAndKeepsUtf8) {
  std::string out;
  appendJsonString(out, "a\"\\\n\x01ü");
  EXPECT_EQ(out, "\"a\\\"\\\\\\n\\u0001ü\"");
}

std::string sortedPartitionValues(const std::string& line) {
  auto json = nlohmann::ordered_json::parse(line);
  for (auto& [name, action] : json.items()) {
    if (!action.contains("partitionValues")) continue;
    action["partitionValues"] =
        nlohmann::ordered_json::parse(nlohmann::json::parse(action["partitionValues"].dump()).dump());
  }
  return json.dump();
}

// What Spark wrote, read and written again, is the same text.
TEST(ActionWriter, WritesSparksOwnLines) {
  const fs::path shared(THALWEG_SHARED_DIR);
  if (!fs::exists(shared / "testdata")) GTEST_SKIP() << "no shared test data";
  size_t lines = 0;
  for (const fs::path& root : {shared / "testdata/delta/spark-4.4", shared / "testdata/spark-checkpoints"}) {
    for (const auto& file : fs::recursive_directory_iterator(root)) {
      const std::string name = file.path().filename();
      if (file.path().parent_path().filename() != "_delta_log" || name.size() != 25 ||
          !name.ends_with(".json"))
        continue;
      std::ifstream stream(file.path());
      for (std::string line; std::getline(stream, line);) {
        // The configuration's order is the writer's own, and maps are sorted here.
        if (line.starts_with("{\"metaData\"")) continue;
        // Old and foreign writers order keys otherwise.
        if (file.path().string().find("spark-3.5") != std::string::npos) continue;
        const auto actions = readActions(line, name);
        ASSERT_EQ(actions.size(), 1u) << file.path() << line;
        const std::string written = toJsonLine(actions[0]);
        // Spark orders partition values as the table's columns are; here they are sorted.
        if (sortedPartitionValues(written) == sortedPartitionValues(line)) {
          ++lines;
        } else {
          EXPECT_EQ(written, line) << file.path();
        }
      }
    }
  }
  EXPECT_GT(lines, 500u);
}

TEST(ActionWriter, WritesMetadataAsSpark) {
  const std::string line =
      R"({"metaData":{"id":"b9e45e40-4742-4223-8738-360d70075cc0","format":{"provider":"parquet","options":{}},)"
      R"("schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":["date"],)"
      R"("configuration":{"delta.enableDeletionVectors":"true"},"createdTime":1795974513803}})";
  EXPECT_EQ(toJsonLine(readActions(line, "test").at(0)), line);
}

TEST(MetadataSchema, MustBeAStruct) {
  Metadata metadata;
  metadata.schemaString = "\"long\"";
  EXPECT_THROW(metadata.schema(), Error);
  metadata.schemaString =
      R"({"type":"struct","fields":[{"name":"a","type":"long","nullable":false,"metadata":{}}]})";
  EXPECT_EQ(metadata.schema()->fields().at(0).name, "a");
}

}  // namespace
}  // namespace thalweg::delta
