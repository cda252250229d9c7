// Files of the log that go under those who read it: an administrator's hand, or the clean-up of a log by
// another process. Who can do without them does; nobody leaves out in silence what they held.
#include <gtest/gtest.h>

#include "common/error.h"
#include "delta/changes/change_range.h"
#include "delta/checkpoint/checkpoint_writer.h"
#include "delta/commit/read_hook_for_tests.h"
#include "delta/commit/transaction.h"
#include "delta/log/log_files.h"

namespace thalweg::delta {
namespace {

void create(const std::shared_ptr<DeltaLog>& log, std::map<std::string, std::string> properties) {
  Transaction transaction(log, nullptr);
  Metadata metadata;
  metadata.schemaString =
      R"({"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}}]})";
  metadata.configuration = std::move(properties);
  transaction.setMetadata(metadata);
  transaction.setOperation({.name = "CREATE TABLE"});
  ASSERT_TRUE(std::holds_alternative<Committed>(transaction.commit()));
}

bool appendBatch(const std::shared_ptr<DeltaLog>& log, int number) {
  Transaction transaction(log, log->require());
  AddFile file;
  file.path = "w-" + std::to_string(number);
  file.size = 1;
  file.modificationTime = 1;
  file.stats = R"({"numRecords":1})";
  transaction.add(file);
  transaction.setOperation({.name = "WRITE"});
  return std::holds_alternative<Committed>(transaction.commit());
}

class LostLogFilesTest : public testing::Test {
 protected:
  explicit LostLogFilesTest(std::map<std::string, std::string> properties = {}) {
    properties["delta.checkpointInterval"] = "4";
    create(log_, std::move(properties));
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(appendBatch(log_, i));
  }
  std::string logFile(const std::string& name) const { return "/t/_delta_log/" + name; }

  // When the commit of `version` is about to be read, those of `gone` go.
  void cleanUpWhenReading(int64_t version, std::vector<int64_t> gone) {
    store_->ending = commitFileName(version);
    store_->action = [this, gone = std::move(gone)] {
      for (const int64_t one : gone) files_->remove(logFile(commitFileName(one)));
    };
  }

  std::shared_ptr<FileSystem> files_ = makeMemoryFileSystem();
  std::shared_ptr<ReadHook> store_ = std::make_shared<ReadHook>(files_);
  std::shared_ptr<DeltaLog> log_ = std::make_shared<DeltaLog>(Location{store_, "/t"});
};

TEST_F(LostLogFilesTest, ACheckpointThatIsDeletedUnderARunningReaderIsDoneWithout) {
  const SnapshotPtr before = log_->require();
  files_->remove(logFile(classicCheckpointFileName(4)));
  EXPECT_TRUE(appendBatch(std::make_shared<DeltaLog>(Location{files_, "/t"}), 6)) << "by another process";
  EXPECT_EQ(log_->require()->version(), 7) << "who runs";
  EXPECT_EQ(loadSnapshot({store_, "/t"})->numFiles(), 7) << "who comes, though the hint names it";
  EXPECT_EQ(log_->snapshotAt(5)->numFiles(), 5) << "who travels in time";
  EXPECT_EQ(before->numFiles(), 6);
}

TEST_F(LostLogFilesTest, ACheckpointThatGoesBetweenListingAndReadingIsDoneWithout) {
  store_->ending = classicCheckpointFileName(4);
  store_->action = [&] { files_->remove(logFile(classicCheckpointFileName(4))); };
  EXPECT_EQ(loadSnapshot({store_, "/t"})->numFiles(), 6);
  EXPECT_FALSE(store_->action) << "it was about to be read";
}

// The log's owner writes a checkpoint and takes the commits before it, while a reader who listed them reads.
TEST_F(LostLogFilesTest, AReaderWhoseCommitsAreCleanedUpListsOnceMore) {
  files_->remove(logFile(classicCheckpointFileName(4)));
  store_->ending = commitFileName(2);
  store_->action = [&] {
    writeCheckpoint(*loadSnapshot({files_, "/t"}, 5), systemClock());
    for (int64_t version = 0; version < 5; ++version) files_->remove(logFile(commitFileName(version)));
  };
  const SnapshotPtr snapshot = loadSnapshot({store_, "/t"});
  EXPECT_FALSE(store_->action);
  EXPECT_EQ(snapshot->version(), 6);
  EXPECT_EQ(snapshot->numFiles(), 6);
  EXPECT_EQ(snapshot->checkpointVersion(), 5);
}

TEST_F(LostLogFilesTest, CommitsThatAreGoneForGoodAreNamed) {
  files_->remove(logFile(classicCheckpointFileName(4)));
  files_->remove(logFile(commitFileName(3)));
  try {
    loadSnapshot({store_, "/t"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.condition(), "DELTA_VERSIONS_NOT_CONTIGUOUS");
    EXPECT_NE(error.text().find(commitFileName(3)), std::string::npos) << error.text();
  }
}

std::vector<int64_t> versionsOf(const std::vector<HistoryEntry>& history) {
  std::vector<int64_t> versions;
  for (const HistoryEntry& entry : history) versions.push_back(entry.version);
  return versions;
}

// As Delta: what is left is the table's history.
TEST_F(LostLogFilesTest, TheHistoryIsOfTheCommitsThatAreLeft) {
  cleanUpWhenReading(4, {0, 1, 2});
  EXPECT_EQ(versionsOf(log_->history()), (std::vector<int64_t>{6, 5, 4, 3}));
  EXPECT_FALSE(store_->action);
  cleanUpWhenReading(6, {6});
  EXPECT_EQ(versionsOf(log_->history(2)), std::vector<int64_t>{5});
}

TEST_F(LostLogFilesTest, AReaderWhoIsUpToDateGoesOnWhenItsNextCommitIsCleanedUp) {
  ASSERT_EQ(log_->require()->version(), 6);
  const auto other = std::make_shared<DeltaLog>(Location{files_, "/t"});
  for (int i = 6; i < 9; ++i) ASSERT_TRUE(appendBatch(other, i));
  cleanUpWhenReading(7, {0, 1, 2, 3, 4, 5, 6, 7});
  const SnapshotPtr newest = log_->require();
  EXPECT_FALSE(store_->action);
  EXPECT_EQ(newest->version(), 9);
  EXPECT_EQ(newest->numFiles(), 9);
}

class LostTimesTest : public LostLogFilesTest {
 protected:
  LostTimesTest() : LostLogFilesTest({{"delta.enableInCommitTimestamps", "true"}}) {}
};

// Times of versions that are gone choose none: what is there answers.
TEST_F(LostTimesTest, TimeTravelChoosesAmongTheCommitsThatAreLeft) {
  const SnapshotPtr newest = log_->require();
  const int64_t timeMs = log_->snapshotAt(5)->timestampMs();
  cleanUpWhenReading(0, {0, 1, 2, 3});
  EXPECT_EQ(log_->snapshotAtTimestamp(timeMs)->version(), 5);
  EXPECT_FALSE(store_->action);
  cleanUpWhenReading(4, {4});
  EXPECT_EQ(firstVersionSince(*newest, timeMs), 5);
  EXPECT_FALSE(store_->action);
}

class LostChangesTest : public LostLogFilesTest {
 protected:
  LostChangesTest() : LostLogFilesTest({{"delta.enableChangeDataFeed", "true"}}) {}

  // The missing version, as the failure's parameter and text have it, and the next one that is there.
  std::string missingIn(const ChangeRange& range) { return missingIn(range, *log_->require()); }
  std::string missingIn(const ChangeRange& range, const Snapshot& reading) {
    try {
      readChanges(*log_, range, reading);
    } catch (const Error& error) {
      EXPECT_EQ(error.condition(), "DELTA_MISSING_FILES_UNEXPECTED_VERSION");
      const std::string version = error.parameters().at("startVersion");
      EXPECT_NE(error.text().find("version " + version), std::string::npos) << error.text();
      return version + ", then " + error.parameters().at("earliestVersion");
    }
    return "none";
  }
};

// Each change has its commit's time: the file's, made to rise.
TEST_F(LostChangesTest, ARangeWithAllItsCommitsIsRead) {
  EXPECT_EQ(readChanges(*log_, {2, 3}, *log_->require()).size(), 2u);
  const auto changes = readChanges(*log_, {0, 6}, *log_->require());
  const auto times = readFileTimes(*files_, "/t/_delta_log", 0, 6);
  ASSERT_EQ(changes.size(), 6u);
  ASSERT_EQ(times.size(), 7u);
  for (size_t i = 0; i < changes.size(); ++i) {
    EXPECT_EQ(changes[i].version, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(changes[i].timestampMs, times[i + 1].timestampMs);
  }
}

class ChangesWithTimesTest : public LostLogFilesTest {
 protected:
  ChangesWithTimesTest()
      : LostLogFilesTest(
            {{"delta.enableChangeDataFeed", "true"}, {"delta.enableInCommitTimestamps", "true"}}) {}
};

// Where commits have a time of their own, changes have that.
TEST_F(ChangesWithTimesTest, ChangesHaveTheInCommitTimestamp) {
  const auto changes = readChanges(*log_, {1, 6}, *log_->require());
  ASSERT_EQ(changes.size(), 6u);
  for (const ChangedFile& change : changes) {
    const std::string commit = files_->readAll(logFile(commitFileName(change.version)));
    EXPECT_NE(commit.find("\"inCommitTimestamp\":" + std::to_string(change.timestampMs) + ","),
              std::string::npos)
        << commit;
  }
}

TEST_F(LostChangesTest, ACommitThatGoesWhileTheRangeIsReadIsNamed) {
  cleanUpWhenReading(1, {2, 3});
  EXPECT_EQ(missingIn({0, 6}), "2, then 3") << "as it was listed";
  EXPECT_FALSE(store_->action);
}

TEST_F(LostChangesTest, AHoleInTheRangeIsNamed) {
  files_->remove(logFile(commitFileName(3)));
  EXPECT_EQ(missingIn({0, 6}), "3, then 4");
  EXPECT_EQ(missingIn({4, 6}), "none");
}

// The first version's metadata may still be known by its checksum.
TEST_F(LostChangesTest, CommitsThatAreGoneAtTheBeginningAreNamed) {
  for (const int64_t version : {0, 1}) files_->remove(logFile(commitFileName(version)));
  EXPECT_EQ(missingIn({0, 6}), "0, then 2");
  EXPECT_EQ(missingIn({1, 6}), "1, then 2");
}

TEST_F(LostChangesTest, TheNewestCommitCountsToo) {
  const SnapshotPtr newest = log_->require();
  files_->remove(logFile(commitFileName(6)));
  EXPECT_EQ(missingIn({5, 6}, *newest), "6, then 7");
}

}  // namespace
}  // namespace thalweg::delta
