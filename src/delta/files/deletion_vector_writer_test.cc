#include "delta/files/deletion_vector_writer.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/testing/condition_of.h"
#include "delta/files/random_folder.h"
#include "delta/files/wide_bounds.h"

namespace thalweg::delta {
namespace {

std::shared_ptr<const DeletedRows> everyThird(int64_t count) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < count; ++i) rows.push_back(3 * i);
  return DeletedRows::none()->with(rows);
}

class DeletionVectorWriterTest : public testing::Test {
 protected:
  Location table_{makeMemoryFileSystem(), "/t"};

  std::shared_ptr<const DeletedRows> read(const DeletionVector& vector) {
    return readDeletionVector(table_, vector, {});
  }
};

TEST_F(DeletionVectorWriterTest, WithoutVectorsThereIsNoFile) {
  DeletionVectorWriter writer(table_, {});
  writer.close();
  EXPECT_TRUE(table_.fileSystem->list("/t").empty());
}

// A vector in the log itself would end Spark's VACUUM.
TEST_F(DeletionVectorWriterTest, AllVectorsAreInOneFile) {
  DeletionVectorWriter writer(table_, {});
  const DeletionVector first = writer.add(*everyThird(10));
  const DeletionVector second = writer.add(*everyThird(2000));
  writer.close();
  EXPECT_EQ(first.storageType, "u");
  EXPECT_EQ(first.pathOrInlineDv, second.pathOrInlineDv);
  EXPECT_EQ(first.pathOrInlineDv.size(), 20u);
  EXPECT_EQ(first.offset, 1);
  EXPECT_EQ(second.offset, 1 + 4 + first.sizeInBytes + 4);
  EXPECT_EQ(read(first)->cardinality(), 10);
  EXPECT_TRUE(read(second)->contains(5997));
  const auto files = table_.fileSystem->list("/t");
  ASSERT_EQ(files.size(), 1u);
  EXPECT_TRUE(files[0].name().starts_with("deletion_vector_") && files[0].name().ends_with(".bin"));
  // Version 1, then the first vector's size, big endian.
  const std::string bytes = table_.fileSystem->readAll(files[0].path);
  EXPECT_EQ(bytes[0], 1);
  EXPECT_EQ(static_cast<unsigned char>(bytes[3]) << 8 | static_cast<unsigned char>(bytes[4]),
            first.sizeInBytes);
  writer.discard();
  EXPECT_TRUE(table_.fileSystem->list("/t").empty());
}

TEST_F(DeletionVectorWriterTest, TheFileLiesInARandomFolderWhereTheTablesFilesDo) {
  Metadata metadata;
  metadata.configuration = {{"delta.randomizeFilePrefixes", "true"}, {"delta.randomPrefixLength", "3"}};
  DeletionVectorWriter writer(table_, metadata);
  const DeletionVector vector = writer.add(*everyThird(10));
  writer.close();
  EXPECT_EQ(vector.pathOrInlineDv.size(), 3u + 20u);
  const std::string folder = "/t/" + vector.pathOrInlineDv.substr(0, 3);
  EXPECT_EQ(table_.fileSystem->list(folder).size(), 1u);
  EXPECT_EQ(read(vector)->cardinality(), 10);
  writer.discard();
  EXPECT_TRUE(table_.fileSystem->list(folder).empty());
}

// Asked of Spark 4.2 with Delta 4.4.
TEST(RandomFolder, TablesWithMappedColumnsOrThePropertyHaveThem) {
  const auto length = [](std::map<std::string, std::string> properties) {
    Metadata metadata;
    metadata.configuration = std::move(properties);
    return randomFolderLength(metadata);
  };
  EXPECT_EQ(length({}), 0);
  EXPECT_EQ(length({{"delta.randomPrefixLength", "4"}}), 0);
  EXPECT_EQ(length({{"delta.columnMapping.mode", "name"}}), 2);
  EXPECT_EQ(length({{"delta.columnMapping.mode", "none"}}), 0);
  EXPECT_EQ(length({{"delta.randomizeFilePrefixes", "true"}, {"delta.randomPrefixLength", "4"}}), 4);
  EXPECT_EQ(randomFolder(0), "");
  const std::string name = randomFolder(12);
  EXPECT_EQ(name.size(), 12u);
  EXPECT_TRUE(std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c); })) << name;
  EXPECT_NE(name, randomFolder(12));
}

TEST(WideBounds, KeepsNumbersAsTheyStand) {
  EXPECT_EQ(
      withWideBounds(
          R"({"numRecords":3,"minValues":{"d":1.50,"tightBounds":12345678901234567890.123},"tightBounds":true})",
          3),
      R"({"numRecords":3,"tightBounds":false,"minValues":{"d":1.50,"tightBounds":12345678901234567890.123}})");
  EXPECT_EQ(withWideBounds(R"({"nullCount":{"a\"b":0}})", 7),
            R"({"numRecords":7,"tightBounds":false,"nullCount":{"a\"b":0}})");
}

TEST(WideBounds, MakesUpForMissingStatistics) {
  for (const char* text : {"", "[]", "{\"numRecords\":", "{} x"}) {
    EXPECT_EQ(withWideBounds(std::string(text), 5), R"({"numRecords":5,"tightBounds":false})") << text;
  }
  EXPECT_EQ(withWideBounds(std::nullopt, 5), R"({"numRecords":5,"tightBounds":false})");
}

}  // namespace
}  // namespace thalweg::delta
