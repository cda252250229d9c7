#include "state/state_files.h"

#include <cerrno>

#include "common/fault_points.h"
#include "state/state_files_test_support.h"
#include "storage/fault_file_system.h"

namespace thalweg {
namespace {

TEST_P(StateFilesTest, VersionsAreTheirChangesInOrder) {
  const auto files = open();
  writeVersions(*files, 7);
  for (const auto& [version, state] : byVersion_) EXPECT_EQ(loadState(*files, version), state) << version;
  EXPECT_EQ(files->latestVersions().latest, 7);
  EXPECT_EQ(files->latestVersions().latestSnapshot, 0);
}

TEST_P(StateFilesTest, ALoadBeginsWithTheNewestSnapshotThatIsNotTooNew) {
  const auto files = open();
  writeVersions(*files, 7);
  for (const int64_t version : {2, 5, 7}) files->writeSnapshot(version, entriesOf(byVersion_[version]));
  for (const auto& [version, state] : byVersion_) {
    StateLoad loaded;
    EXPECT_EQ(loadState(*files, version, &loaded), state) << version;
    const int64_t expected = version >= 7 ? 7 : version >= 5 ? 5 : version >= 2 ? 2 : 0;
    EXPECT_EQ(loaded.snapshotVersion, expected) << version;
    EXPECT_EQ(loaded.numChangeFiles, version - expected);
  }
  EXPECT_EQ(files->latestVersions().latestSnapshot, 7);
}

TEST_P(StateFilesTest, AnEmptyStateIsAValidSnapshot) {
  const auto files = open();
  files->writeChanges(1, {});
  files->writeSnapshot(1, entriesOf({}));
  fs::remove(changes(1));
  EXPECT_EQ(loadState(*files, 1), StateMap());
}

TEST_P(StateFilesTest, ALargeStateComesBackWhole) {
  const auto files = open();
  StateMap state;
  for (int64_t i = 0; i < 50'000; ++i)
    state[row(i * 7919)] = row(i) + std::string(static_cast<size_t>(i % 5) * 8, 'x');
  state[row(-1)] = std::string(3 << 20, 'y');  // larger than any block
  files->writeChanges(1, putsOf(state));
  EXPECT_EQ(loadState(*files, 1), state);
  files->writeSnapshot(1, entriesOf(state));
  StateLoad loaded;
  EXPECT_EQ(loadState(*files, 1, &loaded), state);
  EXPECT_EQ(loaded.snapshotVersion, 1);
}

TEST_P(StateFilesTest, ZstdIsReadAndWritten) {
  const auto files = open("zstd");
  StateMap state;
  for (int64_t i = 0; i < 20'000; ++i) state[row(i)] = row(i * i);
  files->writeChanges(1, putsOf(state));
  EXPECT_EQ(loadState(*files, 1), state);
  EXPECT_EQ(conditionOf([&] { loadState(*open("lz4"), 1); }), "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED");
  EXPECT_THROW(open("snappy"), Error);
}

TEST_P(StateFilesTest, AReplayReplacesItsFiles) {
  open()->writeChanges(1, putsOf({{row(1), row(1)}}));
  std::ofstream(folder() / ("." + changes(1).filename().string() + ".crc")) << "stale";
  const auto files = open();
  files->writeSnapshot(1, entriesOf({{row(1), row(1)}}));
  files->writeChanges(1, putsOf({{row(2), row(2)}}));
  files->writeSnapshot(1, entriesOf({{row(2), row(2)}}));
  EXPECT_EQ(loadState(*files, 1), (StateMap{{row(2), row(2)}}));
  EXPECT_FALSE(fs::exists(folder() / ("." + changes(1).filename().string() + ".crc")))
      << "Hadoop would refuse the new file";
}

TEST_P(StateFilesTest, ADamagedSnapshotGivesWayToOlderFiles) {
  const auto files = open();
  writeVersions(*files, 6);
  files->writeSnapshot(3, entriesOf(byVersion_[3]));
  files->writeSnapshot(6, entriesOf(byVersion_[6]));
  damage(snapshot(6));
  StateLoad loaded;
  EXPECT_EQ(loadState(*files, 6, &loaded), byVersion_[6]);
  EXPECT_EQ(loaded.snapshotVersion, 3);
  EXPECT_EQ(loaded.numUnusableSnapshots, 1);
  fs::resize_file(snapshot(3), 10);
  EXPECT_EQ(loadState(*files, 6, &loaded), byVersion_[6]);
  EXPECT_EQ(loaded.snapshotVersion, 0);
}

TEST_P(StateFilesTest, AMissingChangeFileIsNamed) {
  const auto files = open();
  writeVersions(*files, 4);
  fs::remove(changes(2));
  const char* expected = hdfs() ? "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"
                                : "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE";
  EXPECT_EQ(conditionOf([&] { loadState(*files, 4); }), expected);
  EXPECT_EQ(loadState(*files, 1), byVersion_[1]);
  EXPECT_EQ(conditionOf([&] { loadState(*files, -1); }),
            "CANNOT_LOAD_STATE_STORE.UNEXPECTED_VERSION without the file");
}

TEST_P(StateFilesTest, EveryCutAndEveryFlippedByteOfAChangeFileIsNoticed) {
  const auto files = open();
  writeVersions(*files, 1);
  const std::string whole = fileSystem_->readAll(changes(1).string());
  for (size_t size = 0; size < whole.size(); ++size) {
    fileSystem_->writeAtomically(changes(1).string(), whole.substr(0, size));
    EXPECT_EQ(conditionOf([&] { loadState(*files, 1); }), "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED") << size;
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x40);
    fileSystem_->writeAtomically(changes(1).string(), flipped);
    StateMap state;
    const std::string condition = conditionOf([&] { state = loadState(*files, 1); });
    // The upper bits of a block's size in its token may change without harm.
    if (condition == "no error")
      EXPECT_EQ(state, byVersion_[1]) << i;
    else
      EXPECT_TRUE(condition.starts_with("CANNOT_LOAD_STATE_STORE")) << condition << " " << i;
  }
}

TEST_P(StateFilesTest, CleaningKeepsWhatRetainedVersionsNeed) {
  const auto files = open();
  writeVersions(*files, 12);
  for (const int64_t version : {3, 6, 9}) files->writeSnapshot(version, entriesOf(byVersion_[version]));
  files->clean(12, 100);
  EXPECT_TRUE(fs::exists(changes(1)));
  files->clean(12, 4);  // versions 8 and later: they begin with snapshot 6
  for (int64_t version = 8; version <= 12; ++version)
    EXPECT_EQ(loadState(*files, version), byVersion_[version]) << version;
  EXPECT_FALSE(fs::exists(snapshot(3)));
  EXPECT_FALSE(fs::exists(changes(5)));
  EXPECT_TRUE(fs::exists(snapshot(6)));
  if (!hdfs()) {
    EXPECT_EQ(numDataFiles(), 2u) << "those of snapshots 6 and 9";
  }
  files->clean(12, 0);
  EXPECT_EQ(loadState(*files, 12), byVersion_[12]);
  if (!hdfs()) {
    EXPECT_EQ(numDataFiles(), 1u);
  }
}

TEST_P(StateFilesTest, AFailureAroundThePublicationLeavesTheOldOrTheNewFile) {
  const auto files = open();
  files->writeChanges(1, putsOf({{row(1), row(1)}}));
  const auto failsAt = [&](const char* point, const std::function<void()>& action) {
    armFaultPoint(std::string(point) + "=error");
    EXPECT_EQ(conditionOf(action).substr(0, 14), "FAULT_INJECTED") << point;
    armFaultPoint("");
  };
  failsAt("stateChanges.before", [&] { files->writeChanges(1, putsOf({{row(2), row(2)}})); });
  EXPECT_EQ(loadState(*files, 1), (StateMap{{row(1), row(1)}}));
  failsAt("stateChanges.after", [&] { files->writeChanges(1, putsOf({{row(2), row(2)}})); });
  EXPECT_EQ(loadState(*files, 1), (StateMap{{row(2), row(2)}}));
  failsAt("stateSnapshot.before", [&] { files->writeSnapshot(1, entriesOf({{row(2), row(2)}})); });
  EXPECT_EQ(files->latestVersions().latestSnapshot, 0);
  failsAt("stateSnapshot.after", [&] { files->writeSnapshot(1, entriesOf({{row(2), row(2)}})); });
  EXPECT_EQ(files->latestVersions().latestSnapshot, 1);
  EXPECT_EQ(loadState(*files, 1), (StateMap{{row(2), row(2)}}));
}

TEST_P(StateFilesTest, AFullDiskLeavesTheVersionsBeforeIt) {
  const auto faulty = std::make_shared<FaultFileSystem>(fileSystem_);
  fileSystem_ = faulty;
  const auto files = open();
  writeVersions(*files, 3);
  for (const FileOperation operation : {FileOperation::WriteAtomically, FileOperation::OpenOutput,
                                        FileOperation::StreamWrite, FileOperation::StreamClose}) {
    faulty->clear();
    faulty->inject({operation, faulty->calls(operation) + 1, ENOSPC, 1, false});
    const std::string condition = conditionOf([&] { files->writeSnapshot(3, entriesOf(byVersion_[3])); });
    // The HDFS-backed provider has one file to write, RocksDB's data files go through a stream first.
    if (hdfs() && operation != FileOperation::WriteAtomically) continue;
    EXPECT_NE(condition, "no error") << static_cast<int>(operation);
    EXPECT_EQ(files->latestVersions().latestSnapshot, 0) << static_cast<int>(operation);
    EXPECT_EQ(loadState(*files, 3), byVersion_[3]);
  }
  faulty->clear();
  faulty->inject(
      {FileOperation::WriteAtomically, faulty->calls(FileOperation::WriteAtomically) + 1, ENOSPC, 1, false});
  EXPECT_NE(conditionOf([&] { files->writeChanges(4, {}); }), "no error");
  EXPECT_EQ(files->latestVersions().latest, 3);
}

TEST_P(StateFilesTest, ForeignFilesInTheFolderAreLeftAlone) {
  const auto files = open();
  writeVersions(*files, 2);
  for (const char* name : {"x.delta", "0.delta", "-1.changelog", "3.tmp", "4", ".3.delta.uuid.tmp",
                           "99999999999999999999.delta"}) {
    std::ofstream(folder() / name) << "foreign";
  }
  EXPECT_EQ(files->latestVersions().latest, 2);
  EXPECT_EQ(loadState(*files, 2), byVersion_[2]);
}

INSTANTIATE_TEST_SUITE_P(Providers, StateFilesTest, bothProviders(), providerName);

TEST(StateProviderNames, AreSparksClassNames) {
  for (const StateProvider provider : {StateProvider::HdfsBacked, StateProvider::RocksDb}) {
    EXPECT_EQ(stateProviderOf(stateProviderClassName(provider)), provider);
  }
  EXPECT_THROW(stateProviderOf("com.example.MyProvider"), Error);
}

}  // namespace
}  // namespace thalweg
