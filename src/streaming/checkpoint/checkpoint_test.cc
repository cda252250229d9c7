// A checkpoint folder is Spark's: what Spark wrote is read, what we write is what Spark would.
#include "streaming/checkpoint/checkpoint.h"

#include <chrono>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "common/error.h"
#include "common/testing/condition_of.h"
#include "common/uuid.h"
#include "storage/temporary_names.h"
#include "streaming/query/definition.h"

namespace thalweg {
namespace {

std::string readFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::filesystem::path fixtures() { return std::filesystem::path(THALWEG_SHARED_DIR) / "testdata" / "spark-checkpoints"; }

Location memoryFolder() { return {makeMemoryFileSystem(), "/checkpoint"}; }

TEST(OffsetEntry, ReadsWhatItWrites) {
  OffsetEntry entry;
  entry.watermarkMs = 5;
  entry.timestampMs = 1795974716398;
  entry.configuration = {{"spark.sql.shuffle.partitions", "2"}, {"a", "b\"c"}};
  entry.offsets = {R"({"clicks":{"0":47}})", std::nullopt, R"({"logOffset":3})"};
  const std::string text = formatOffsetEntry(entry);
  EXPECT_EQ(text, "{\"batchWatermarkMs\":5,\"batchTimestampMs\":1795974716398,\"conf\":{\"a\":\"b\\\"c\",\"spark.sql.shuffle.partitions\":\"2\"}}\n"
                  "{\"clicks\":{\"0\":47}}\n-\n{\"logOffset\":3}");
  const OffsetEntry back = parseOffsetEntry(text, "here");
  EXPECT_EQ(back.watermarkMs, 5);
  EXPECT_EQ(back.timestampMs, 1795974716398);
  EXPECT_EQ(back.configuration, entry.configuration);
  EXPECT_EQ(back.offsets, entry.offsets);
}

TEST(OffsetEntry, ToleratesANewlineAtTheEndAndUnknownKeys) {
  const OffsetEntry entry = parseOffsetEntry("{\"batchWatermarkMs\":1,\"new\":[1],\"conf\":{}}\n5\n", "here");
  EXPECT_EQ(entry.offsets, std::vector<std::optional<SourceOffset>>{"5"});
}

TEST(OffsetEntry, RefusesDamagedText) {
  for (const char* text : {"", "[1]", "{\"conf\":{\"a\":1}}", "{\"batchWatermarkMs\":\"x\"}", "{cut", "{\"conf\":{}}\n\n5", "{\"conf\":{}}\n5\n\n"}) {
    EXPECT_EQ(conditionOf([&] { parseOffsetEntry(text, "here"); }), "STREAMING_CHECKPOINT_LOG_CORRUPT") << text;
  }
}

// Every offset log of Spark's fixtures is read, and written again holds the same settings and offsets.
TEST(OffsetEntry, ReadsSparksFixtures) {
  if (!std::filesystem::exists(fixtures())) GTEST_SKIP() << "needs the shared fixtures";
  int files = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(fixtures())) {
    if (file.path().parent_path().filename() != "offsets" || file.path().filename().string().starts_with(".")) continue;
    ++files;
    const std::string text = readFile(file.path());
    const std::string body = text.substr(text.find('\n') + 1);
    const OffsetEntry entry = parseOffsetEntry(body, file.path());
    EXPECT_FALSE(entry.offsets.empty()) << file.path();
    EXPECT_TRUE(entry.configuration.contains("spark.sql.shuffle.partitions")) << file.path();
    const OffsetEntry again = parseOffsetEntry(formatOffsetEntry(entry), file.path());
    EXPECT_EQ(again.configuration, entry.configuration);
    EXPECT_EQ(again.offsets, entry.offsets);
  }
  EXPECT_GT(files, 50);
}

// Spark takes a setting that is missing from the log for its oldest behaviour: the map must be as complete as Spark 4.2's.
TEST(OffsetEntry, LogsEverySettingThatSparkLogs) {
  if (!std::filesystem::exists(fixtures())) GTEST_SKIP() << "needs the shared fixtures";
  const std::string text = readFile(fixtures() / "kafka-to-delta" / "checkpoint" / "offsets" / "0");
  const OffsetEntry entry = parseOffsetEntry(text.substr(text.find('\n') + 1), "fixture");
  for (const auto& [key, value] : entry.configuration) EXPECT_TRUE(loggedConfigurationDefaults().contains(key)) << key;
}

TEST(Checkpoint, KeepsItsQueryId) {
  const Location folder = memoryFolder();
  const Checkpoint first(folder);
  EXPECT_EQ(folder.fileSystem->readAll("/checkpoint/metadata"), "{\"id\":\"" + first.queryId() + "\"}");
  EXPECT_EQ(Checkpoint(folder).queryId(), first.queryId());
}

TEST(Checkpoint, RefusesBatchesWithoutAnId) {
  const Location folder = memoryFolder();
  folder.fileSystem->writeAtomically("/checkpoint/offsets/0", "v1\n{}");
  EXPECT_EQ(conditionOf([&] { Checkpoint checkpoint(folder); }), "STREAMING_CHECKPOINT_MISSING_METADATA_FILE");
}

TEST(Checkpoint, ASecondWriterOfABatchLoses) {
  Checkpoint checkpoint(memoryFolder());
  OffsetEntry entry;
  entry.offsets = {"1"};
  checkpoint.writeOffsets(0, entry);
  EXPECT_EQ(conditionOf([&] { checkpoint.writeOffsets(0, entry); }), "CONCURRENT_STREAM_LOG_UPDATE");
}

TEST(Checkpoint, CommitsAreSparks) {
  const Location folder = memoryFolder();
  Checkpoint checkpoint(folder);
  checkpoint.writeCommit(3, {0});
  EXPECT_EQ(folder.fileSystem->readAll("/checkpoint/commits/3"), "v1\n{\"nextBatchWatermarkMs\":0}");
  EXPECT_EQ(checkpoint.readCommit(3)->nextWatermarkMs, 0);
  folder.fileSystem->writeAtomically("/checkpoint/commits/4", "v1\n{}");
  EXPECT_EQ(checkpoint.readCommit(4)->nextWatermarkMs, 0);
}

TEST(MetadataLog, SeesOnlyNumberedFiles) {
  const Location folder = memoryFolder();
  Checkpoint checkpoint(folder);
  checkpoint.writeCommit(9, {0});
  checkpoint.writeCommit(10, {0});
  folder.fileSystem->writeAtomically("/checkpoint/commits/.11.crc", "x");
  folder.fileSystem->writeAtomically("/checkpoint/commits/12.tmp", "x");
  EXPECT_EQ(checkpoint.commits().latest(), 10);
  checkpoint.commits().purgeBelow(10);
  EXPECT_FALSE(checkpoint.commits().has(9));
  EXPECT_TRUE(checkpoint.commits().has(10));
}

TEST(MetadataLog, RefusesVersion2ByName) {
  const Location folder{makeMemoryFileSystem(), "/c/offsets"};
  folder.fileSystem->writeAtomically("/c/offsets/3", "v2\n{}\n-");
  try {
    MetadataLog(folder, {FaultPoint::SourceLogBefore, FaultPoint::SourceLogBefore, FaultPoint::SourceLogBefore}).read(3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.condition(), "UNSUPPORTED_FEATURE.THALWEG");
    EXPECT_NE(error.text().find("/c/offsets/3"), std::string::npos);
  }
}

TEST(MetadataLog, NamesAFileThatIsCutShort) {
  const Location folder = memoryFolder();
  Checkpoint checkpoint(folder);
  for (const char* text : {"", "v1", "v9\n{}", "garbage"}) {
    folder.fileSystem->writeAtomically("/checkpoint/offsets/0", text);
    EXPECT_EQ(conditionOf([&] { checkpoint.readOffsets(0); }), "STREAMING_CHECKPOINT_LOG_CORRUPT") << text;
  }
}

// A killed writer's files stay a day, in case that it is not dead.
TEST(Checkpoint, AStartTakesAwayWhatKilledWritersLeft) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("checkpoint_test_" + randomUuid());
  std::vector<fs::path> old;
  for (const char* folder : {"", "offsets", "commits", "sources/0"}) {
    fs::create_directories(root / folder);
    old.push_back(temporaryNameFor((root / folder / "7").string()));
    const fs::path young = temporaryNameFor((root / folder / "8").string());
    for (const fs::path& path : {old.back(), young}) std::ofstream(path) << "half";
    fs::last_write_time(old.back(), fs::last_write_time(young) - std::chrono::hours(25));
  }
  Checkpoint checkpoint({makeLocalFileSystem(), root.string()});
  checkpoint.removeAbandonedFiles();
  size_t numYoung = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) numYoung += isTemporaryName(entry.path().filename().string());
  EXPECT_EQ(numYoung, 4u);
  for (const fs::path& path : old) EXPECT_FALSE(fs::exists(path)) << path;
  fs::remove_all(root);
}

}  // namespace
}  // namespace thalweg
