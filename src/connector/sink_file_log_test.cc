#include "connector/sink_file_log.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "common/testing/condition_of.h"
#include "storage/fault_file_system.h"

namespace thalweg {
namespace {

const std::string kLog = "/out/_spark_metadata";

class SinkFileLogTest : public testing::Test {
 protected:
  SinkFileLog open(int64_t retentionMs = SinkFileLog::kKeepAll) {
    return SinkFileLog({files_, "/out"}, systemClock(), retentionMs);
  }
  static SinkFileEntry entry(int64_t batch, int64_t modificationTimeMs = 0) {
    return {"file:///out/f" + std::to_string(batch), 10 + batch, modificationTimeMs};
  }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const FileInfo& file : files_->list(kLog)) names.emplace_back(file.name());
    return names;
  }
  std::shared_ptr<FaultFileSystem> files_ = std::make_shared<FaultFileSystem>(makeMemoryFileSystem());
};

// The fixture was written by Spark 4.2.
TEST(SinkFileLogBytes, AreSparks) {
  const std::string folder =
      std::string(THALWEG_SHARED_DIR) + "/testdata/spark-checkpoints/file-sink-parquet/table";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent";
  const auto spark = makeLocalFileSystem();
  const auto ours = makeMemoryFileSystem();
  SinkFileLog log({ours, "/out"}, systemClock());
  for (int64_t batch = 0; batch <= 2; ++batch) {
    const std::string theirs = spark->readAll(folder + "/_spark_metadata/" + std::to_string(batch));
    log.add(batch, parseSinkFileLog(theirs, "spark"));
    EXPECT_EQ(ours->readAll(kLog + "/" + std::to_string(batch)), theirs);
  }
  const std::vector<SinkFileEntry> files = SinkFileLog({spark, folder}, systemClock()).files();
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files, log.files());
  EXPECT_EQ(files[1].sizeBytes, 1777);
}

TEST_F(SinkFileLogTest, EveryTenthBatchHoldsAllFilesSoFar) {
  SinkFileLog log = open();
  for (int64_t batch = 0; batch <= 9; ++batch) log.add(batch, {entry(batch)});
  EXPECT_EQ(log.latest(), 9);
  EXPECT_EQ(parseSinkFileLog(files_->readAll(kLog + "/9.compact"), "").size(), 10U);
  EXPECT_EQ(parseSinkFileLog(files_->readAll(kLog + "/8"), "").size(), 1U);
  log.add(10, {entry(10)});
  EXPECT_EQ(open().files().size(), 11U);
}

TEST_F(SinkFileLogTest, ItIsSeenWhatOthersWroteMeanwhile) {
  SinkFileLog log = open();
  log.add(8, {entry(8)});
  SinkFileLog other = open();
  EXPECT_FALSE(log.has(9));
  other.add(9, {entry(9)});
  EXPECT_TRUE(log.has(9)) << "a compaction";
  EXPECT_EQ(log.latest(), 8);
}

// It would be logged under the next number.
TEST_F(SinkFileLogTest, ABatchThatIsLoggedAlreadyIsNoCallers) {
  SinkFileLog log = open();
  log.add(3, {entry(3)});
  EXPECT_DEATH(log.add(3, {entry(3)}), "batchId > latest");
}

TEST_F(SinkFileLogTest, ABatchWithoutFilesHasItsFile) {
  SinkFileLog log = open();
  log.add(0, {});
  EXPECT_EQ(files_->readAll(kLog + "/0"), "v1");
  EXPECT_EQ(open().latest(), 0);
  EXPECT_TRUE(open().files().empty());
}

// A query that goes on in another folder: Spark's readers ask for all files from the last compaction on.
TEST_F(SinkFileLogTest, ALogThatBeginsLateCanBeRead) {
  open().add(12, {entry(12)});
  EXPECT_EQ(names(), (std::vector<std::string>{"10", "11", "12", "9.compact"}));
  EXPECT_EQ(open().files(), std::vector<SinkFileEntry>{entry(12)});
  open().add(13, {entry(13)});
  EXPECT_EQ(open().files().size(), 2U);
}

TEST_F(SinkFileLogTest, EntriesPastTheRetentionLeaveAtTheNextCompaction) {
  SinkFileLog log = open(60'000);
  const int64_t now = systemClock().nowMillis();
  log.add(0, {entry(0, now - 120'000)});
  for (int64_t batch = 1; batch <= 9; ++batch) log.add(batch, {entry(batch, now)});
  const auto files = open(60'000).files();
  ASSERT_EQ(files.size(), 9U);
  EXPECT_EQ(files[0].uri, "file:///out/f1");
}

TEST_F(SinkFileLogTest, ABatchThatAnotherRunWroteIsAnError) {
  SinkFileLog one = open();
  SinkFileLog other = open();
  one.add(0, {entry(0)});
  EXPECT_EQ(conditionOf([&] { other.add(0, {entry(7)}); }), "CONCURRENT_STREAM_LOG_UPDATE");
  EXPECT_EQ(open().files(), std::vector<SinkFileEntry>{entry(0)});
}

TEST_F(SinkFileLogTest, AMissingFileBetweenIsAnError) {
  SinkFileLog log = open();
  for (int64_t batch = 0; batch <= 2; ++batch) log.add(batch, {entry(batch)});
  files_->remove(kLog + "/1");
  EXPECT_EQ(conditionOf([&] { open().files(); }), "STREAMING_CHECKPOINT_LOG_CORRUPT");
}

TEST(ParseSinkFileLog, RefusesWhatIsNone) {
  for (const char* text :
       {"", "v2", "v1\n[]", "v1\n{}", "v1\n{\"path\":1,\"size\":1,\"modificationTime\":1,\"action\":\"add\"}",
        "v1\n{\"path\":\"file:/a\",\"size\":-1,\"modificationTime\":1,\"action\":\"add\"}",
        "v1\n{\"path\":\"file:/a\",\"size\":1,\"modificationTime\":1,\"action\":\"move\"}"}) {
    EXPECT_EQ(conditionOf([&] { parseSinkFileLog(text, "x"); }), "STREAMING_CHECKPOINT_LOG_CORRUPT") << text;
  }
}

// Of Spark before 2.2.
TEST(ParseSinkFileLog, DeletionsTakeTheirFilesAway) {
  const auto files = parseSinkFileLog(
      "v1\n{\"path\":\"file:/a\",\"size\":1,\"isDir\":false,\"modificationTime\":1,\"action\":\"add\"}\n"
      "{\"path\":\"file:/b\",\"size\":1,\"modificationTime\":1,\"action\":\"add\"}\n"
      "{\"path\":\"file:/a\",\"size\":1,\"modificationTime\":1,\"action\":\"delete\"}",
      "x");
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].uri, "file:/b");
}

}  // namespace
}  // namespace thalweg
