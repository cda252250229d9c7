#include "catalog/table_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "common/error.h"
#include "common/logging.h"

namespace thalweg {
namespace {

constexpr auto kLongestWait = std::chrono::minutes(1);

// FNV-1a: the same in every process, which std::hash does not promise.
uint64_t hashOf(std::string_view text) {
  uint64_t hash = 14695981039346656037ull;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211ull;
  return hash;
}

Error lockFailure(const std::string& path, const std::string& reason) {
  return Error("CATALOG_FAILURE", "The lock file " + path + " cannot be used: " + reason + ".",
               {{"path", path}});
}

}  // namespace

// One byte of the file stands for a place. Locks of open file descriptions are held apart between threads as
// between processes.
FolderLock::FolderLock(const Catalog& catalog, const std::string& location) {
  const std::string path = catalog.places().file + "-locks";
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) throw lockFailure(path, std::strerror(errno));
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(hashOf(location) >> 2);
  range.l_len = 1;
  const auto deadline = std::chrono::steady_clock::now() + kLongestWait;
  while (::fcntl(file_, F_OFD_SETLK, &range) != 0) {
    const int reason = errno;
    const bool taken = reason == EAGAIN || reason == EACCES || reason == EINTR;
    if (taken && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    ::close(file_);
    if (!taken) throw lockFailure(path, std::strerror(reason));
    throw Error("CATALOG_FAILURE",
                "Another statement has been making or dropping the table at " + location +
                    " for a minute: try again later.",
                {{"path", location}});
  }
}

FolderLock::~FolderLock() {
  ::close(file_);
}

void finishFolder(Catalog& catalog, const Location& folder) {
  const std::string uri = folder.uri();
  if (!catalog.isUnfinished(uri)) return;
  if (!catalog.isNamed(uri)) folder.fileSystem->removeTree(folder.path);
  catalog.removeUnfinished(uri);
}

NewTableFolder::NewTableFolder(Catalog& catalog, const TableName& table, Location folder)
    : catalog_(catalog), folder_(std::move(folder)), lock_(catalog, folder_.uri()) {
  const std::string uri = folder_.uri();
  // Another may have made it while the lock was waited for.
  if (catalog.find(table)) throw tableAlreadyExists(table);
  finishFolder(catalog, folder_);
  const bool named = catalog.isNamed(uri);
  if (named || !folder_.fileSystem->list(folder_.path).empty()) {
    throw Error("DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION",
                "The table " + table.shortQuoted() + " cannot be made: its folder " + uri +
                    (named ? " is that of another table, or holds one. Choose another name."
                           : " is not empty and belongs to no table. Move it away, or make an external table "
                             "with LOCATION."),
                {{"tableId", table.shortQuoted()}, {"tableLocation", uri}});
  }
  catalog.addUnfinished(uri);
}

NewTableFolder::~NewTableFolder() {
  if (kept_) return;
  try {
    finishFolder(catalog_, folder_);
  } catch (const Error& error) {
    logWarn("The folder {} of a table that was not made stays until its next use: {}", folder_.uri(),
            error.text());
  }
}

void removeDroppedFolder(Catalog& catalog, const Location& folder) {
  try {
    const FolderLock lock(catalog, folder.uri());
    // Who came first may have made a new table here: then there is no note.
    finishFolder(catalog, folder);
  } catch (const Error& error) {
    logWarn("The folder {} of a dropped table stays until its next use: {}", folder.uri(), error.text());
  }
}

}  // namespace thalweg
