#include "delta/checkpoint/log_clean_up.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "common/testing/condition_of.h"
#include "common/uuid.h"
#include "delta/commit/transaction.h"
#include "delta/log/log_files.h"
#include "delta/snapshot/table_features.h"
#include "storage/temporary_names.h"

namespace thalweg::delta {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDayMs = 24LL * 3600 * 1000;

// A time that a test moves.
class SetClock final : public Clock {
 public:
  int64_t nowMs = 1'579'075'200'000;  // 2020-01-15 08:00 UTC
  int64_t nowMicros() const override { return nowMs * 1000; }
  std::chrono::steady_clock::time_point monotonic() const override { return systemClock().monotonic(); }
};

// Versions are made a day after one another, long ago; files carry the clock's times, once their commit is
// over.
class LogCleanUpTest : public testing::Test {
 protected:
  LogCleanUpTest() : folder_(fs::temp_directory_path() / ("thalweg-log-clean-up-" + randomUuid())) {
    fs::create_directories(folder_);
    log_ = std::make_shared<DeltaLog>(Location{makeLocalFileSystem(), folder_.string()}, clock_);
  }
  ~LogCleanUpTest() override { fs::remove_all(folder_); }

  void create(std::map<std::string, std::string> properties, const Protocol& protocol = {}) {
    Transaction transaction(log_, nullptr);
    Metadata metadata;
    metadata.schemaString =
        R"({"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}}]})";
    metadata.configuration = std::move(properties);
    transaction.setMetadata(metadata);
    if (protocol.writerFeatures) transaction.setProtocol(protocol);
    transaction.setOperation({"CREATE TABLE", {}, {}, {}, {}});
    transaction.commit();
    stampNewFiles();
  }

  // One version a day.
  void appendDaily(int versions) {
    for (int i = 0; i < versions; ++i) {
      clock_.nowMs += kDayMs;
      Transaction transaction(log_, log_->require());
      AddFile add;
      add.path = "f" + std::to_string(log_->require()->version());
      add.stats = R"({"numRecords":1})";
      transaction.add(add);
      transaction.setOperation({"WRITE", {}, {}, {}, {}});
      transaction.commit();
      stampNewFiles();
    }
  }

  // Files get the clock's time, once.
  void stampNewFiles() {
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file() && stamped_.insert(entry.path().string()).second)
        setTime(entry.path(), clock_.nowMs);
    }
  }
  static void setTime(const fs::path& path, int64_t ms) {
    const auto since = std::chrono::milliseconds(ms);
    fs::last_write_time(
        path, fs::file_time_type::clock::from_sys(std::chrono::sys_time<std::chrono::milliseconds>(since)));
  }
  fs::path logFile(const std::string& name) const { return folder_ / "_delta_log" / name; }

  std::set<int64_t> versionsOf(LogFileKind kind) const {
    std::set<int64_t> versions;
    for (const auto& entry : fs::directory_iterator(folder_ / "_delta_log")) {
      const auto name = parseLogFileName(entry.path().filename().string());
      if (name && name->kind == kind) versions.insert(name->version);
    }
    return versions;
  }
  size_t numSidecars() const {
    const fs::path sidecars = folder_ / "_delta_log" / "_sidecars";
    return fs::exists(sidecars) ? static_cast<size_t>(std::distance(fs::directory_iterator(sidecars), {}))
                                : 0;
  }

  static std::set<int64_t> range(int64_t first, int64_t last) {
    std::set<int64_t> versions;
    for (int64_t version = first; version <= last; ++version) versions.insert(version);
    return versions;
  }

  fs::path folder_;
  SetClock clock_;
  std::shared_ptr<DeltaLog> log_;
  std::set<std::string> stamped_;
};

TEST(CleanUpCutoff, IsCutDownToMidnightOfUtcOrToTheMinute) {
  EXPECT_EQ(cleanUpCutoffMs(1'579'075'200'000, kDayMs, CleanUpGranularity::Day), 1'578'960'000'000)
      << "2020-01-14";
  EXPECT_EQ(cleanUpCutoffMs(1'579'075'212'345, 13'000, CleanUpGranularity::Minute), 1'579'075'140'000)
      << "07:59";
}

// Version n is n days younger than version 0, each at 08:00; checkpoints at 5, 10 and 15. On day 15 a
// retention of five days ends on day 10 at 08:00, cut down to its midnight: versions up to 9 are expired. The
// newest checkpoint that an expired commit precedes is 10: all before it goes, it and what follows stays.
TEST_F(LogCleanUpTest, AllBeforeTheNewestCheckpointThatAnExpiredCommitPrecedes) {
  create({{"delta.checkpointInterval", "5"}, {"delta.logRetentionDuration", "interval 5 days"}});
  appendDaily(14);
  EXPECT_EQ(versionsOf(LogFileKind::Commit), range(5, 14))
      << "at version 10 the cutoff was the midnight of day 5: versions to 4 went";
  appendDaily(1);
  EXPECT_EQ(versionsOf(LogFileKind::Commit), range(10, 15));
  EXPECT_EQ(versionsOf(LogFileKind::Checksum), range(10, 15));
  EXPECT_EQ(versionsOf(LogFileKind::ClassicCheckpoint), (std::set<int64_t>{10, 15}));
  EXPECT_EQ(loadSnapshot(log_->table(), 10)->numFiles(), 10);
  EXPECT_EQ(loadSnapshot(log_->table(), 14)->numFiles(), 14);
  EXPECT_EQ(loadSnapshot(log_->table())->numFiles(), 15);
}

TEST_F(LogCleanUpTest, RemovedVersionsAreNamedAsSuch) {
  create({{"delta.checkpointInterval", "5"}, {"delta.logRetentionDuration", "interval 1 days"}});
  appendDaily(10);
  EXPECT_EQ(versionsOf(LogFileKind::Commit), range(5, 10));
  EXPECT_EQ(conditionOf([&] { log_->snapshotAt(4); }), "DELTA_VERSION_NOT_FOUND");
  EXPECT_EQ(log_->snapshotAt(5)->version(), 5);
  EXPECT_EQ(conditionOf([&] { log_->snapshotAtTimestamp(clock_.nowMs - 7 * kDayMs); }),
            "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION");
}

TEST_F(LogCleanUpTest, ThePropertySwitchesItOff) {
  create({{"delta.checkpointInterval", "5"},
          {"delta.logRetentionDuration", "interval 1 days"},
          {"delta.enableExpiredLogCleanup", "false"}});
  appendDaily(10);
  EXPECT_EQ(versionsOf(LogFileKind::Commit), range(0, 10));
}

TEST_F(LogCleanUpTest, FilesOfWritersThatWereKilledGoWithIt) {
  create({{"delta.checkpointInterval", "2"}});
  appendDaily(1);
  const fs::path old = temporaryNameFor(logFile(commitFileName(2)).string());
  const fs::path young = temporaryNameFor(logFile(commitFileName(2)).string());
  const fs::path foreign = logFile(".00000000000000000002.json.crc");
  for (const fs::path& path : {old, young, foreign}) std::ofstream(path) << "x";
  stampNewFiles();
  setTime(young, clock_.nowMs + kDayMs - 1000);
  appendDaily(1);
  EXPECT_FALSE(fs::exists(old)) << "a day old";
  EXPECT_TRUE(fs::exists(young)) << "its writer may live";
  EXPECT_TRUE(fs::exists(foreign));
}

TEST_F(LogCleanUpTest, WithoutACheckpointNothingGoes) {
  create({{"delta.checkpointInterval", "100"}});
  appendDaily(40);
  const CleanUpReport report = cleanUpLog(*log_->require(), clock_.nowMs);
  EXPECT_EQ(report.logFiles, 0);
  EXPECT_EQ(versionsOf(LogFileKind::Commit), range(0, 40));
}

// A file that is no younger than the version before it counts as a millisecond younger: copies of old files
// among new ones do not expire before those.
TEST_F(LogCleanUpTest, TimesThatDoNotRiseAreMadeTo) {
  create({{"delta.checkpointInterval", "5"}, {"delta.enableExpiredLogCleanup", "false"}});
  appendDaily(10);
  for (int64_t version = 0; version <= 10; ++version) fs::remove(logFile(checksumFileName(version)));
  // Version 2 is of today: 3 and 4, which stand before the checkpoint, count as younger, whatever their files
  // say.
  setTime(logFile(commitFileName(2)), clock_.nowMs);
  setTime(logFile(classicCheckpointFileName(5)), clock_.nowMs + kDayMs);
  cleanUpLog(*log_->require(), clock_.nowMs + 1);
  EXPECT_EQ(versionsOf(LogFileKind::Commit), range(0, 10));
  cleanUpLog(*log_->require(), clock_.nowMs + 2);
  EXPECT_EQ(versionsOf(LogFileKind::Commit), range(10, 10));
}

TEST_F(LogCleanUpTest, CompactedFilesOfRemovedVersionsGo) {
  create({{"delta.checkpointInterval", "5"}, {"delta.enableExpiredLogCleanup", "false"}});
  appendDaily(10);
  FileSystem& files = *log_->table().fileSystem;
  files.writeAtomically(logFile("00000000000000000003.00000000000000000006.compacted.json").string(), "{}\n");
  files.writeAtomically(logFile("00000000000000000006.00000000000000000008.compacted.json").string(), "{}\n");
  cleanUpLog(*log_->require(), clock_.nowMs - 4 * kDayMs);
  EXPECT_EQ(versionsOf(LogFileKind::Compacted), (std::set<int64_t>{6}));
}

TEST_F(LogCleanUpTest, SidecarsGoWithTheLastCheckpointThatNamesThem) {
  create({{"delta.checkpointInterval", "5"},
          {"delta.checkpointPolicy", "v2"},
          {"delta.logRetentionDuration", "interval 1 days"}});
  appendDaily(5);
  fs::copy_file(fs::directory_iterator(folder_ / "_delta_log" / "_sidecars")->path(),
                folder_ / "_delta_log" / "_sidecars" / "stray.parquet");
  setTime(folder_ / "_delta_log" / "_sidecars" / "stray.parquet", clock_.nowMs);
  appendDaily(5);
  EXPECT_EQ(numSidecars(), 3u) << "checkpoint 5 still stands";
  appendDaily(5);
  EXPECT_EQ(versionsOf(LogFileKind::Commit), range(10, 15));
  EXPECT_EQ(versionsOf(LogFileKind::UuidCheckpoint), (std::set<int64_t>{15}));
  EXPECT_EQ(numSidecars(), 2u) << "those of 10 and 15";
  EXPECT_EQ(versionsOf(LogFileKind::ClassicCheckpoint), (std::set<int64_t>{10, 15}))
      << "readers without V2 checkpoints find the protocol under the old name";
  EXPECT_EQ(loadSnapshot(log_->table(), 12)->numFiles(), 12);
  // The classic name leads to the same state.
  for (const auto& entry : fs::directory_iterator(folder_ / "_delta_log")) {
    const auto name = parseLogFileName(entry.path().filename().string());
    if (name && name->kind == LogFileKind::UuidCheckpoint && name->version == 15) fs::remove(entry.path());
  }
  EXPECT_EQ(loadSnapshot(log_->table())->numFiles(), 15);
}

// Below the protected version, history goes as a whole or up to a checkpoint that was there before.
TEST_F(LogCleanUpTest, ProtectedCheckpoints) {
  Protocol protocol{1, 7, std::nullopt,
                    std::vector<std::string>{"appendOnly", "invariants", "checkpointProtection"}};
  create({{"delta.checkpointInterval", "5"},
          {"delta.enableExpiredLogCleanup", "false"},
          {"delta.requireCheckpointProtectionBeforeVersion", "9"}},
         protocol);
  appendDaily(10);
  cleanUpLog(*log_->require(), clock_.nowMs - 4 * kDayMs);
  EXPECT_EQ(versionsOf(LogFileKind::Commit), range(5, 10));
  EXPECT_EQ(versionsOf(LogFileKind::ClassicCheckpoint), (std::set<int64_t>{5, 10}));
  cleanUpLog(*log_->require(), clock_.nowMs);
  EXPECT_EQ(versionsOf(LogFileKind::Commit), range(10, 10));
}

TEST_F(LogCleanUpTest, TheEarliestReliableCheckpointHasItsCommitAndAllAfterIt) {
  create({{"delta.checkpointInterval", "5"}, {"delta.enableExpiredLogCleanup", "false"}});
  appendDaily(12);
  FileSystem& files = *log_->table().fileSystem;
  const std::string logPath = log_->logPath();
  EXPECT_EQ(earliestReliableCheckpoint(files, logPath), 5);
  fs::remove(logFile(commitFileName(5)));
  EXPECT_EQ(earliestReliableCheckpoint(files, logPath), 10);
  fs::remove(logFile(commitFileName(11)));
  EXPECT_EQ(earliestReliableCheckpoint(files, logPath), std::nullopt);
}

}  // namespace
}  // namespace thalweg::delta
