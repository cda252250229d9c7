// What others leave behind, take away or damage while state lies on disk.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <random>
#include <utility>

#include "common/fault_points.h"
#include "state/rocksdb_snapshot.h"
#include "state/state_files_test_support.h"
#include "state/zip_archive.h"
#include "storage/fault_file_system.h"
#include "storage/temporary_names.h"

namespace thalweg {
namespace {

// Runs an action before the first file is read.
class BeforeTheFirstRead : public FaultFileSystem {
 public:
  BeforeTheFirstRead(std::shared_ptr<FileSystem> store, std::function<void()> action)
      : FaultFileSystem(std::move(store)), action_(std::move(action)) {}
  std::string readAll(const std::string& path) override {
    act();
    return FaultFileSystem::readAll(path);
  }
  std::shared_ptr<arrow::io::RandomAccessFile> openInput(const std::string& path) override {
    act();
    return FaultFileSystem::openInput(path);
  }
  int numLists() const { return static_cast<int>(calls(FileOperation::List)); }

 private:
  void act() {
    if (const auto action = std::exchange(action_, {})) action();
  }
  std::function<void()> action_;
};

class StateFaultsTest : public StateFilesTest {
 protected:
  // Versions `from` to `to` of another life of the query: each puts minus its number.
  void writeOthers(StateFiles& files, StateMap state, int64_t from, int64_t to) {
    for (int64_t version = from; version <= to; ++version) {
      const std::string key = row(-version), value = row(-version * 10);
      state[key] = value;
      files.writeChanges(version, {{StateChange::Kind::Put, key, value}});
      byVersion_[version] = state;
    }
  }
  std::string nameOf(const fs::path& path) const { return path.filename().string(); }
  // Every name that begins with the version, hidden or not.
  std::vector<std::string> namesOf(int64_t version) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder())) {
      const std::string name = entry.path().filename().string(), number = std::to_string(version) + ".";
      if (name.starts_with(number) || name.starts_with("." + number)) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  // The checksums that Spark 4.1 and its Hadoop client keep of a file.
  void addChecksums(const fs::path& path) const {
    for (const std::string& name :
         {"." + nameOf(path) + ".crc", nameOf(path) + ".crc", "." + nameOf(path) + ".crc.crc"})
      std::ofstream(folder() / name) << "stale";
  }
};

// Spark's RocksDB provider writes N + 1.zip before commits/N: dies it then, we repeat batch N.
TEST_P(StateFaultsTest, ASnapshotOfARepeatedBatchIsNotUsed) {
  writeVersions(*open(), 6);
  open()->writeSnapshot(6, entriesOf(byVersion_[6]));
  const auto files = open();
  EXPECT_EQ(loadState(*files, 5), byVersion_[5]);
  writeOthers(*files, byVersion_[5], 6, 7);
  EXPECT_EQ(loadState(*open(), 6), byVersion_[6]);
  EXPECT_EQ(loadState(*open(), 7), byVersion_[7]);
  EXPECT_EQ(namesOf(6), std::vector<std::string>{nameOf(changes(6))});
}

// Offsets and commits were set back by hand: each version takes the place of the one with its number.
TEST_P(StateFaultsTest, SnapshotsOfALifeThatWasSetBackAreNotUsed) {
  writeVersions(*open(), 9);
  for (const int64_t version : {3, 6, 9}) open()->writeSnapshot(version, entriesOf(byVersion_[version]));
  const auto files = open();
  EXPECT_EQ(loadState(*files, 4), byVersion_[4]);
  writeOthers(*files, byVersion_[4], 5, 8);
  for (int64_t version = 1; version <= 8; ++version)
    EXPECT_EQ(loadState(*open(), version), byVersion_[version]) << version;
}

TEST_P(StateFaultsTest, ASnapshotOfTheSameRunThatIsRepeatedIsNotUsed) {
  const auto files = open();
  writeVersions(*files, 6);
  files->writeSnapshot(6, entriesOf(byVersion_[6]));
  writeOthers(*files, byVersion_[4], 5, 6);
  EXPECT_EQ(loadState(*files, 6), byVersion_[6]);
}

// A run that lost the checkpoint to another one, and writes its version late, takes nothing away.
TEST_P(StateFaultsTest, ASnapshotThatAnotherRunMadeSinceStays) {
  const auto late = open(), files = open();
  writeVersions(*files, 5);
  EXPECT_EQ(loadState(*late, 5), byVersion_[5]);
  writeOthers(*files, byVersion_[5], 6, 6);
  files->writeSnapshot(6, entriesOf(byVersion_[6]));
  const std::string key = row(-6), value = row(-60);
  late->writeChanges(6, {{StateChange::Kind::Put, key, value}});
  EXPECT_TRUE(fs::exists(snapshot(6)));
  EXPECT_EQ(loadState(*files, 6), byVersion_[6]);
}

// Spark 4.1 refuses a file that does not match its N.delta.crc.
TEST_P(StateFaultsTest, AReplayTakesSparksChecksumsAway) {
  writeVersions(*open(), 2);
  open()->writeSnapshot(2, entriesOf(byVersion_[2]));
  addChecksums(changes(2));
  addChecksums(snapshot(2));
  const auto files = open();
  EXPECT_EQ(loadState(*files, 1), byVersion_[1]);
  files->writeChanges(2, {});
  EXPECT_EQ(namesOf(2), std::vector<std::string>{nameOf(changes(2))});
  addChecksums(snapshot(2));
  const auto later = open();
  EXPECT_EQ(loadState(*later, 2), byVersion_[1]);
  later->writeSnapshot(2, entriesOf(byVersion_[1]));
  EXPECT_EQ(namesOf(2), (std::vector<std::string>{nameOf(changes(2)), nameOf(snapshot(2))}));
}

TEST_P(StateFaultsTest, CleaningTakesSparksChecksumsAlong) {
  const auto files = open();
  writeVersions(*files, 6);
  for (const int64_t version : {3, 6}) files->writeSnapshot(version, entriesOf(byVersion_[version]));
  for (const int64_t version : {2, 3, 6}) {
    addChecksums(changes(version));
    addChecksums(snapshot(version));
  }
  fs::remove(changes(1));
  addChecksums(changes(1));
  files->clean(6, 0);
  for (int64_t version = 1; version <= 5; ++version)
    EXPECT_EQ(namesOf(version), std::vector<std::string>()) << version;
  EXPECT_EQ(namesOf(6).size(), 8u);
}

// What lies ahead of the version belongs to a life that was set back: the count does not begin with it.
TEST_P(StateFaultsTest, CleaningCountsFromTheVersionOfItsOwner) {
  const auto files = open();
  writeVersions(*files, 12);
  for (const int64_t version : {2, 4, 9}) files->writeSnapshot(version, entriesOf(byVersion_[version]));
  files->clean(5, 1);
  for (int64_t version = 4; version <= 12; ++version)
    EXPECT_EQ(loadState(*files, version), byVersion_[version]) << version;
  EXPECT_FALSE(fs::exists(snapshot(2)));
}

// A killed writer's files stay a day, in case that it is not dead.
TEST_P(StateFaultsTest, CleaningTakesWhatKilledWritersLeft) {
  const auto files = open();
  writeVersions(*files, 2);
  const fs::path old = folder() / temporaryNameFor(nameOf(changes(2))),
                 young = folder() / temporaryNameFor(nameOf(changes(2)));
  for (const fs::path& path : {old, young}) std::ofstream(path) << "half";
  fs::last_write_time(old, fs::last_write_time(old) - std::chrono::hours(25));
  files->clean(2, 100);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_EQ(loadState(*files, 2), byVersion_[2]);
}

TEST_P(StateFaultsTest, OneReadThatFailsIsGoneRoundAndManyNameAFile) {
  const auto faulty = std::make_shared<FaultFileSystem>(fileSystem_);
  fileSystem_ = faulty;
  const auto files = open();
  writeVersions(*files, 6);
  files->writeSnapshot(3, entriesOf(byVersion_[3]));
  files->writeSnapshot(6, entriesOf(byVersion_[6]));
  for (const int64_t version : {5, 6}) {
    for (const int errorNumber : {EIO, ENOENT}) {
      faulty->clear();
      loadState(*files, version);
      const int64_t numReads = faulty->calls(FileOperation::Read);
      ASSERT_GT(numReads, 0);
      for (int64_t k = 1; k <= numReads; ++k) {
        faulty->clear();
        faulty->inject({FileOperation::Read, k, errorNumber, 1, false});
        EXPECT_EQ(loadState(*files, version), byVersion_[version])
            << "read " << k << " of version " << version;
        faulty->clear();
        faulty->inject({FileOperation::Read, k, errorNumber, 1000, false});
        const std::string condition = conditionOf([&] { loadState(*files, version); });
        EXPECT_TRUE(condition.starts_with("CANNOT_LOAD_STATE_STORE") &&
                    !condition.ends_with("without the file"))
            << condition << ", read " << k;
      }
    }
  }
}

// The owner goes on, and cleans up, while a query reads its state.
TEST_P(StateFaultsTest, AFileThatGoesWhileItIsReadIsGoneRound) {
  const auto owner = open();
  writeVersions(*owner, 12);
  owner->writeSnapshot(3, entriesOf(byVersion_[3]));
  const auto hooked = std::make_shared<BeforeTheFirstRead>(fileSystem_, [&] {
    owner->writeSnapshot(12, entriesOf(byVersion_[12]));
    owner->clean(12, 0);
  });
  fileSystem_ = hooked;
  const auto files = open();
  EXPECT_EQ(loadState(*files, 12), byVersion_[12]);
  EXPECT_EQ(hooked->numLists(), 2);
  EXPECT_NE(conditionOf([&] { loadState(*files, 5); }), "no error");
}

TEST_P(StateFaultsTest, AnyVersionAfterAnyOther) {
  const auto files = open();
  writeVersions(*files, 7);
  for (const int64_t version : {2, 5}) files->writeSnapshot(version, entriesOf(byVersion_[version]));
  for (const int64_t version : {7, 6, 7, 5, 2, 5, 7})
    EXPECT_EQ(loadState(*files, version), byVersion_[version]) << version;
  files->writeChanges(8, {});
  EXPECT_EQ(loadState(*files, 8), byVersion_[7]);
}

// Of a snapshot's data: RocksDB's lies in SSTs/, not in the zip.
class StateDamageTest : public StateFaultsTest {
 protected:
  StateDamageTest() {
    std::mt19937_64 random(7);
    files_ = open();
    StateMap state;
    for (int64_t version = 1; version <= 6; ++version) {
      std::string value(200 << 10, '\0');
      for (size_t i = 0; i < value.size(); i += 8) {
        const uint64_t bits = random();
        std::memcpy(value.data() + i, &bits, 8);
      }
      state[row(version)] = value;
      files_->writeChanges(version, {{StateChange::Kind::Put, row(version), value}});
      byVersion_[version] = state;
    }
  }
  // Writes snapshot 3 and 6, and gives the file with the values of the latter.
  fs::path writeSnapshots() {
    files_->writeSnapshot(3, entriesOf(byVersion_[3]));
    if (hdfs()) {
      files_->writeSnapshot(6, entriesOf(byVersion_[6]));
      return snapshot(6);
    }
    const fs::path older = fs::directory_iterator(folder() / "SSTs")->path();
    files_->writeSnapshot(6, entriesOf(byVersion_[6]));
    for (const auto& entry : fs::directory_iterator(folder() / "SSTs")) {
      if (entry.path() != older) return entry.path();
    }
    return {};
  }
  std::unique_ptr<StateFiles> files_;
};

TEST_P(StateDamageTest, DataThatIsCutFlippedOrGoneIsNoticed) {
  const std::vector<std::function<void(const fs::path&)>> damages = {
      [](const fs::path& path) { fs::resize_file(path, fs::file_size(path) - 1); },
      [](const fs::path& path) { damage(path); },
      [](const fs::path& path) { fs::remove(path); },
  };
  for (size_t i = 0; i < damages.size(); ++i) {
    damages[i](writeSnapshots());
    StateLoad loaded;
    EXPECT_EQ(loadState(*files_, 6, &loaded), byVersion_[6]) << i;
    EXPECT_EQ(loaded.snapshotVersion, 3) << i;
    // A file that is gone is not even listed.
    EXPECT_EQ(loaded.numUnusableSnapshots, hdfs() && i == 2 ? 0 : 1) << i;
    fs::remove_all(folder() / "SSTs");
    for (const int64_t version : {3, 6}) fs::remove(snapshot(version));
  }
}

TEST_P(StateDamageTest, WithoutOlderFilesTheSnapshotIsNamed) {
  damage(writeSnapshots());
  fs::remove(snapshot(3));
  for (int64_t version = 1; version <= 6; ++version) fs::remove(changes(version));
  try {
    loadState(*files_, 6);
    FAIL() << "loaded";
  } catch (const Error& error) {
    EXPECT_TRUE(error.condition().starts_with("CANNOT_LOAD_STATE_STORE")) << error.condition();
    EXPECT_NE(error.text().find(snapshot(6).string()), std::string::npos) << error.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Providers, StateFaultsTest, bothProviders(), providerName);
INSTANTIATE_TEST_SUITE_P(Providers, StateDamageTest, bothProviders(), providerName);

// Data files, which several snapshots of Spark may share.
class SharedDataFilesTest : public StateFilesTest {
 protected:
  SharedDataFilesTest() {
    files_ = open();
    writeVersions(*files_, 8);
    for (const char* name : {"a", "b", "c", "old", "young"}) {
      fs::create_directories(folder() / "SSTs");
      std::ofstream(dataFile(name)) << name;
    }
    writeZip(3, {"a", "b"});
    writeZip(6, {"b", "c"});
    for (const char* name : {"a", "b", "c", "old"})
      fs::last_write_time(dataFile(name), fs::last_write_time(snapshot(6)) - std::chrono::hours(1));
    fs::last_write_time(dataFile("young"), fs::last_write_time(snapshot(6)) + std::chrono::seconds(1));
  }
  fs::path dataFile(const std::string& name) const { return folder() / "SSTs" / (name + ".sst"); }
  void writeZip(int64_t version, const std::vector<std::string>& names) const {
    SnapshotMetadata metadata;
    for (const std::string& name : names) metadata.dataFiles.push_back({name + ".sst", name + ".sst", 1});
    std::ofstream(snapshot(version), std::ios::binary)
        << thalweg::writeZip({{"metadata", formatSnapshotMetadata(metadata)}});
  }
  std::string remaining() const {
    std::string names;
    for (const char* name : {"a", "b", "c", "old", "young"}) {
      if (fs::exists(dataFile(name))) names += std::string(names.empty() ? "" : " ") + name;
    }
    return names;
  }
  std::unique_ptr<StateFiles> files_;
};

TEST_P(SharedDataFilesTest, OnlyWhatNoRetainedSnapshotNeedsGoes) {
  files_->clean(8, 1);
  EXPECT_FALSE(fs::exists(snapshot(3)));
  EXPECT_EQ(remaining(), "b c young") << "young may belong to a snapshot in the making";
}

TEST_P(SharedDataFilesTest, ASnapshotThatGoesMayBeUnreadable) {
  std::ofstream(snapshot(3)) << "no zip";
  files_->clean(8, 1);
  EXPECT_FALSE(fs::exists(snapshot(3)));
  EXPECT_EQ(remaining(), "b c young") << "a is older than 6.zip, and nobody's";
}

TEST_P(SharedDataFilesTest, WhileARetainedSnapshotIsUnreadableNoneGoes) {
  std::ofstream(snapshot(6)) << "no zip";
  files_->clean(8, 1);
  EXPECT_EQ(remaining(), "a b c old young");
}

// Data files have names of their own, whatever their contents and version.
TEST_P(SharedDataFilesTest, ARepeatedSnapshotTakesNothingFromTheAttemptThatFailed) {
  fs::remove_all(folder());
  armFaultPoint("stateSnapshot.before=error");
  EXPECT_NE(conditionOf([&] { files_->writeSnapshot(1, entriesOf({{row(2), row(2)}})); }), "no error");
  armFaultPoint("");
  for (const auto& entry : fs::directory_iterator(folder() / "SSTs"))
    fs::last_write_time(entry, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const StateMap state = {{row(3), row(3)}};
  files_->writeChanges(1, putsOf(state));
  files_->writeSnapshot(1, entriesOf(state));
  fs::remove(changes(1));
  EXPECT_EQ(loadState(*files_, 1), state);
  EXPECT_EQ(numDataFiles(), 2u);
  for (const int64_t version : {2, 3}) {
    files_->writeChanges(version, {});
    files_->writeSnapshot(version, entriesOf(state));
  }
  files_->clean(3, 0);
  EXPECT_EQ(numDataFiles(), 1u);
  EXPECT_EQ(loadState(*files_, 3), state);
}

INSTANTIATE_TEST_SUITE_P(Providers, SharedDataFilesTest, ::testing::Values(StateProvider::RocksDb),
                         providerName);

}  // namespace
}  // namespace thalweg
