// What users of other engines have reported of logs and writers, as cases for this one. Others of the kind
// are in commit_test.cc (lost answers, deaths after a checkpoint), faults_test.cc (full disks, odd listings,
// files whose close fails), lost_log_files_test.cc (clean-ups under readers), log_test.cc (hints) and
// statements_test.cc.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "common/uuid.h"
#include "delta/checkpoint/checkpoint_writer.h"
#include "delta/commit/transaction.h"
#include "delta/log/log_files.h"
#include "delta/snapshot/protocol_choice.h"
#include "delta/snapshot/table_features.h"

namespace thalweg::delta {
namespace {

namespace fs = std::filesystem;

Metadata smallMetadata(std::map<std::string, std::string> configuration = {}) {
  Metadata metadata;
  metadata.schemaString =
      R"({"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}}]})";
  metadata.configuration = std::move(configuration);
  return metadata;
}

void create(const std::shared_ptr<DeltaLog>& log, std::map<std::string, std::string> configuration = {}) {
  Transaction transaction(log, nullptr);
  transaction.setMetadata(smallMetadata(std::move(configuration)));
  transaction.setOperation({.name = "CREATE TABLE"});
  ASSERT_TRUE(std::holds_alternative<Committed>(transaction.commit()));
}

// A stream's batch `number`: true where it is in the table afterwards.
bool appendBatch(const std::shared_ptr<DeltaLog>& log, const std::string& writer, int number) {
  Transaction transaction(log, log->require());
  AddFile file;
  file.path = writer + "-" + std::to_string(number);
  file.size = 1;
  file.modificationTime = 1;
  file.stats = R"({"numRecords":1})";
  transaction.add(file);
  transaction.setTransaction({writer, number, std::nullopt});
  transaction.setOperation({.name = "STREAMING UPDATE"});
  return std::holds_alternative<Committed>(transaction.commit());
}

class ManyWritersTest : public testing::Test {
 protected:
  ManyWritersTest() : path_(fs::temp_directory_path() / ("thalweg-writers-" + randomUuid())) {
    fs::create_directories(path_);
    table_ = {makeLocalFileSystem(), path_.string()};
    create(std::make_shared<DeltaLog>(table_), {{"delta.checkpointInterval", "50"}});
  }
  ~ManyWritersTest() override { fs::remove_all(path_); }

  void checkAllThere(int numWriters, int numCommits) {
    const SnapshotPtr snapshot = loadSnapshot(table_);
    EXPECT_EQ(snapshot->version(), numWriters * numCommits) << "a version a commit";
    EXPECT_EQ(snapshot->numFiles(), numWriters * numCommits);
    for (int writer = 0; writer < numWriters; ++writer)
      EXPECT_EQ(snapshot->transactionVersion("w" + std::to_string(writer)), numCommits - 1);
  }

  fs::path path_;
  Location table_;
};

TEST_F(ManyWritersTest, ThreeThreadsWithHandlesOfTheirOwnOverwriteNothing) {
  constexpr int kWriters = 3;
  constexpr int kCommits = 60;
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      const auto log = std::make_shared<DeltaLog>(table_);
      for (int i = 0; i < kCommits; ++i) failures += !appendBatch(log, "w" + std::to_string(writer), i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  checkAllThere(kWriters, kCommits);
}

TEST_F(ManyWritersTest, EightProcessesOfAHundredCommitsOverwriteNothing) {
  constexpr int kWriters = 8;
  constexpr int kCommits = 100;
  std::vector<pid_t> children;
  for (int writer = 0; writer < kWriters; ++writer) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int failures = 1;
      try {
        const auto log = std::make_shared<DeltaLog>(Location{makeLocalFileSystem(), path_.string()});
        failures = 0;
        for (int i = 0; i < kCommits; ++i) failures += !appendBatch(log, "w" + std::to_string(writer), i);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        failures = 1;
      }
      ::_exit(failures == 0 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  checkAllThere(kWriters, kCommits);
  for (const auto& file : fs::directory_iterator(path_ / "_delta_log"))
    EXPECT_FALSE(file.path().filename().string().ends_with(".tmp")) << file.path() << " stayed behind";
}

// As Spark 4.2 with Delta 4.4 has them, nested or not: another feature, or one without its name, keeps other
// readers away for nothing.
TEST(TimestampsWithoutZone, HaveTheFeaturesThatSparkGivesThem) {
  for (const char* type :
       {R"("timestamp_ntz")", R"({"type":"struct","fields":[{"name":"y","type":)"
                              R"({"type":"array","elementType":"timestamp_ntz",)"
                              R"("containsNull":true},"nullable":true,"metadata":{}}]})"}) {
    Metadata metadata = smallMetadata();
    metadata.schemaString = std::string(R"({"type":"struct","fields":[{"name":"x","type":)") + type +
                            R"(,"nullable":true,"metadata":{}}]})";
    Protocol protocol = protocolForNewTable(metadata, "t");
    EXPECT_EQ(protocol.minReaderVersion, 3);
    EXPECT_EQ(protocol.minWriterVersion, 7);
    EXPECT_EQ(readerFeatures(protocol), std::vector<std::string>{"timestampNtz"});
    auto features = writerFeatures(protocol);
    std::sort(features.begin(), features.end());
    EXPECT_EQ(features, (std::vector<std::string>{"appendOnly", "invariants", "timestampNtz"}));
  }
}

// The winner's protocol is the one that our files must obey.
TEST(RacingProtocols, RowsAppendedWhileATableBeginsToTrackRowsHaveIds) {
  const auto log = std::make_shared<DeltaLog>(Location{makeMemoryFileSystem(), "/t"});
  create(log);
  Transaction late(log, log->require());
  AddFile file;
  file.path = "late";
  file.size = 1;
  file.stats = R"({"numRecords":3})";
  late.add(file);
  late.setOperation({.name = "WRITE"});
  {
    const SnapshotPtr snapshot = log->require();
    Transaction winner(log, snapshot);
    winner.setProtocol(
        upgradedProtocol(snapshot->protocol(), snapshot->metadata(), "t", {"rowTracking", "domainMetadata"}));
    winner.setMetadata(snapshot->metadata());
    winner.setOperation({.name = "SET TBLPROPERTIES"});
    ASSERT_TRUE(std::holds_alternative<Committed>(winner.commit()));
  }
  ASSERT_TRUE(std::holds_alternative<Committed>(late.commit()));
  const auto added = loadSnapshot(log->table())->liveFiles();
  ASSERT_EQ(added.size(), 1u);
  EXPECT_EQ(added[0].baseRowId, 0);
  EXPECT_EQ(added[0].defaultRowCommitVersion, 2);
}

}  // namespace
}  // namespace thalweg::delta
