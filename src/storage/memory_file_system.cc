// A store in memory for tests: strict put-if-absent, files seen whole at Close.
#include <cerrno>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/io/memory.h>

#include "common/clock.h"
#include "storage/file_system.h"
#include "storage/storage_error.h"
#include "storage/uri_path.h"

namespace thalweg {
namespace {

struct MemoryFiles {
  struct File {
    std::shared_ptr<const std::string> contents;
    int64_t modificationTimeMs = 0;
  };
  std::mutex mutex;
  std::map<std::string, File> files;
  std::set<std::string> directories;

  void put(const std::string& path, std::string contents) {
    const std::lock_guard lock(mutex);
    files[path] = {std::make_shared<const std::string>(std::move(contents)), systemClock().nowMillis()};
  }
};

class MemoryOutputStream : public arrow::io::OutputStream {
 public:
  MemoryOutputStream(std::shared_ptr<MemoryFiles> store, std::string path)
      : store_(std::move(store)), path_(std::move(path)) {}

  arrow::Status Write(const void* data, int64_t size) override {
    if (closed_) return arrow::Status::Invalid("write to the closed file ", path_);
    contents_.append(static_cast<const char*>(data), static_cast<size_t>(size));
    return arrow::Status::OK();
  }
  arrow::Status Flush() override { return arrow::Status::OK(); }
  arrow::Status Close() override {
    if (!closed_) store_->put(path_, std::move(contents_));
    closed_ = true;
    return arrow::Status::OK();
  }
  arrow::Status Abort() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  arrow::Result<int64_t> Tell() const override { return static_cast<int64_t>(contents_.size()); }
  bool closed() const override { return closed_; }

 private:
  std::shared_ptr<MemoryFiles> store_;
  std::string path_;
  std::string contents_;
  bool closed_ = false;
};

// Keeps a file's bytes alive while readers hold slices of them.
class SharedStringBuffer : public arrow::Buffer {
 public:
  explicit SharedStringBuffer(std::shared_ptr<const std::string> contents)
      : arrow::Buffer(reinterpret_cast<const uint8_t*>(contents->data()),
                      static_cast<int64_t>(contents->size())),
        contents_(std::move(contents)) {}

 private:
  std::shared_ptr<const std::string> contents_;
};

class MemoryFileSystem : public FileSystem {
 public:
  std::string uriOf(std::string_view path) const override { return "memory:" + encodeUriPath(path); }

  std::optional<FileInfo> stat(const std::string& path) override {
    const std::lock_guard lock(store_->mutex);
    if (const auto it = store_->files.find(path); it != store_->files.end()) return infoOf(*it);
    if (isDirectory(path)) return FileInfo{path, 0, 0, true};
    return std::nullopt;
  }

  std::vector<FileInfo> list(const std::string& directory) override { return listFrom(directory, {}); }

  std::vector<FileInfo> listFrom(const std::string& directory, std::string_view firstName) override {
    const std::lock_guard lock(store_->mutex);
    const std::string prefix = directory == "/" ? "/" : directory + "/";
    std::map<std::string, FileInfo> entries;
    const auto addFolder = [&](const std::string& path) {
      const std::string name = path.substr(prefix.size(), path.find('/', prefix.size()) - prefix.size());
      if (!name.empty() && name >= firstName) entries.emplace(name, FileInfo{prefix + name, 0, 0, true});
    };
    for (auto it = store_->files.lower_bound(prefix);
         it != store_->files.end() && it->first.starts_with(prefix); ++it) {
      const std::string_view name = std::string_view(it->first).substr(prefix.size());
      if (name.find('/') != std::string_view::npos) {
        addFolder(it->first);
      } else if (name >= firstName) {
        entries.emplace(std::string(name), infoOf(*it));
      }
    }
    for (const std::string& folder : store_->directories) {
      if (folder.starts_with(prefix)) addFolder(folder);
    }
    std::vector<FileInfo> sorted;
    for (auto& [name, info] : entries) sorted.push_back(std::move(info));
    return sorted;
  }

  std::string readAll(const std::string& path) override { return *find(path); }

  std::shared_ptr<arrow::io::RandomAccessFile> openInput(const std::string& path) override {
    return std::make_shared<arrow::io::BufferReader>(std::make_shared<SharedStringBuffer>(find(path)));
  }

  std::shared_ptr<arrow::io::OutputStream> openOutput(const std::string& path) override {
    return std::make_shared<MemoryOutputStream>(store_, path);
  }

  void writeAtomically(const std::string& path, std::string_view contents) override {
    store_->put(path, std::string(contents));
  }

  PutOutcome putIfAbsent(const std::string& path, std::string_view contents,
                         const std::function<void()>& temporaryWritten) override {
    if (temporaryWritten) temporaryWritten();
    const std::lock_guard lock(store_->mutex);
    const auto [it, inserted] = store_->files.try_emplace(path);
    if (!inserted) return PutOutcome::AlreadyExists;
    it->second = {std::make_shared<const std::string>(contents), systemClock().nowMillis()};
    return PutOutcome::Done;
  }

  void sync(const std::string&) override {}

  void makeDirectories(const std::string& path) override {
    const std::lock_guard lock(store_->mutex);
    store_->directories.insert(path);
  }

  void remove(const std::string& path) override {
    const std::lock_guard lock(store_->mutex);
    store_->files.erase(path);
  }

  void removeTree(const std::string& path) override {
    const std::lock_guard lock(store_->mutex);
    const auto below = [&](const std::string& each) { return each == path || each.starts_with(path + "/"); };
    std::erase_if(store_->files, [&](const auto& entry) { return below(entry.first); });
    std::erase_if(store_->directories, below);
  }

 private:
  static FileInfo infoOf(const std::pair<const std::string, MemoryFiles::File>& entry) {
    return {entry.first, static_cast<int64_t>(entry.second.contents->size()), entry.second.modificationTimeMs,
            false};
  }

  bool isDirectory(const std::string& path) const {
    const std::string prefix = path == "/" ? "/" : path + "/";
    const auto holdsBelow = [&](auto it, auto end, const auto& name) {
      return it != end && name(*it).starts_with(prefix);
    };
    if (store_->directories.contains(path)) return true;
    return holdsBelow(store_->files.lower_bound(prefix), store_->files.end(),
                      [](const auto& e) { return e.first; }) ||
           holdsBelow(store_->directories.lower_bound(prefix), store_->directories.end(),
                      [](const auto& e) { return e; });
  }

  std::shared_ptr<const std::string> find(const std::string& path) {
    const std::lock_guard lock(store_->mutex);
    const auto it = store_->files.find(path);
    if (it == store_->files.end()) throw storageError(ENOENT, "open", path);
    return it->second.contents;
  }

  std::shared_ptr<MemoryFiles> store_ = std::make_shared<MemoryFiles>();
};

}  // namespace

std::shared_ptr<FileSystem> makeMemoryFileSystem() {
  return std::make_shared<MemoryFileSystem>();
}

}  // namespace thalweg
