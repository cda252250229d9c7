#include "sinks/files/file_batch_write.h"

#include <set>

#include "common/error.h"
#include "common/fault_points.h"
#include "common/logging.h"
#include "connector/sink_file_log.h"
#include "sinks/files/file_sink.h"
#include "sinks/files/file_tasks.h"
#include "sinks/files/output_folder.h"
#include "storage/file_moves.h"
#include "storage/file_uri.h"
#include "storage/folder_access.h"

namespace thalweg {
namespace {

// Readers pass over names that begin so.
constexpr std::string_view kStagingFolder = "_temporary";

void removeEntry(FileSystem& store, const FileInfo& entry) {
  if (entry.isDirectory) {
    store.removeTree(entry.path);
  } else {
    store.remove(entry.path);
  }
}

class FileBatchWrite final : public BatchWrite {
 public:
  FileBatchWrite(std::shared_ptr<const FileLayout> layout, Location folder, bool dynamicOverwrite)
      : folder_(std::move(folder)),
        staging_(folder_.child(kStagingFolder).child(layout->writeId)),
        dynamicOverwrite_(dynamicOverwrite),
        tasks_(std::move(layout), staging_) {}

  std::unique_ptr<TaskWriter> openTask(int taskId) override { return tasks_.open(taskId); }

  void commit() override {
    std::vector<WrittenFile> moved;
    try {
      const std::vector<WrittenFile> files = tasks_.finish();
      folder_.fileSystem->makeDirectories(folder_.path);
      if (dynamicOverwrite_) removePartitionsOf(files);
      for (const WrittenFile& file : files) {
        passFaultPoint(FaultPoint::FileMoveBefore);
        // A move whose answer is lost may have happened.
        moved.push_back(file);
        moveFile(*folder_.fileSystem, staging_.path + "/" + file.relativePath,
                 folder_.path + "/" + file.relativePath);
      }
    } catch (...) {
      removeFiles(folder_, moved);
      removeStaging();
      throw;
    }
    // The rows are there: an error would have them written again.
    markSuccess();
    removeStaging();
  }

  void abort() noexcept override { removeStaging(); }
  int64_t numOutputRows() const override { return tasks_.numRows(); }

 private:
  void markSuccess() noexcept {
    try {
      passFaultPoint(FaultPoint::FileMoveAfter);
      folder_.fileSystem->writeAtomically(folder_.child("_SUCCESS").path, "");
    } catch (const std::exception& error) {
      logWarn("A write into {} is done, but for its file _SUCCESS: {}", folder_.path, error.what());
    }
  }

  void removePartitionsOf(const std::vector<WrittenFile>& files) {
    std::set<std::string> folders;
    for (const WrittenFile& file : files) folders.insert(file.folder());
    FileSystem& store = *folder_.fileSystem;
    for (const std::string& partition : folders) {
      for (const FileInfo& entry : store.list(folder_.path + "/" + partition)) removeEntry(store, entry);
    }
  }

  void removeStaging() noexcept {
    try {
      folder_.fileSystem->removeTree(staging_.path);
      // Other writes may be under way.
      removeEmptyDirectory(*folder_.fileSystem, folder_.child(kStagingFolder).path);
    } catch (const std::exception& error) {
      logWarn("The folder {} of a write that is over stays behind: {}", staging_.path, error.what());
    }
  }

  Location folder_;
  Location staging_;
  bool dynamicOverwrite_;
  FileTasks tasks_;
};

bool isDynamic(const Options& options) {
  const std::string mode = options.getOr("partitionOverwriteMode", "static");
  return equalsIgnoreCase(mode, "dynamic");
}

void clear(const Location& folder) {
  FileSystem& store = *folder.fileSystem;
  const auto entries = store.list(folder.path);
  for (const FileInfo& entry : entries) {
    if (entry.name() != kSinkLogFolder) removeEntry(store, entry);
  }
  // Last: without it, readers would take the files of a stream's failed attempts for rows.
  store.removeTree(folder.child(kSinkLogFolder).path);
}

}  // namespace

std::unique_ptr<BatchWrite> beginFileWrite(std::shared_ptr<const FileLayout> layout, Location folder,
                                           bool dynamicOverwrite) {
  return std::make_unique<FileBatchWrite>(std::move(layout), std::move(folder), dynamicOverwrite);
}

std::unique_ptr<BatchWrite> openFileWrite(const FileOutputDefinition& format, const WriteDefinition& write,
                                          const FileSystemRegistry& registry, SaveMode mode,
                                          const SchemaPtr& schema) {
  if (!write.path)
    throw Error("_LEGACY_ERROR_TEMP_2047", "'path' is not specified: name the folder to write into.");
  auto layout = std::make_shared<const FileLayout>(FileLayout::make(format, write, schema));
  Location folder = registry.resolve(*write.path);
  FileSystem& store = *folder.fileSystem;
  refuseDeltaTable(folder, format.name, "write into");
  const auto there = store.stat(folder.path);
  if (there && mode == SaveMode::Ignore) return nullptr;
  if (there && mode == SaveMode::ErrorIfExists) {
    const std::string shown = displayPath(store, folder.path);
    throw Error(
        "PATH_ALREADY_EXISTS",
        "Path " + shown + " already exists. Set mode as \"overwrite\" to overwrite the existing path.",
        {{"outputPath", shown}});
  }
  const bool overwrite = mode == SaveMode::Overwrite;
  const bool dynamic = overwrite && isDynamic(write.options) && !layout->partitionColumns.empty();
  if (!overwrite || dynamic) refuseSinkLog(folder);
  if (there && overwrite && !dynamic) {
    if (!there->isDirectory) store.remove(folder.path);
    clear(folder);
  }
  return beginFileWrite(std::move(layout), std::move(folder), dynamic);
}

}  // namespace thalweg
