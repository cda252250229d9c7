// Moves to a folder that lies on another device, as a partition's that is mounted or linked: the call is this
// binary's own, and refuses on demand.
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "common/error.h"
#include "common/uuid.h"
#include "storage/file_moves.h"
#include "storage/file_system.h"

namespace {
bool isEachFolderADevice = false;
}  // namespace

extern "C" int rename(const char* from, const char* to) noexcept {
  const auto folderOf = [](const char* path) { return std::filesystem::path(path).parent_path(); };
  if (isEachFolderADevice && folderOf(from) != folderOf(to)) {
    errno = EXDEV;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace thalweg {
namespace {

class OtherDevicesTest : public testing::Test {
 protected:
  OtherDevicesTest() : folder_("/tmp/thalweg-devices-" + randomUuid()) { isEachFolderADevice = true; }
  ~OtherDevicesTest() override {
    isEachFolderADevice = false;
    std::filesystem::remove_all(folder_);
  }

  std::string folder_;
  std::shared_ptr<FileSystem> files_ = makeLocalFileSystem();
};

TEST_F(OtherDevicesTest, AFileIsMovedWhole) {
  files_->writeAtomically(folder_ + "/staging/f", "new");
  files_->writeAtomically(folder_ + "/p=1/f", "old");
  moveFile(*files_, folder_ + "/staging/f", folder_ + "/p=1/f");
  EXPECT_EQ(files_->readAll(folder_ + "/p=1/f"), "new");
  EXPECT_FALSE(files_->stat(folder_ + "/staging/f"));
  EXPECT_EQ(files_->list(folder_ + "/p=1").size(), 1u) << "no file in the making is left";
}

TEST_F(OtherDevicesTest, WhatCannotBeCopiedStays) {
  files_->writeAtomically(folder_ + "/staging/f", "new");
  files_->makeDirectories(folder_ + "/p=1/f");
  EXPECT_THROW(moveFile(*files_, folder_ + "/staging/f", folder_ + "/p=1/f"), Error);
  EXPECT_EQ(files_->readAll(folder_ + "/staging/f"), "new");
  EXPECT_EQ(files_->list(folder_ + "/p=1").size(), 1u);
}

}  // namespace
}  // namespace thalweg
