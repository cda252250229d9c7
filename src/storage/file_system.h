// The file-system contract: what tables, checkpoints and sources need of a store. Durable where it says so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace arrow {
class Buffer;
namespace io {
class OutputStream;
class RandomAccessFile;
}  // namespace io
}  // namespace arrow

namespace thalweg {

struct FileInfo {
  std::string path;  // as the store has it, decoded: "/data/t/part-0.parquet"
  int64_t sizeBytes = 0;
  int64_t modificationTimeMs = 0;
  bool isDirectory = false;

  std::string_view name() const;  // the part after the last '/'
};

// What became of a put-if-absent whose answer may be lost. Unknown: the file may be there, and not durably;
// putIfAbsentResolved (storage/resolved_put.h) finds out.
enum class PutOutcome { Done, AlreadyExists, Unknown };

// Paths are absolute and decoded, without scheme ("/data/t"); FileSystemRegistry turns addresses into them.
// All methods may be called from any thread. Failures throw Error: PATH_NOT_FOUND where a named file is
// missing, else STORAGE_FAILURE with the path and the system's words (a full disk says so).
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // The scheme's prefix for a path in logs that name absolute files: "file:" for local disk.
  virtual std::string uriOf(std::string_view path) const = 0;

  virtual std::optional<FileInfo> stat(const std::string& path) = 0;
  // Entries directly below a directory, sorted by name; empty where it does not exist.
  virtual std::vector<FileInfo> list(const std::string& directory) = 0;
  // As list, but only names not less than `firstName`: a log's tail without its history.
  virtual std::vector<FileInfo> listFrom(const std::string& directory, std::string_view firstName) = 0;

  virtual std::string readAll(const std::string& path) = 0;
  virtual std::shared_ptr<arrow::io::RandomAccessFile> openInput(const std::string& path) = 0;

  // A new file, its folders made as needed. Close makes it durable (file and directory entry synced); a
  // stream dropped without Close leaves no promise. The caller writes names that nobody else uses.
  virtual std::shared_ptr<arrow::io::OutputStream> openOutput(const std::string& path) = 0;

  // Writes the whole file so that a reader sees all of it or none, replacing an older one; durable on return.
  virtual void writeAtomically(const std::string& path, std::string_view contents) = 0;

  // As writeAtomically, but exactly one of several writers of one path succeeds, processes included.
  // `temporaryWritten`, when given, runs between the synced temporary file and its publication (a fault
  // point's place).
  virtual PutOutcome putIfAbsent(const std::string& path, std::string_view contents,
                                 const std::function<void()>& temporaryWritten = {}) = 0;

  // Makes an existing file durable, its contents and its name.
  virtual void sync(const std::string& path) = 0;

  virtual void makeDirectories(const std::string& path) = 0;
  // Missing files are no error.
  virtual void remove(const std::string& path) = 0;
  virtual void removeTree(const std::string& path) = 0;
};

// Resolved address of a file or folder: its store and its path there.
struct Location {
  std::shared_ptr<FileSystem> fileSystem;
  std::string path;  // absolute, normalised, without a trailing '/'

  std::string uri() const { return fileSystem->uriOf(path); }
  Location child(std::string_view name) const;
};

// Which local paths a server may touch. Empty roots: every path that the user may read.
// Checked after links are resolved (of the longest existing part of the path).
class PathPolicy {
 public:
  PathPolicy() = default;
  explicit PathPolicy(std::vector<std::string> allowedRoots);
  // Throws Error PATH_NOT_ALLOWED naming the path.
  void check(const std::string& path) const;

 private:
  std::vector<std::string> roots_;
};

// Turns addresses into stores: "/a/b", "file:/a/b", "file:///a/b" are local; relative paths are taken from
// the process's working directory; other schemes (abfss, s3, …) throw Error UNSUPPORTED_FEATURE until they
// are built.
class FileSystemRegistry {
 public:
  explicit FileSystemRegistry(PathPolicy policy = {});
  Location resolve(std::string_view address) const;

 private:
  PathPolicy policy_;
  std::shared_ptr<FileSystem> local_;
};

std::shared_ptr<FileSystem> makeLocalFileSystem();
// Strict put-if-absent in memory, for tests.
std::shared_ptr<FileSystem> makeMemoryFileSystem();

}  // namespace thalweg
