#include "sources/files/file_listing.h"

#include <algorithm>

#include "common/error.h"
#include "connector/sink_file_log.h"
#include "storage/file_uri.h"
#include "storage/partition_folders.h"

namespace thalweg {
namespace {

std::string_view parentOf(std::string_view path) {
  return path.substr(0, path.rfind('/'));
}
std::string_view nameOf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

size_t partsOf(std::string_view path) {
  return path == "/" ? 0 : static_cast<size_t>(std::count(path.begin(), path.end(), '/'));
}

bool ignored(std::string_view name) {
  return isHiddenName(name) || (!name.starts_with('_') && name.ends_with("._COPYING_"));
}

class Lister {
 public:
  Lister(const FileRoot& root, const FileListOptions& options, const CancellationToken* cancellation)
      : root_(root), options_(options), cancellation_(cancellation) {}

  bool run() {
    const std::vector<FileInfo> roots = expandGlob(*root_.location.fileSystem, root_.location.path);
    for (const FileInfo& found : roots) {
      if (found.isDirectory && hasSinkLog(found.path)) {
        loggedFiles(found.path);
      } else if (found.isDirectory) {
        folder(found.path);
      } else if (!ignored(found.name())) {
        add(found, /*direct=*/true);
      }
    }
    return !roots.empty();
  }

  std::vector<ListedFile> take() {
    if (!partitioned_ && !options_.recursive) {
      size_t kept = 0;
      for (size_t i = 0; i < files_.size(); ++i) {
        if (!direct_[i]) continue;
        if (kept != i) files_[kept] = std::move(files_[i]);
        ++kept;
      }
      files_.resize(kept);
    }
    std::sort(files_.begin(), files_.end(),
              [](const ListedFile& a, const ListedFile& b) { return a.path < b.path; });
    // Braces may name a folder and one inside it.
    files_.erase(std::unique(files_.begin(), files_.end(),
                             [](const ListedFile& a, const ListedFile& b) { return a.path == b.path; }),
                 files_.end());
    return std::move(files_);
  }

 private:
  // With a list of folders to do instead of recursion: a tree may be deep.
  void folder(const std::string& top) {
    std::vector<std::string> open{top};
    while (!open.empty()) {
      const std::string current = std::move(open.back());
      open.pop_back();
      if (cancellation_) cancellation_->throwIfCancelled();
      for (const FileInfo& entry : root_.location.fileSystem->list(current)) {
        if (ignored(entry.name())) continue;
        if (entry.isDirectory) {
          open.push_back(entry.path);
        } else {
          add(entry, current == top);
        }
      }
    }
  }

  // As in Spark, a pattern's folders are listed as they are.
  bool hasSinkLog(const std::string& top) const {
    if (isGlob(root_.location.path)) return false;
    const auto info = root_.location.fileSystem->stat(top + "/" + std::string(kSinkLogFolder));
    return info && info->isDirectory;
  }

  // Of the output of a file sink only what its log names: others are those of attempts that failed.
  void loggedFiles(const std::string& top) {
    FileSystem& store = *root_.location.fileSystem;
    const Location output{root_.location.fileSystem, top};
    for (const SinkFileEntry& entry : SinkFileLog(output, systemClock()).files()) {
      const auto path = pathOfUri(store, entry.uri);
      if (!path) {
        throw Error("STREAMING_CHECKPOINT_LOG_CORRUPT",
                    "The file sink's log in " + top + " names a file of another store, " + entry.uri + ".",
                    {{"path", top}});
      }
      add({*path, entry.sizeBytes, entry.modificationTimeMs, false}, parentOf(*path) == top);
    }
  }

  void add(const FileInfo& file, bool direct) {
    if (options_.nameFilter && !options_.nameFilter->matches(file.name())) return;
    if (options_.modifiedBeforeMs && file.modificationTimeMs >= *options_.modifiedBeforeMs) return;
    if (options_.modifiedAfterMs && file.modificationTimeMs <= *options_.modifiedAfterMs) return;
    if (!partitioned_ && !options_.recursive) partitioned_ = !root_.partitionFolders(file.path).empty();
    files_.push_back({file.path, file.sizeBytes, file.modificationTimeMs});
    direct_.push_back(direct);
  }

  const FileRoot& root_;
  const FileListOptions& options_;
  const CancellationToken* cancellation_;
  std::vector<ListedFile> files_;
  std::vector<bool> direct_;
  bool partitioned_ = false;
};

}  // namespace

FileRoot FileRoot::make(Location location, const FileListOptions& options,
                        const FileSystemRegistry& registry) {
  FileRoot root;
  root.basePath = location.path;
  root.recursive = options.recursive;
  if (options.basePath) {
    root.basePath = registry.resolve(*options.basePath).path;
    const std::string prefix = root.basePath == "/" ? "/" : root.basePath + "/";
    if (location.path != root.basePath && !location.path.starts_with(prefix)) {
      throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
                  fmt::format("The option 'basePath' is '{}', which does not lead to the path '{}'.",
                              *options.basePath, location.path),
                  {{"option", "basePath"}});
    }
  }
  root.location = std::move(location);
  return root;
}

std::vector<std::string> FileRoot::partitionFolders(std::string_view filePath) const {
  // A pattern matches name by name, so the base's depth says where a file's own folders begin.
  const size_t depth = partsOf(basePath);
  std::vector<std::string> folders;
  if (recursive) return folders;
  std::string_view folder = parentOf(filePath);
  for (size_t parts = partsOf(filePath); parts > depth + 1; --parts) {
    const std::string_view name = nameOf(folder);
    const bool isPartition = name.find('=') != std::string_view::npos;
    if (!isPartition && !folders.empty()) break;
    if (isPartition) folders.emplace_back(name);
    folder = parentOf(folder);
  }
  std::reverse(folders.begin(), folders.end());
  return folders;
}

std::vector<ListedFile> listFiles(const FileRoot& root, const FileListOptions& options,
                                  const CancellationToken* cancellation, bool* found) {
  Lister lister(root, options, cancellation);
  const bool any = lister.run();
  if (found) *found = any;
  return lister.take();
}

}  // namespace thalweg
