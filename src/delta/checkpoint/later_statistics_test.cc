// Snapshots that leave statistics in their checkpoint until somebody asks, against snapshots that read them
// at once.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "delta/actions/action_writer.h"
#include "delta/checkpoint/checkpoint_writer.h"
#include "delta/commit/transaction.h"
#include "delta/log/log_files.h"
#include "delta/maintain/restore.h"
#include "delta/scan/row_count.h"
#include "delta/snapshot/delta_log.h"
#include "storage/fault_file_system.h"

namespace thalweg::delta {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kAlwaysLater = 0;
constexpr int64_t kAtOnce = std::numeric_limits<int64_t>::max();

std::vector<std::string> linesOf(const Snapshot& snapshot, Statistics statistics = Statistics::Required) {
  std::vector<std::string> lines;
  for (const AddFile& file : snapshot.liveFiles(statistics)) lines.push_back(toJsonLine(file));
  return lines;
}

std::vector<std::string> tombstonesOf(const Snapshot& snapshot) {
  std::vector<std::string> lines;
  snapshot.files().forEachTombstone(
      0, [&](const FileRecord& record) { lines.push_back(toJsonLine(record.toRemove())); });
  return lines;
}

// Of every version that is there. How many were compared.
size_t expectSameSnapshots(const Location& table) {
  size_t compared = 0;
  SnapshotPtr newest;
  try {
    newest = loadSnapshot(table, std::nullopt, systemClock(), kAtOnce);
  } catch (const Error&) {
    EXPECT_THROW(loadSnapshot(table, std::nullopt, systemClock(), kAlwaysLater), Error);
    return 0;
  }
  for (int64_t version = newest->version(); version >= 0; --version) {
    SCOPED_TRACE(version);
    SnapshotPtr atOnce;
    try {
      atOnce = loadSnapshot(table, version, systemClock(), kAtOnce);
    } catch (const Error&) {
      break;
    }
    if (!atOnce->checkpointVersion()) break;
    const SnapshotPtr later = loadSnapshot(table, version, systemClock(), kAlwaysLater);
    EXPECT_EQ(tombstonesOf(*later), tombstonesOf(*atOnce));
    EXPECT_EQ(linesOf(*later, Statistics::LeftOut), linesOf(*atOnce, Statistics::LeftOut));
    EXPECT_EQ(linesOf(*later), linesOf(*atOnce));
    EXPECT_EQ(linesOf(*later, Statistics::IfKnown), linesOf(*atOnce));
    EXPECT_EQ(rowCount(*later), rowCount(*atOnce));
    EXPECT_FALSE(later->files().hasLostStatistics());
    ++compared;
  }
  return compared;
}

TEST(LaterStatistics, AreThoseOfEveryFixture) {
  const fs::path root = fs::path(THALWEG_SHARED_DIR) / "testdata";
  if (!fs::exists(root / "delta") || !fs::exists(root / "spark-checkpoints"))
    GTEST_SKIP() << "no shared test data";
  size_t compared = 0;
  for (const char* folder : {"delta", "spark-checkpoints"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_directory() || entry.path().filename() != "_delta_log") continue;
      const fs::path table = entry.path().parent_path();
      SCOPED_TRACE(table.string());
      compared += expectSameSnapshots({makeLocalFileSystem(), fs::weakly_canonical(table).string()});
    }
  }
  EXPECT_GT(compared, 40u);
}

// The log alone.
Location copyOf(const fs::path& table) {
  const auto files = makeMemoryFileSystem();
  for (const auto& entry : fs::recursive_directory_iterator(table / "_delta_log")) {
    if (!entry.is_regular_file()) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    files->writeAtomically("/t/" + fs::relative(entry.path(), table).string(), bytes);
  }
  return {files, "/t"};
}

// Against the one that a snapshot with its statistics at hand becomes. False: we may not write it.
bool expectSameInTheNextCheckpoint(const fs::path& folder) {
  const auto writtenFrom = [&](int64_t laterStatisticsBytes) {
    const Location table = copyOf(folder);
    const SnapshotPtr snapshot = loadSnapshot(table, std::nullopt, systemClock(), laterStatisticsBytes);
    writeCheckpoint(*snapshot);
    const SnapshotPtr written = loadSnapshot(table, std::nullopt, systemClock(), kAtOnce);
    EXPECT_EQ(written->checkpointVersion(), snapshot->version());
    return linesOf(*written);
  };
  std::vector<std::string> expected;
  try {
    expected = writtenFrom(kAtOnce);
  } catch (const Error& error) {
    EXPECT_THROW(writtenFrom(kAlwaysLater), Error) << error.text();
    return false;
  }
  EXPECT_EQ(writtenFrom(kAlwaysLater), expected);
  return true;
}

TEST(LaterStatistics, GoIntoTheNextCheckpointOfEveryFixture) {
  const fs::path root = fs::path(THALWEG_SHARED_DIR) / "testdata";
  if (!fs::exists(root / "delta") || !fs::exists(root / "spark-checkpoints"))
    GTEST_SKIP() << "no shared test data";
  size_t written = 0;
  for (const char* folder : {"delta", "spark-checkpoints"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_directory() || entry.path().filename() != "_delta_log") continue;
      const fs::path table = entry.path().parent_path();
      SCOPED_TRACE(table.string());
      try {
        const SnapshotPtr newest =
            loadSnapshot({makeLocalFileSystem(), fs::weakly_canonical(table).string()});
        if (!newest || !newest->checkpointVersion()) continue;
      } catch (const Error&) {
        continue;
      }
      written += expectSameInTheNextCheckpoint(table);
    }
  }
  EXPECT_GT(written, 5u);
}

// Counts how often checkpoints are opened, and does something before the n-th time.
class CheckpointOpens final : public FaultFileSystem {
 public:
  using FaultFileSystem::FaultFileSystem;
  std::atomic<int> opens = 0;
  int actAt = 0;
  std::function<void()> action;

  std::shared_ptr<arrow::io::RandomAccessFile> openInput(const std::string& path) override {
    if (path.ends_with(".checkpoint.parquet") && ++opens == actAt) action();
    return FaultFileSystem::openInput(path);
  }
};

// A table of four files in the checkpoint of version 1 and one in the commit of version 2.
class LaterStatisticsTest : public testing::Test {
 protected:
  static constexpr const char* kCheckpoint = "/t/_delta_log/00000000000000000001.checkpoint.parquet";

  explicit LaterStatisticsTest(const std::map<std::string, std::string>& properties = {})
      : files_(makeMemoryFileSystem()),
        store_(std::make_shared<CheckpointOpens>(files_)),
        table_{store_, "/t"} {
    log_ = std::make_shared<DeltaLog>(table_);
    Transaction create(log_, nullptr);
    Metadata metadata;
    metadata.schemaString =
        R"({"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}},)"
        R"({"name":"p","type":"long","nullable":true,"metadata":{}}]})";
    metadata.configuration = properties;
    metadata.configuration["delta.checkpointInterval"] = "1000";
    create.setMetadata(metadata);
    create.setOperation({"CREATE TABLE", {}, {}, {}, {}});
    create.commit();
    add({"a", "b", "c", "d"});
    writeCheckpoint(*log_->require());
    add({"e"});
  }

  static AddFile fileOf(const std::string& name) {
    AddFile file;
    file.path = name;
    file.partitionValues = {{"p", std::to_string(name[0] % 2)}};
    file.size = 10;
    // Something of its own for each file.
    file.stats = R"({"numRecords":)" + std::to_string(static_cast<int>(name[0])) + "}";
    return file;
  }
  void add(const std::vector<std::string>& names) {
    Transaction transaction(log_, log_->require());
    for (const std::string& name : names) transaction.add(fileOf(name));
    transaction.setOperation({"WRITE", {}, {}, {}, {}});
    transaction.commit();
  }
  SnapshotPtr load(int64_t laterStatisticsBytes) {
    return loadSnapshot(table_, std::nullopt, systemClock(), laterStatisticsBytes);
  }
  void removeCommits(int64_t last) {
    for (int64_t version = 0; version <= last; ++version)
      files_->remove("/t/_delta_log/" + commitFileName(version));
  }

  static std::vector<std::string> expectedLines() {
    std::vector<std::string> lines;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      AddFile file = fileOf(name);
      file.dataChange = false;
      lines.push_back(toJsonLine(file));
    }
    return lines;
  }

  // Another writer's of the same version, in another order.
  void replaceCheckpoint(const std::vector<std::string>& order = {"d", "c", "b", "a"}) {
    SnapshotBuilder builder(*loadSnapshot({files_, "/t"}, 0));
    for (const std::string& name : order) builder.apply(fieldsOf(fileOf(name)));
    builder.endVersion(1, std::nullopt);
    writeCheckpoint(*std::move(builder).finish(0));
  }

  std::shared_ptr<FileSystem> files_;
  std::shared_ptr<CheckpointOpens> store_;  // of files_
  Location table_;
  std::shared_ptr<DeltaLog> log_;
};

TEST_F(LaterStatisticsTest, AreReadByTheFirstAsk) {
  const SnapshotPtr snapshot = load(kAlwaysLater);
  EXPECT_EQ(linesOf(*snapshot), expectedLines());
  // They stay when they were read.
  files_->remove(kCheckpoint);
  EXPECT_EQ(linesOf(*snapshot), expectedLines());
  EXPECT_EQ(rowCount(*snapshot), 'a' + 'b' + 'c' + 'd' + 'e');
}

TEST_F(LaterStatisticsTest, AreReadOnceByManyThreads) {
  const SnapshotPtr snapshot = load(kAlwaysLater);
  std::vector<std::vector<std::string>> found(4);
  std::vector<std::thread> threads;
  for (auto& lines : found) threads.emplace_back([&lines, &snapshot] { lines = linesOf(*snapshot); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& lines : found) EXPECT_EQ(lines, expectedLines());
  EXPECT_EQ(store_->opens, 2) << "once for the files, once for their statistics";
}

TEST_F(LaterStatisticsTest, AreUnknownWhereTheCheckpointIsGone) {
  const SnapshotPtr snapshot = load(kAlwaysLater);
  files_->remove(kCheckpoint);
  EXPECT_FALSE(snapshot->files().hasLostStatistics());
  EXPECT_FALSE(snapshot->files().loadStatistics());
  EXPECT_TRUE(snapshot->files().hasLostStatistics());
  EXPECT_EQ(rowCount(*snapshot), std::nullopt);
  const std::vector<AddFile> known = snapshot->liveFiles(Statistics::IfKnown);
  ASSERT_EQ(known.size(), 5u);
  EXPECT_FALSE(known[0].stats);
  EXPECT_EQ(known[4].stats, fileOf("e").stats);
  EXPECT_FALSE(snapshot->files().findLive("a", "")->stats);
  try {
    snapshot->liveFiles();
    ADD_FAILURE() << "statistics are missing in silence";
  } catch (const Error& error) {
    EXPECT_EQ(error.condition(), "DELTA_STATE_RECOVER_ERROR");
    EXPECT_NE(error.text().find(kCheckpoint), std::string::npos) << error.text();
  }
}

TEST_F(LaterStatisticsTest, AreNotTakenFromAnotherCheckpointOfTheSameName) {
  const SnapshotPtr snapshot = load(kAlwaysLater);
  replaceCheckpoint();
  EXPECT_FALSE(snapshot->files().loadStatistics());
  EXPECT_FALSE(snapshot->liveFiles(Statistics::IfKnown)[0].stats);
}

TEST_F(LaterStatisticsTest, OutliveTheirSnapshotInLaterVersions) {
  SnapshotPtr snapshot = load(kAlwaysLater);
  // Enough to make one layer of all.
  SnapshotBuilder builder(*snapshot);
  for (int i = 0; i < 10; ++i) builder.apply(fieldsOf(fileOf("n" + std::to_string(i))));
  builder.endVersion(3, std::nullopt);
  snapshot.reset();
  const SnapshotPtr next = std::move(builder).finish(0);
  EXPECT_EQ(next->files().findLive("c", "")->stats, fileOf("c").stats);
  EXPECT_EQ(next->files().findLive("n7", "")->stats, fileOf("n7").stats);
}

TEST_F(LaterStatisticsTest, ComeBackWithTheNextUpdateOfTheTable) {
  const auto reader = std::make_shared<DeltaLog>(table_);
  reader->offer(load(kAlwaysLater));
  files_->remove(kCheckpoint);
  EXPECT_FALSE(reader->update()->files().loadStatistics());
  EXPECT_EQ(linesOf(*reader->update()), expectedLines());
}

TEST_F(LaterStatisticsTest, GoIntoTheNextCheckpoint) {
  removeCommits(1);
  writeCheckpoint(*load(kAtOnce));
  const std::string path = "/t/_delta_log/00000000000000000002.checkpoint.parquet";
  const std::string expected = files_->readAll(path);
  files_->remove(path);
  const SnapshotPtr snapshot = load(kAlwaysLater);
  ASSERT_EQ(snapshot->checkpointVersion(), 1);
  writeCheckpoint(*snapshot);
  EXPECT_EQ(files_->readAll(path), expected);
}

TEST_F(LaterStatisticsTest, GoIntoTheNextCheckpointFromEachFileOfAnOlderOne) {
  for (const char* policy : {"classic", "v2"}) {
    SCOPED_TRACE(policy);
    Metadata metadata = log_->require()->metadata();
    metadata.configuration["delta.checkpointPolicy"] = policy;
    Transaction change(log_, log_->require());
    change.setMetadata(metadata);
    change.setOperation({"SET TBLPROPERTIES", {}, {}, {}, {}});
    change.commit();
    const int64_t version = log_->require()->version();
    writeCheckpoint(*log_->require(), systemClock(), {.partSize = 2});
    Transaction empty(log_, log_->require());
    empty.setMetadata(metadata);
    empty.setOperation({"SET TBLPROPERTIES", {}, {}, {}, {}});
    empty.commit();
    const SnapshotPtr snapshot = load(kAlwaysLater);
    ASSERT_EQ(snapshot->checkpointVersion(), version);
    EXPECT_EQ(linesOf(*snapshot), expectedLines());
    const SnapshotPtr again = load(kAlwaysLater);
    writeCheckpoint(*again);
    removeCommits(version + 1);
    EXPECT_EQ(load(kAtOnce)->checkpointVersion(), version + 1);
    EXPECT_EQ(linesOf(*load(kAtOnce)), expectedLines());
  }
}

TEST_F(LaterStatisticsTest, GoIntoACheckpointOfAnotherOrder) {
  // Checkpoints of partitioned tables are ordered by partition; the one of version 1 is not.
  Metadata metadata = log_->require()->metadata();
  metadata.partitionColumns = {"p"};
  Transaction change(log_, log_->require());
  change.setMetadata(metadata);
  change.setOperation({"REPLACE TABLE", {}, {}, {}, {}});
  change.commit();
  const SnapshotPtr snapshot = load(kAlwaysLater);
  ASSERT_EQ(snapshot->checkpointVersion(), 1);
  writeCheckpoint(*snapshot);
  removeCommits(3);
  auto expected = expectedLines();
  std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) {
    return a.find(R"("p":"0")") != std::string::npos && b.find(R"("p":"1")") != std::string::npos;
  });
  EXPECT_EQ(linesOf(*load(kAtOnce)), expected);
}

TEST_F(LaterStatisticsTest, AreReadAnewWhereTheCheckpointIsReplacedBetweenTwoUpdates) {
  const auto reader = std::make_shared<DeltaLog>(table_);
  reader->setLaterStatisticsBytes(kAlwaysLater);
  EXPECT_EQ(reader->update()->version(), 2);
  replaceCheckpoint();
  add({"f"});
  const SnapshotPtr refreshed = reader->update();
  EXPECT_EQ(refreshed->version(), 3);
  // Nothing of another file's.
  EXPECT_FALSE(refreshed->files().findLive("a", "")->stats);
  EXPECT_EQ(refreshed->files().findLive("f", "")->stats, fileOf("f").stats);
  const SnapshotPtr anew = reader->update();
  EXPECT_EQ(anew->files().findLive("a", "")->stats, fileOf("a").stats);
  writeCheckpoint(*refreshed);
  removeCommits(3);
  EXPECT_EQ(load(kAtOnce)->files().findLive("a", "")->stats, fileOf("a").stats);
}

TEST_F(LaterStatisticsTest, AreLetGoWithTheLastOfTheirFiles) {
  const SnapshotPtr snapshot = load(kAlwaysLater);
  files_->remove(kCheckpoint);
  EXPECT_FALSE(snapshot->files().loadStatistics());
  SnapshotBuilder builder(*snapshot);
  for (const char* name : {"a", "b", "c", "d"}) {
    RemoveFile remove;
    remove.path = name;
    remove.deletionTimestamp = 1;
    builder.apply(remove);
  }
  builder.endVersion(3, std::nullopt);
  EXPECT_FALSE(std::move(builder).finish(0)->files().hasLostStatistics());
}

TEST_F(LaterStatisticsTest, ComeBackWithRestoredFiles) {
  Transaction removal(log_, log_->require());
  const auto all = log_->require()->liveFiles();
  for (const AddFile& file : all) removal.remove(removalOf(file, 1));
  removal.setOperation({"DELETE", {}, {}, {}, {}});
  removal.commit();
  const auto log = std::make_shared<DeltaLog>(table_);
  log->setLaterStatisticsBytes(kAlwaysLater);
  RestoreRequest request;
  request.version = 2;
  request.ignoreMissingFiles = true;
  restoreTable(
      log, request, [](int, const std::function<void(int)>&) {}, nullptr);
  EXPECT_EQ(linesOf(*load(kAtOnce)), expectedLines());
}

TEST_F(LaterStatisticsTest, AreReadAnewByACheckpointsWriterWhereTheOldOneIsGone) {
  const SnapshotPtr snapshot = load(kAlwaysLater);
  files_->remove(kCheckpoint);
  writeCheckpoint(*snapshot);
  removeCommits(2);
  const SnapshotPtr written = load(kAtOnce);
  EXPECT_EQ(written->checkpointVersion(), 2);
  EXPECT_EQ(linesOf(*written), expectedLines());
}

// Such checkpoints are opened once more for the structs.
class StructStatisticsTest : public LaterStatisticsTest {
 protected:
  StructStatisticsTest()
      : LaterStatisticsTest({{"delta.checkpoint.writeStatsAsJson", "false"},
                             {"delta.checkpoint.writeStatsAsStruct", "true"}}) {}
};

TEST_F(StructStatisticsTest, AreReadFromTheStruct) {
  EXPECT_EQ(rowCount(*load(kAtOnce)), 'a' + 'b' + 'c' + 'd' + 'e');
  EXPECT_EQ(store_->opens, 2);
  EXPECT_EQ(rowCount(*load(kAlwaysLater)), 'a' + 'b' + 'c' + 'd' + 'e');
  EXPECT_EQ(store_->opens, 5);
}

TEST_F(StructStatisticsTest, AreNotTakenFromAnotherCheckpointOfTheSameName) {
  store_->action = [this] { replaceCheckpoint(); };
  store_->actAt = 2;
  EXPECT_EQ(load(kAtOnce)->files().findLive("a", "")->stats, fileOf("a").stats) << "by the commits";
  store_->actAt = store_->opens + 3;
  store_->action = [this] { replaceCheckpoint({"b", "a", "d", "c"}); };
  const SnapshotPtr snapshot = load(kAlwaysLater);
  EXPECT_FALSE(snapshot->files().loadStatistics());
  EXPECT_FALSE(snapshot->liveFiles(Statistics::IfKnown)[0].stats);
}

TEST_F(StructStatisticsTest, AreReadAnewByACheckpointsWriterWhereTheStructIsGone) {
  const SnapshotPtr snapshot = load(kAlwaysLater);
  store_->actAt = store_->opens + 2;
  store_->action = [this] { files_->remove(kCheckpoint); };
  writeCheckpoint(*snapshot);
  EXPECT_FALSE(files_->stat(kCheckpoint));
  removeCommits(2);
  EXPECT_EQ(rowCount(*load(kAtOnce)), 'a' + 'b' + 'c' + 'd' + 'e');
}

TEST_F(LaterStatisticsTest, NoCheckpointIsWrittenWithoutThem) {
  const SnapshotPtr snapshot = load(kAlwaysLater);
  files_->remove(kCheckpoint);
  removeCommits(1);
  EXPECT_THROW(writeCheckpoint(*snapshot), Error);
  EXPECT_FALSE(files_->stat("/t/_delta_log/00000000000000000002.checkpoint.parquet"));
}

TEST_F(LaterStatisticsTest, NoCheckpointIsWrittenOfAnotherTableInTheSamePlace) {
  const SnapshotPtr snapshot = load(kAlwaysLater);
  for (const FileInfo& file : files_->list("/t/_delta_log")) files_->remove(file.path);
  log_ = std::make_shared<DeltaLog>(table_);
  Transaction create(log_, nullptr);
  create.setMetadata(snapshot->metadata());
  create.setOperation({"CREATE TABLE", {}, {}, {}, {}});
  create.commit();
  add({"a"});
  add({"b"});
  EXPECT_THROW(writeCheckpoint(*snapshot), Error);
}

}  // namespace
}  // namespace thalweg::delta
