// Snapshots from foreign hands: whatever their metadata says, the checkpoint's own files stay as they are.
#include "state/rocksdb_snapshot.h"

#include <fstream>

#include <gtest/gtest.h>

#include "common/error.h"
#include "state/test_support.h"
#include "state/zip_archive.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;

class RocksDbSnapshotTest : public ::testing::Test {
 protected:
  RocksDbSnapshotTest() {
    fs::create_directories(store() / "SSTs");
    fs::create_directories(target());
    for (const char* name : {"a.sst", "b.sst"}) std::ofstream(store() / "SSTs" / name) << kContents;
  }
  fs::path store() const { return fs::path(root_.path()) / "store"; }
  fs::path target() const { return fs::path(root_.path()) / "target"; }

  std::string unpack(const std::string& firstName, const std::string& secondName) {
    SnapshotMetadata metadata;
    metadata.dataFiles = {{firstName, "a.sst", kSize}, {secondName, "b.sst", kSize}};
    const std::string zip = (store() / "1.zip").string();
    std::ofstream(zip, std::ios::binary)
        << writeZip({{"metadata", formatSnapshotMetadata(metadata)}, {"CURRENT", "MANIFEST-000005\n"}});
    try {
      unpackSnapshot(*makeLocalFileSystem(), store().string(), zip, target().string());
      return "unpacked";
    } catch (const Error& error) {
      return error.condition();
    }
  }
  static std::string contentsOf(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  static constexpr const char* kContents = "rows of a version that is committed";
  static constexpr int64_t kSize = 35;
  TestFolder root_;
};

TEST_F(RocksDbSnapshotTest, DataFilesAppearUnderTheNamesOfTheManifest) {
  EXPECT_EQ(unpack("000008.sst", "000009.sst"), "unpacked");
  EXPECT_EQ(contentsOf(target() / "000008.sst"), kContents);
  EXPECT_EQ(contentsOf(target() / "000009.sst"), kContents);
}

TEST_F(RocksDbSnapshotTest, ANameGivenTwiceIsCorruptAndTruncatesNothing) {
  EXPECT_EQ(unpack("000008.sst", "000008.sst"), "STATE_STORE_CHECKPOINT_CORRUPT");
  EXPECT_EQ(unpack("000008.sst", "CURRENT"), "STATE_STORE_CHECKPOINT_CORRUPT");
  EXPECT_EQ(contentsOf(store() / "SSTs" / "a.sst"), kContents);
  EXPECT_EQ(contentsOf(store() / "SSTs" / "b.sst"), kContents);
}

// Another's link in the way is not written through, either.
TEST_F(RocksDbSnapshotTest, WhatIsInTheFolderAlreadyIsNotWrittenThrough) {
  fs::create_symlink(store() / "SSTs" / "b.sst", target() / "000008.sst");
  EXPECT_EQ(unpack("000008.sst", "000009.sst"), "STORAGE_FAILURE");
  EXPECT_EQ(contentsOf(store() / "SSTs" / "b.sst"), kContents);
}

// Nobody reads a snapshot between its publication and a restart: what goes into it must have been read.
TEST_F(RocksDbSnapshotTest, WhatCannotBeReadIsNotPublished) {
  const auto pack = [&] {
    try {
      packSnapshot(*makeLocalFileSystem(), store().string(), target().string(), 1);
      return std::string("packed");
    } catch (const Error& error) {
      return error.condition();
    }
  };
  std::ofstream(target() / "MANIFEST-000005") << "manifest";
  std::ofstream(target() / "CURRENT") << "MANIFEST-000005\n";
  std::ofstream(target() / "000008.sst") << kContents;
  EXPECT_EQ(pack(), "packed");
  fs::remove(target() / "CURRENT");
  fs::create_directory(target() / "CURRENT");
  EXPECT_EQ(pack(), "STORAGE_FAILURE");
  fs::remove(target() / "CURRENT");
  std::ofstream(target() / "CURRENT");
  EXPECT_EQ(pack(), "STORAGE_FAILURE");
  fs::remove(target() / "CURRENT");
  EXPECT_EQ(pack(), "STORAGE_FAILURE");
  std::ofstream(target() / "CURRENT") << "MANIFEST-000005\n";
  fs::remove(target() / "000008.sst");
  fs::create_directory(target() / "000008.sst");
  EXPECT_EQ(pack(), "STORAGE_FAILURE");
}

}  // namespace
}  // namespace thalweg
