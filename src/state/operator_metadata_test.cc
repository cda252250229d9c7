#include "state/operator_metadata.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "state/test_support.h"

namespace thalweg {
namespace {

constexpr const char* kTransform =
    R"({"operatorInfo":{"operatorId":1,"operatorName":"transformWithStateExec"},"stateStoreInfo":[{"storeName":"default",)"
    R"("numColsPrefixKey":0,"numPartitions":5,"stateSchemaFilePaths":["/cp/state/1/_stateSchema/default/0_a"]}],)"
    R"("operatorPropertiesJson":"{\"timeMode\":\"NoTime\"}"})";

TEST(OperatorMetadata, TheNewestFileOfVersion2IsRead) {
  const TestFolder folder;
  const auto fileSystem = makeLocalFileSystem();
  EXPECT_FALSE(readOperatorMetadata(*fileSystem, folder.path()));
  fileSystem->writeAtomically(folder.path() + "/_metadata/v2/2", "v9\nnot this one");
  fileSystem->writeAtomically(folder.path() + "/_metadata/v2/10", fmt::format("v2\n{}", kTransform));
  const auto metadata = readOperatorMetadata(*fileSystem, folder.path());
  ASSERT_TRUE(metadata);
  EXPECT_EQ(metadata->operatorName, "transformWithStateExec");
  EXPECT_EQ(metadata->store("default")->numPartitions, 5);
  EXPECT_EQ(metadata->store("default")->schemaFilePaths.size(), 1u);
  EXPECT_EQ(metadata->propertiesJson, R"({"timeMode":"NoTime"})");
  EXPECT_EQ(metadata->store("other"), nullptr);
}

TEST(OperatorMetadata, AnEarlierStartsFileStays) {
  const TestFolder folder;
  const auto fileSystem = makeLocalFileSystem();
  writeOperatorMetadata(*fileSystem, folder.path(), {0, "dedupe", {{"default", 0, 2}}});
  writeOperatorMetadata(*fileSystem, folder.path(), {0, "stateStoreSave", {{"default", 0, 2}}});
  EXPECT_EQ(readOperatorMetadata(*fileSystem, folder.path())->operatorName, "dedupe");
}

TEST(OperatorMetadata, WhatCannotBeIsRefusedByName) {
  const auto refused = [](const std::string& text) {
    try {
      parseOperatorMetadata(text, "/cp/metadata");
      return false;
    } catch (const Error& error) {
      return error.condition() == "STATE_STORE_CHECKPOINT_CORRUPT" &&
             error.text().find("/cp/metadata") != std::string::npos;
    }
  };
  const auto store = [](const std::string& name, const std::string& partitions) {
    return R"({"operatorInfo":{"operatorId":0,"operatorName":"x"},"stateStoreInfo":[{"storeName":")" + name +
           R"(","numColsPrefixKey":0,"numPartitions":)" + partitions + "}]}";
  };
  EXPECT_FALSE(refused("v1\n" + store("default", "2")));
  EXPECT_TRUE(refused("v3\n" + store("default", "2")));
  EXPECT_TRUE(refused("v1\n" + store("../../etc", "2"))) << "its name becomes a folder";
  EXPECT_TRUE(refused("v1\n" + store("default", "0")));
  EXPECT_TRUE(refused("v1\n" + store("default", "2000000000")));
  EXPECT_TRUE(refused("v1\n" + store("default", "\"many\"")));
  for (const char* number : {"4294967304", "18446744073709551615", "-4294967288", "8.0"})
    EXPECT_TRUE(refused("v1\n" + store("default", number))) << "none is 8: " << number;
  for (const char* text : {"", "v1", "v1\n", "v1\n[]", "v1\n{}", "{}"}) EXPECT_TRUE(refused(text)) << text;
}

}  // namespace
}  // namespace thalweg
