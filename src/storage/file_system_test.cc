#include <cerrno>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/testing/condition_of.h"
#include "common/uuid.h"
#include "storage/address_access.h"
#include "storage/fault_file_system.h"
#include "storage/file_system.h"
#include "storage/resolved_put.h"
#include "storage/storage_error.h"
#include "storage/uri_path.h"

namespace thalweg {
namespace {

class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path().string() + "/thalweg-storage-" + randomUuid()) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Every store keeps the same contract.
class StoreTest : public testing::TestWithParam<std::string> {
 protected:
  StoreTest()
      : store_(GetParam() == "local" ? makeLocalFileSystem() : makeMemoryFileSystem()),
        root_(folder_.path()) {}

  std::vector<std::string> namesIn(const std::string& directory) {
    std::vector<std::string> names;
    for (const FileInfo& info : store_->list(directory)) names.emplace_back(info.name());
    return names;
  }

  TemporaryFolder folder_;
  std::shared_ptr<FileSystem> store_;
  std::string root_;
};

TEST_P(StoreTest, ReadsBackWhatWasWrittenAtomically) {
  store_->writeAtomically(root_ + "/a/b/file", "one");
  store_->writeAtomically(root_ + "/a/b/file", "two");
  EXPECT_EQ(store_->readAll(root_ + "/a/b/file"), "two");
  EXPECT_EQ(namesIn(root_ + "/a/b"), std::vector<std::string>{"file"}) << "no temporary file is left";
  const auto info = store_->stat(root_ + "/a/b/file");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->sizeBytes, 3);
  EXPECT_FALSE(info->isDirectory);
  EXPECT_GT(info->modificationTimeMs, 1'600'000'000'000);
}

TEST_P(StoreTest, PutIfAbsentLetsTheFirstWriterWin) {
  const std::string path = root_ + "/log/00000000000000000000.json";
  EXPECT_EQ(store_->putIfAbsent(path, "first"), PutOutcome::Done);
  EXPECT_EQ(store_->putIfAbsent(path, "second"), PutOutcome::AlreadyExists);
  EXPECT_EQ(store_->readAll(path), "first");
  EXPECT_EQ(namesIn(root_ + "/log").size(), 1u);
}

TEST_P(StoreTest, PutIfAbsentRunsItsHookBeforeTheNameExists) {
  const std::string path = root_ + "/file";
  bool existed = true;
  store_->putIfAbsent(path, "x", [&] { existed = store_->stat(path).has_value(); });
  EXPECT_FALSE(existed);
  EXPECT_THROW(store_->putIfAbsent(root_ + "/other", "x", [] { throw internalError("stop"); }), Error);
  EXPECT_FALSE(store_->stat(root_ + "/other"));
  EXPECT_EQ(namesIn(root_), std::vector<std::string>{"file"});
}

TEST_P(StoreTest, OfManyThreadsOnePutSucceeds) {
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      if (store_->putIfAbsent(root_ + "/race", std::to_string(i)) == PutOutcome::Done) ++done;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 1);
}

TEST_P(StoreTest, ListsByNameAndFromAName) {
  for (const char* name : {"b", "a", "c"}) store_->writeAtomically(root_ + "/d/" + name, name);
  store_->writeAtomically(root_ + "/d/folder/x", "");
  EXPECT_EQ(namesIn(root_ + "/d"), (std::vector<std::string>{"a", "b", "c", "folder"}));
  const auto tail = store_->listFrom(root_ + "/d", "b");
  ASSERT_EQ(tail.size(), 3u);
  EXPECT_EQ(tail[0].path, root_ + "/d/b");
  EXPECT_TRUE(tail[2].isDirectory);
  EXPECT_TRUE(store_->list(root_ + "/nothing").empty());
}

TEST_P(StoreTest, StreamsOutAndIn) {
  const std::string path = root_ + "/x/stream";
  const auto out = store_->openOutput(path);
  ASSERT_TRUE(out->Write("hello ", 6).ok());
  ASSERT_TRUE(out->Write("world", 5).ok());
  EXPECT_EQ(*out->Tell(), 11);
  ASSERT_TRUE(out->Close().ok());
  const auto in = store_->openInput(path);
  EXPECT_EQ(*in->GetSize(), 11);
  EXPECT_EQ((*in->ReadAt(6, 5))->ToString(), "world");
}

TEST_P(StoreTest, MissingFilesHaveTheirOwnCondition) {
  EXPECT_FALSE(store_->stat(root_ + "/none"));
  EXPECT_EQ(conditionOf([&] { store_->readAll(root_ + "/none"); }), "PATH_NOT_FOUND");
  EXPECT_EQ(conditionOf([&] { store_->openInput(root_ + "/none"); }), "PATH_NOT_FOUND");
  store_->remove(root_ + "/none");
  store_->removeTree(root_ + "/none");
}

TEST_P(StoreTest, RemovesFilesAndTrees) {
  store_->writeAtomically(root_ + "/t/a/b", "x");
  store_->writeAtomically(root_ + "/t/c", "x");
  store_->remove(root_ + "/t/c");
  EXPECT_FALSE(store_->stat(root_ + "/t/c"));
  store_->removeTree(root_ + "/t");
  EXPECT_FALSE(store_->stat(root_ + "/t/a/b"));
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreTest, testing::Values("local", "memory"),
                         [](const auto& info) { return info.param; });

TEST(LocalFileSystem, OfTwoProcessesOnePutSucceeds) {
  TemporaryFolder folder;
  const auto store = makeLocalFileSystem();
  int winners = 0;
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const PutOutcome outcome =
          makeLocalFileSystem()->putIfAbsent(folder.path() + "/race", std::to_string(i));
      ::_exit(outcome == PutOutcome::Done ? 1 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    winners += WEXITSTATUS(status);
  }
  EXPECT_EQ(winners, 1);
}

TEST(LocalFileSystem, SaysThatTheDiskIsFull) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  const auto out = makeLocalFileSystem()->openOutput("/dev/full");
  const arrow::Status status = out->Write("x", 1);
  EXPECT_NE(status.message().find("the disk is full"), std::string::npos) << status.ToString();
  EXPECT_NE(status.message().find("/dev/full"), std::string::npos);
  try {
    throwIfStorageFailed(status, "write", "/dev/full");
  } catch (const Error& error) {
    EXPECT_EQ(error.text().find("Cannot write"), error.text().rfind("Cannot write"))
        << "said twice: " << error.text();
  }
  EXPECT_FALSE(out->Close().ok()) << "a stream that lost bytes must not close as whole";
}

// A device has no disk to sync to and says so.
TEST(LocalFileSystem, AFileThatCannotBeSyncedIsNotWritten) {
  const auto out = makeLocalFileSystem()->openOutput("/dev/null");
  ASSERT_TRUE(out->Write("x", 1).ok());
  const arrow::Status status = out->Close();
  EXPECT_FALSE(status.ok()) << "what may not be durable must not close as whole";
  EXPECT_NE(status.message().find("sync"), std::string::npos) << status.ToString();
}

TEST(LocalFileSystem, NeitherWaitsForAPipeNorReadsADevice) {
  TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder.path() + "/pipe").c_str(), 0600), 0);
  const auto files = makeLocalFileSystem();
  for (const std::string& path : {folder.path() + "/pipe", std::string("/dev/zero"), folder.path()}) {
    EXPECT_EQ(conditionOf([&] { files->readAll(path); }), "STORAGE_FAILURE") << path;
    EXPECT_EQ(conditionOf([&] { files->openInput(path); }), "STORAGE_FAILURE") << path;
  }
}

TEST(LocalFileSystem, RefusesAFolderBelowAFile) {
  TemporaryFolder folder;
  const auto store = makeLocalFileSystem();
  store->writeAtomically(folder.path() + "/file", "x");
  EXPECT_EQ(conditionOf([&] { store->writeAtomically(folder.path() + "/file/below", "x"); }),
            "STORAGE_FAILURE");
  EXPECT_FALSE(store->stat(folder.path() + "/file/below"));
}

TEST(UriPath, EncodesAsJavaDoesAndDecodesOnce) {
  EXPECT_EQ(encodeUriPath("/a b/p=1%3A/ä?#"), "/a%20b/p=1%253A/ä%3F%23");
  EXPECT_EQ(decodeUriPath("/a%20b/p=1%253A/%c3%a4"), "/a b/p=1%3A/ä");
  EXPECT_EQ(decodeUriPath("100%"), "100%");
  EXPECT_EQ(decodeUriPath("%zz%4"), "%zz%4");
  EXPECT_EQ(normalizeAbsolutePath("/a//b/../c/./"), "/a/c");
  EXPECT_EQ(normalizeAbsolutePath("/../.."), "/");
}

TEST(FileSystemRegistry, ResolvesLocalAddresses) {
  const FileSystemRegistry registry;
  EXPECT_EQ(registry.resolve("/a/b/").path, "/a/b");
  EXPECT_EQ(registry.resolve("file:/a/b").path, "/a/b");
  EXPECT_EQ(registry.resolve("file:///a/b%20c").path, "/a/b c");
  EXPECT_EQ(registry.resolve("file://localhost/a").path, "/a");
  EXPECT_EQ(registry.resolve("/a/b%20c").path, "/a/b%20c") << "a plain path is not a URI";
  EXPECT_EQ(registry.resolve("x/y").path, std::filesystem::current_path().string() + "/x/y");
  EXPECT_EQ(registry.resolve("/a/t:1").path, "/a/t:1");
  EXPECT_EQ(registry.resolve("/a").child("b").path, "/a/b");
  EXPECT_EQ(registry.resolve("/").child("b").path, "/b");
  const Location location = registry.resolve("/a b/c%20d");
  EXPECT_EQ(registry.resolve(location.uri()).path, location.path);
}

TEST(FileSystemRegistry, RefusesWhatItCannotReach) {
  const FileSystemRegistry registry;
  EXPECT_EQ(conditionOf([&] { registry.resolve("abfss://c@a.dfs.core.windows.net/t"); }),
            "UNSUPPORTED_FEATURE.THALWEG");
  EXPECT_EQ(conditionOf([&] { registry.resolve("file://server/share"); }), "INVALID_OPTION");
  EXPECT_EQ(conditionOf([&] { registry.resolve(""); }), "INVALID_OPTION");
  EXPECT_EQ(conditionOf([&] { registry.resolve("file:/a%00b"); }), "INVALID_OPTION");
}

TEST(PathPolicy, AllowsOnlyWhatLiesBelowItsRoots) {
  TemporaryFolder folder;
  const std::string root = folder.path() + "/root";
  std::filesystem::create_directories(root + "/in");
  std::filesystem::create_directories(folder.path() + "/rootless");
  const FileSystemRegistry registry{PathPolicy({root})};
  EXPECT_NO_THROW(registry.resolve(root));
  EXPECT_NO_THROW(registry.resolve(root + "/in/not/there/yet"));
  EXPECT_EQ(conditionOf([&] { registry.resolve(folder.path()); }), "PATH_NOT_ALLOWED");
  EXPECT_EQ(conditionOf([&] { registry.resolve(folder.path() + "/rootless"); }), "PATH_NOT_ALLOWED");
  EXPECT_EQ(conditionOf([&] { registry.resolve(root + "/in/../../rootless"); }), "PATH_NOT_ALLOWED");
  EXPECT_EQ(conditionOf([&] { registry.resolve("file:" + root + "/%2e%2e/rootless"); }), "PATH_NOT_ALLOWED");
  const auto store = registry.resolve(root).fileSystem;
  auto* others = dynamic_cast<AddressAccess*>(store.get());
  ASSERT_TRUE(others);
  EXPECT_EQ(others->resolve("file:" + root + "/in%20").path, root + "/in ");
  EXPECT_EQ(conditionOf([&] { others->resolve("file:" + folder.path() + "/rootless/f"); }),
            "PATH_NOT_ALLOWED")
      << "who was given a store goes nowhere by it that the registry would not";
  EXPECT_EQ(conditionOf([&] { others->resolve("abfss://c@a.dfs.core.windows.net/t"); }),
            "UNSUPPORTED_FEATURE.THALWEG");
}

TEST(PathPolicy, FollowsLinksBeforeItJudges) {
  TemporaryFolder folder;
  const std::string root = folder.path() + "/root";
  std::filesystem::create_directories(root);
  std::filesystem::create_directories(folder.path() + "/outside");
  std::filesystem::create_symlink(folder.path() + "/outside", root + "/out");
  std::filesystem::create_symlink("../outside/not-there", root + "/dangling");
  std::filesystem::create_symlink(root, folder.path() + "/entry");
  std::filesystem::create_symlink("circle", root + "/circle");
  const PathPolicy policy({root});
  EXPECT_EQ(conditionOf([&] { policy.check(root + "/out/file"); }), "PATH_NOT_ALLOWED");
  EXPECT_EQ(conditionOf([&] { policy.check(root + "/dangling"); }), "PATH_NOT_ALLOWED");
  EXPECT_EQ(conditionOf([&] { policy.check(root + "/circle/x"); }), "PATH_NOT_ALLOWED");
  EXPECT_NO_THROW(policy.check(folder.path() + "/entry/file"));
  EXPECT_NO_THROW(PathPolicy({folder.path() + "/entry"}).check(root + "/file"));
}

TEST(PathPolicy, HoldsForLinksThatAListingMeets) {
  TemporaryFolder folder;
  const std::string root = folder.path() + "/root";
  const std::string outside = folder.path() + "/outside";
  std::filesystem::create_directories(root);
  std::filesystem::create_directories(outside);
  std::ofstream(outside + "/secret") << "s";
  std::filesystem::create_symlink(outside, root + "/folder");
  std::filesystem::create_symlink(outside + "/secret", root + "/file");
  const Location location = FileSystemRegistry{PathPolicy({root})}.resolve(root);
  FileSystem& files = *location.fileSystem;
  EXPECT_EQ(files.list(root).size(), 2u);
  const std::function<void()> refused[] = {
      [&] { files.list(root + "/folder"); },
      [&] { files.stat(root + "/folder/secret"); },
      [&] { files.readAll(root + "/file"); },
      [&] { files.openInput(root + "/file"); },
      [&] { files.openInput(root + "/folder/secret"); },
      [&] { files.openOutput(root + "/folder/new"); },
      [&] { files.writeAtomically(root + "/folder/new", "x"); },
      [&] { files.putIfAbsent(root + "/folder/new", "x"); },
      [&] { files.makeDirectories(root + "/folder/new"); },
      [&] { files.remove(root + "/folder/secret"); },
      [&] { files.removeTree(root + "/folder/secret"); },
  };
  for (const auto& action : refused) EXPECT_EQ(conditionOf(action), "PATH_NOT_ALLOWED");
  EXPECT_TRUE(std::filesystem::exists(outside + "/secret"));
  EXPECT_FALSE(std::filesystem::exists(outside + "/new"));
}

TEST(PathPolicy, LetsARootBeMadeAndALinkBeRemoved) {
  TemporaryFolder folder;
  const std::string root = folder.path() + "/not/there/yet";
  const Location location = FileSystemRegistry{PathPolicy({root})}.resolve(root);
  location.fileSystem->writeAtomically(root + "/a", "x");
  EXPECT_EQ(location.fileSystem->readAll(root + "/a"), "x");
  std::filesystem::create_symlink("/etc/hostname", root + "/link");
  location.fileSystem->remove(root + "/link");
  EXPECT_FALSE(std::filesystem::is_symlink(root + "/link"));
}

TEST(FaultFileSystem, FailsTheCallItWasTold) {
  FaultFileSystem store(makeMemoryFileSystem());
  store.inject({.operation = FileOperation::WriteAtomically, .call = 2, .errorNumber = ENOSPC});
  store.writeAtomically("/a", "1");
  EXPECT_EQ(conditionOf([&] { store.writeAtomically("/a", "2"); }), "STORAGE_FAILURE");
  EXPECT_EQ(store.readAll("/a"), "1");
  store.writeAtomically("/a", "3");
  EXPECT_EQ(store.readAll("/a"), "3");
  EXPECT_EQ(store.calls(FileOperation::WriteAtomically), 3);
}

TEST(FaultFileSystem, LosesTheAnswerOfAPut) {
  FaultFileSystem store(makeMemoryFileSystem());
  store.inject({.operation = FileOperation::PutIfAbsent, .call = 1, .afterEffect = true});
  EXPECT_EQ(store.putIfAbsent("/v", "mine", {}), PutOutcome::Unknown);
  EXPECT_EQ(store.readAll("/v"), "mine");
}

TEST(PutIfAbsentResolved, TakesItsOwnFileForDoneOnceItIsSynced) {
  FaultFileSystem store(makeMemoryFileSystem());
  store.inject({.operation = FileOperation::PutIfAbsent, .call = 1, .afterEffect = true});
  EXPECT_EQ(putIfAbsentResolved(store, "/v", "mine"), PutOutcome::Done);
  EXPECT_EQ(store.calls(FileOperation::Sync), 1);
  EXPECT_EQ(putIfAbsentResolved(store, "/v", "mine"), PutOutcome::AlreadyExists);
}

TEST(PutIfAbsentResolved, FailsWhereTheFileCannotBeMadeDurable) {
  FaultFileSystem store(makeMemoryFileSystem());
  store.inject({.operation = FileOperation::PutIfAbsent, .call = 1, .afterEffect = true});
  store.inject({.operation = FileOperation::Sync, .call = 1});
  EXPECT_EQ(conditionOf([&] { putIfAbsentResolved(store, "/v", "mine"); }), "STORAGE_FAILURE");
}

TEST(PutIfAbsentResolved, LeavesAnotherWritersFile) {
  FaultFileSystem store(makeMemoryFileSystem());
  store.writeAtomically("/v", "theirs");
  store.inject({.operation = FileOperation::PutIfAbsent, .call = 1, .afterEffect = true});
  EXPECT_EQ(putIfAbsentResolved(store, "/v", "mine"), PutOutcome::AlreadyExists);
  EXPECT_EQ(store.readAll("/v"), "theirs");
}

TEST(LocalFileSystem, SyncsAFileThatIsThere) {
  TemporaryFolder folder;
  const auto store = makeLocalFileSystem();
  store->writeAtomically(folder.path() + "/a", "1");
  EXPECT_NO_THROW(store->sync(folder.path() + "/a"));
  EXPECT_EQ(conditionOf([&] { store->sync(folder.path() + "/b"); }), "PATH_NOT_FOUND");
}

TEST(FaultFileSystem, FailsStreams) {
  FaultFileSystem store(makeMemoryFileSystem());
  store.inject({.operation = FileOperation::StreamWrite, .call = 2, .errorNumber = ENOSPC});
  const auto out = store.openOutput("/s");
  EXPECT_TRUE(out->Write("ab", 2).ok());
  const arrow::Status status = out->Write("cd", 2);
  EXPECT_NE(status.message().find("the disk is full"), std::string::npos);
  EXPECT_EQ(*out->Tell(), 3);
}

}  // namespace
}  // namespace thalweg
