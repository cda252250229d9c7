#include "sources/kafka/partition_offsets.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "common/error.h"

namespace thalweg {
namespace {

std::string readFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(PartitionOffsets, TopicsAndPartitionsAreInOrder) {
  EXPECT_EQ(formatPartitionOffsets({{{"b", 0}, 1}, {{"a", 10}, 2}, {{"a", 9}, 3}}), R"({"a":{"9":3,"10":2},"b":{"0":1}})");
  EXPECT_EQ(formatPartitionOffsets({}), "{}");
}

TEST(PartitionOffsets, SparksOwnOffsetLogsComeBackByteForByte) {
  const std::filesystem::path folder = THALWEG_SHARED_DIR "/testdata/spark-checkpoints/kafka-to-delta/checkpoint/offsets";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared test data";
  for (int batch = 0; batch <= 5; ++batch) {
    const std::string log = readFile(folder / std::to_string(batch));
    const std::string line = log.substr(log.rfind('\n') + 1);
    EXPECT_EQ(formatPartitionOffsets(parsePartitionOffsets(line, "test")), line);
  }
}

TEST(PartitionOffsets, AnySpacingIsRead) {
  EXPECT_EQ(parsePartitionOffsets(" { \"t\" : { \"1\" : -2 , \"0\":-1 } } ", "test"),
            (PartitionOffsets{{{"t", 0}, -1}, {{"t", 1}, -2}}));
  EXPECT_EQ(parsePartitions(R"({"t":[1,0,1],"a":[]})", "test"), (std::vector<TopicPartition>{{"t", 0}, {"t", 1}}));
}

TEST(PartitionOffsets, OtherTextIsRefusedWithAnExample) {
  for (const char* text : {"", "x", "[]", "{\"t\":1}", "{\"t\":{\"x\":1}}", "{\"t\":{\"-1\":1}}", "{\"t\":{\"0\":\"1\"}}",
                           "{\"t\":{\"0\":1.5}}", "{\"t\":{\"0\":{\"a\":{}}}}", "{\"t\":{\"0\":99999999999999999999}}"}) {
    try {
      parsePartitionOffsets(text, "The option 'startingOffsets'");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::IllegalArgument);
      EXPECT_NE(error.text().find("startingOffsets"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace thalweg
