// Local disk. Order of every durable write: file synced, name published, directory synced.
#include <cerrno>
#include <filesystem>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <arrow/io/file.h>

#include "common/error.h"
#include "storage/address_access.h"
#include "storage/file_moves.h"
#include "storage/folder_access.h"
#include "storage/local_address.h"
#include "storage/local_file_system.h"
#include "storage/local_output_stream.h"
#include "storage/storage_error.h"
#include "storage/temporary_names.h"
#include "storage/uri_path.h"

namespace thalweg {
namespace {

std::string parentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

FileInfo infoOf(std::string path, const struct stat& status) {
  FileInfo info;
  info.path = std::move(path);
  info.sizeBytes = status.st_size;
  info.modificationTimeMs = int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
  info.isDirectory = S_ISDIR(status.st_mode);
  return info;
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  ~FileDescriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// A temporary file that goes away with its owner unless it was renamed. It lies in the same directory: a
// rename must not cross file systems.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target) : path_(temporaryNameFor(target)) {}
  ~TemporaryFile() {
    if (!released_) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }
  void release() { released_ = true; }

  void writeAndSync(std::string_view contents) {
    LocalOutputStream stream(path_, LocalOutputStream::DirectorySync::Skip);
    throwIfStorageFailed(stream.Write(contents.data(), static_cast<int64_t>(contents.size())), "write",
                         path_);
    throwIfStorageFailed(stream.Close(), "close", path_);
  }

 private:
  std::string path_;
  bool released_ = false;
};

enum class LinkResult { Done, Exists };

// Publishes the temporary file under a name that must not exist yet.
LinkResult linkIfAbsent(const std::string& temporary, const std::string& path) {
  if (::link(temporary.c_str(), path.c_str()) == 0) return LinkResult::Done;
  const int linkError = errno;
  // A network file system may have made the link and lost the answer: the file's link count tells.
  struct stat status;
  if (::stat(temporary.c_str(), &status) == 0 && status.st_nlink == 2) return LinkResult::Done;
  if (linkError == EEXIST) return LinkResult::Exists;
  // File systems without hard links.
  if (linkError != EPERM && linkError != ENOTSUP && linkError != EMLINK)
    throw storageError(linkError, "create", path);
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0)
    return LinkResult::Done;
  if (errno == EEXIST) return LinkResult::Exists;
  throw storageError(errno, "create (its file system has no atomic way to put a file only if it is absent)",
                     path);
}

void makeFolders(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) {
    if (!S_ISDIR(status.st_mode)) throw storageError(ENOTDIR, "make the folder", path);
    return;
  }
  if (path == "/") return;
  const std::string parent = parentOf(path);
  makeFolders(parent);
  if (::mkdir(path.c_str(), 0777) != 0) {
    if (errno == EEXIST) return;
    throw storageError(errno, "make the folder", path);
  }
  if (const int failure = syncDirectory(parent)) throw storageError(failure, "sync the folder", parent);
}

// Opens a regular file: a pipe would wait for its writer, a device may never end.
int openRegularFile(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) throw storageError(errno, "open", path);
  struct stat status;
  const int failure = ::fstat(descriptor, &status) != 0 ? errno
                      : S_ISREG(status.st_mode)         ? 0
                      : S_ISDIR(status.st_mode)         ? EISDIR
                                                        : EINVAL;
  if (failure == 0) return descriptor;
  ::close(descriptor);
  throw storageError(
      failure, failure == EINVAL ? "open (it is a pipe, a socket or a device, not a file)" : "open", path);
}

class LocalFileSystem : public FileSystem,
                        public FolderAccess,
                        public AddressAccess,
                        public FileMoves,
                        public std::enable_shared_from_this<LocalFileSystem> {
 public:
  explicit LocalFileSystem(PathPolicy policy) : policy_(std::move(policy)) {}

  std::string uriOf(std::string_view path) const override { return "file:" + encodeUriPath(path); }

  Location resolve(std::string_view address) override {
    std::string path = localPathOf(address);
    policy_.check(path);
    return {shared_from_this(), std::move(path)};
  }

  std::optional<FileInfo> stat(const std::string& path) override {
    policy_.check(path);
    struct stat status;
    if (::stat(path.c_str(), &status) == 0) return infoOf(path, status);
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw storageError(errno, "look at", path);
  }

  std::vector<FileInfo> list(const std::string& directory) override { return listFrom(directory, {}); }

  std::vector<FileInfo> listFrom(const std::string& directory, std::string_view firstName) override {
    std::vector<FileInfo> entries;
    readDirectory(directory, firstName, [&](FileInfo entry, bool) { entries.push_back(std::move(entry)); });
    std::sort(entries.begin(), entries.end(),
              [](const FileInfo& a, const FileInfo& b) { return a.path < b.path; });
    return entries;
  }

  void visitEntries(const std::string& directory, const EntryVisitor& visit) override {
    readDirectory(directory, {}, visit);
  }

  std::string readAll(const std::string& path) override {
    policy_.check(path);
    const FileDescriptor file(openRegularFile(path));
    struct stat status;
    if (::fstat(file.get(), &status) != 0) throw storageError(errno, "look at", path);
    std::string contents;
    // One byte more than the size says, so that the read after the last byte ends the loop without growing.
    contents.resize(static_cast<size_t>(status.st_size) + 1);
    size_t filled = 0;
    while (true) {
      const ssize_t count = ::read(file.get(), contents.data() + filled, contents.size() - filled);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw storageError(errno, "read", path);
      if (count == 0) break;
      filled += static_cast<size_t>(count);
      if (filled == contents.size()) contents.resize(contents.size() * 2);
    }
    contents.resize(filled);
    return contents;
  }

  std::shared_ptr<arrow::io::RandomAccessFile> openInput(const std::string& path) override {
    policy_.check(path);
    const int descriptor = openRegularFile(path);
    auto file = arrow::io::ReadableFile::Open(descriptor);
    if (!file.ok()) {
      ::close(descriptor);
      throwIfStorageFailed(file.status(), "open", path);
    }
    return *file;
  }

  std::shared_ptr<arrow::io::OutputStream> openOutput(const std::string& path) override {
    policy_.check(path);
    makeFolders(parentOf(path));
    return std::make_shared<LocalOutputStream>(path, LocalOutputStream::DirectorySync::AtClose);
  }

  void writeAtomically(const std::string& path, std::string_view contents) override {
    policy_.check(path);
    makeFolders(parentOf(path));
    TemporaryFile temporary(path);
    temporary.writeAndSync(contents);
    if (::rename(temporary.path().c_str(), path.c_str()) != 0) throw storageError(errno, "replace", path);
    temporary.release();
    if (const int failure = syncDirectory(parentOf(path)))
      throw storageError(failure, "sync the folder of", path);
  }

  PutOutcome putIfAbsent(const std::string& path, std::string_view contents,
                         const std::function<void()>& temporaryWritten) override {
    policy_.check(path);
    makeFolders(parentOf(path));
    TemporaryFile temporary(path);
    temporary.writeAndSync(contents);
    if (temporaryWritten) temporaryWritten();
    if (linkIfAbsent(temporary.path(), path) == LinkResult::Exists) return PutOutcome::AlreadyExists;
    // Readers see the file by now, but a power cut may still take its name away.
    return syncDirectory(parentOf(path)) == 0 ? PutOutcome::Done : PutOutcome::Unknown;
  }

  void sync(const std::string& path) override {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) throw storageError(errno, "open", path);
    if (const int failure = syncFile(file.get())) throw storageError(failure, "sync", path);
    if (const int failure = syncDirectory(parentOf(path)))
      throw storageError(failure, "sync the folder of", path);
  }

  void makeDirectories(const std::string& path) override {
    policy_.check(path);
    makeFolders(path);
  }

  // A link is removed itself, not what it leads to: only the way to it counts.
  void remove(const std::string& path) override {
    policy_.check(parentOf(path));
    if (::unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR)
      throw storageError(errno, "delete", path);
  }

  void removeTree(const std::string& path) override {
    policy_.check(path);
    std::error_code failure;
    std::filesystem::remove_all(path, failure);
    if (failure) throw storageError(failure.value(), "delete", path);
  }

  void moveFile(const std::string& from, const std::string& to) override {
    policy_.check(from);
    policy_.check(to);
    makeFolders(parentOf(to));
    if (::rename(from.c_str(), to.c_str()) != 0) {
      if (errno != EXDEV) throw storageError(errno, "rename to " + to, from);
      return moveAcross(from, to);
    }
    if (const int failure = syncDirectory(parentOf(to)))
      throw storageError(failure, "sync the folder of", to);
  }

  bool removeEmpty(const std::string& path) override {
    policy_.check(path);
    if (::rmdir(path.c_str()) == 0) return true;
    if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOENT || errno == ENOTDIR) return false;
    throw storageError(errno, "delete", path);
  }

 private:
  // To a folder that lies on another device, as a partition's that is mounted or linked.
  void moveAcross(const std::string& from, const std::string& to) {
    TemporaryFile temporary(to);
    std::error_code failure;
    std::filesystem::copy_file(from, temporary.path(), failure);
    if (failure) throw storageError(failure.value(), "copy to " + to, from);
    sync(temporary.path());
    if (::rename(temporary.path().c_str(), to.c_str()) != 0) throw storageError(errno, "replace", to);
    temporary.release();
    if (const int synced = syncDirectory(parentOf(to))) throw storageError(synced, "sync the folder of", to);
    remove(from);
  }

  template <typename Visit>
  void readDirectory(const std::string& directory, std::string_view firstName, const Visit& visit) {
    policy_.check(directory);
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), &::closedir);
    if (!stream) {
      if (errno == ENOENT) return;
      throw storageError(errno, "list", directory);
    }
    const std::string prefix = directory == "/" ? "/" : directory + "/";
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(stream.get());
      if (!entry) {
        if (errno != 0) throw storageError(errno, "list", directory);
        return;
      }
      const std::string_view name = entry->d_name;
      if (name == "." || name == ".." || name < firstName) continue;
      struct stat status;
      if (::fstatat(::dirfd(stream.get()), entry->d_name, &status, 0) != 0) {
        if (errno == ENOENT) continue;  // gone since, or a dangling link
        throw storageError(errno, "look at", prefix + std::string(name));
      }
      FileInfo info = infoOf(prefix + std::string(name), status);
      const bool link = entry->d_type == DT_LNK || (entry->d_type == DT_UNKNOWN && isLink(info.path));
      visit(std::move(info), link);
    }
  }

  static bool isLink(const std::string& path) {
    struct stat status;
    return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
  }

  PathPolicy policy_;
};

}  // namespace

std::shared_ptr<FileSystem> makeLocalFileSystem() {
  return makeLocalFileSystem(PathPolicy());
}

std::shared_ptr<FileSystem> makeLocalFileSystem(PathPolicy policy) {
  return std::make_shared<LocalFileSystem>(std::move(policy));
}

}  // namespace thalweg
