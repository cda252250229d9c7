// Put-if-absent on file systems without hard links, as FAT and some network file systems are: the calls are
// this binary's own, and refuse on demand.
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "common/testing/condition_of.h"
#include "common/uuid.h"
#include "storage/file_system.h"

namespace {
bool hasHardLinks = true;
bool hasExclusiveRename = true;
}  // namespace

extern "C" int link(const char* from, const char* to) noexcept {
  if (!hasHardLinks) {
    errno = EPERM;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}

extern "C" int renameat2(int fromFolder, const char* from, int toFolder, const char* to,
                         unsigned int flags) noexcept {
  if (!hasExclusiveRename) {
    errno = EINVAL;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_renameat2, fromFolder, from, toFolder, to, flags));
}

namespace thalweg {
namespace {

class NoHardLinksTest : public testing::Test {
 protected:
  NoHardLinksTest() : folder_(std::filesystem::temp_directory_path() / ("thalweg-no-links-" + randomUuid())) {
    std::filesystem::create_directories(folder_);
    hasHardLinks = false;
  }
  ~NoHardLinksTest() override {
    hasHardLinks = true;
    hasExclusiveRename = true;
    std::filesystem::remove_all(folder_);
  }
  ptrdiff_t numFiles() const { return std::distance(std::filesystem::directory_iterator(folder_), {}); }

  std::filesystem::path folder_;
  std::shared_ptr<FileSystem> store_ = makeLocalFileSystem();
};

TEST_F(NoHardLinksTest, TheFirstWriterStillWins) {
  const std::string path = folder_ / "00000000000000000000.json";
  EXPECT_EQ(store_->putIfAbsent(path, "first"), PutOutcome::Done);
  EXPECT_EQ(store_->putIfAbsent(path, "second"), PutOutcome::AlreadyExists);
  EXPECT_EQ(store_->readAll(path), "first");
  EXPECT_EQ(numFiles(), 1) << "no temporary file is left";
}

// Better no commit than one that may overwrite another's.
TEST_F(NoHardLinksTest, WithoutAnExclusiveRenameNothingIsPut) {
  hasExclusiveRename = false;
  const std::string path = folder_ / "00000000000000000000.json";
  EXPECT_EQ(conditionOf([&] { store_->putIfAbsent(path, "first"); }), "STORAGE_FAILURE");
  EXPECT_EQ(numFiles(), 0);
}

}  // namespace
}  // namespace thalweg
