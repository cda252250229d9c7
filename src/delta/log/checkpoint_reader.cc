#include "delta/log/checkpoint_reader.h"

#include "common/error.h"
#include "delta/log/file_paths.h"
#include "delta/log/log_files.h"
#include "delta/log/parquet_checkpoint.h"

namespace thalweg::delta {
namespace {

template <typename Read>
void readParquetFile(FileSystem& fileSystem, const std::string& path, const CheckpointSinks& sinks,
                     const Read& read) {
  try {
    ParquetCheckpointFile file(fileSystem, path, sinks);
    read(file);
  } catch (const Error& error) {
    // What is wrong with a column is found where no file is known.
    if (error.text().find(path) != std::string::npos) throw;
    throw Error(error.condition(), "The checkpoint " + path + " cannot be read: " + error.text(),
                error.parameters());
  }
}

template <typename Read>
void readTopLevel(FileSystem& fileSystem, const CheckpointFiles& checkpoint, const CheckpointSinks& sinks,
                  const Read& read) {
  for (const FileInfo& file : checkpoint.files) {
    if (file.path.ends_with(".json")) {
      readActions(fileSystem.readAll(file.path), file.path, sinks.actions, sinks.sidecars, sinks.checkpoints);
    } else {
      readParquetFile(fileSystem, file.path, sinks,
                      [&](ParquetCheckpointFile& parquet) { read(parquet, file.sizeBytes); });
    }
  }
}

// Sidecars are named by file name, or by a path below the table or the store.
std::string sidecarPath(const std::string& logPath, const Sidecar& sidecar) {
  const std::string path = canonicalFilePath(sidecar.path, "");
  if (path.starts_with('/')) return path;
  const size_t slash = path.rfind('/');
  return logPath + "/" + std::string(kSidecarFolder) + "/" +
         (slash == std::string::npos ? path : path.substr(slash + 1));
}

// What a V2 checkpoint says of itself.
struct Contents {
  std::vector<Sidecar> sidecars;
  std::optional<CheckpointMetadata> metadata;

  SidecarSink sidecarSink() {
    return [this](Sidecar&& sidecar) { sidecars.push_back(std::move(sidecar)); };
  }
  CheckpointMetadataSink metadataSink() {
    return [this](CheckpointMetadata&& found) { metadata = std::move(found); };
  }
};

Contents readState(FileSystem& fileSystem, const CheckpointFiles& checkpoint, const ActionSink& actions) {
  Contents contents;
  const CheckpointSinks sinks{actions, [](const FileFields&) {}, contents.sidecarSink(),
                              contents.metadataSink()};
  readTopLevel(fileSystem, checkpoint, sinks,
               [](ParquetCheckpointFile& file, int64_t) { file.readStateOnly(); });
  return contents;
}

// A top level of lines parses wherever it ends, and sidecars may be others than it was written with.
void checkWhole(const CheckpointFiles& checkpoint, const Contents& contents, int64_t numSidecarActions) {
  const std::string& path = checkpoint.files.front().path;
  if (!contents.metadata && path.ends_with(".json")) {
    throw Error("DELTA_STATE_RECOVER_ERROR",
                "The checkpoint " + path + " has no line checkpointMetadata: it is cut off.",
                {{"operation", "checkpointMetadata"}, {"path", path}});
  }
  if (!contents.metadata) return;
  const auto wanted = contents.metadata->tags.find("sidecarNumActions");
  if (wanted == contents.metadata->tags.end() || wanted->second == std::to_string(numSidecarActions)) return;
  throw Error("DELTA_STATE_RECOVER_ERROR",
              "The checkpoint " + path + " says that its sidecars have " + wanted->second +
                  " actions, and they have " + std::to_string(numSidecarActions) + ".",
              {{"operation", "sidecar"}, {"path", path}});
}

}  // namespace

void readCheckpoint(const std::shared_ptr<FileSystem>& fileSystem, const std::string& logPath,
                    const CheckpointFiles& checkpoint, const ActionSink& actions, const FileSink& files,
                    int64_t laterStatisticsBytes) {
  Contents contents;
  const CheckpointSinks sinks{actions, files, contents.sidecarSink(), contents.metadataSink()};
  int64_t numSidecarActions = 0;
  const FileSink countedFiles = [&](const FileFields& file) {
    ++numSidecarActions;
    files(file);
  };
  const auto read = [&](ParquetCheckpointFile& file, int64_t sizeBytes) {
    if (sizeBytes < laterStatisticsBytes) return file.readAll();
    file.readAllButStatistics(fileSystem);
  };
  readTopLevel(*fileSystem, checkpoint, sinks, read);
  for (const Sidecar& sidecar : contents.sidecars) {
    readParquetFile(*fileSystem, sidecarPath(logPath, sidecar), {actions, countedFiles, {}},
                    [&](ParquetCheckpointFile& file) { read(file, sidecar.sizeInBytes); });
  }
  checkWhole(checkpoint, contents, numSidecarActions);
}

void readCheckpointState(FileSystem& fileSystem, const CheckpointFiles& checkpoint,
                         const ActionSink& actions) {
  readState(fileSystem, checkpoint, actions);
}

void readCheckpointAdds(FileSystem& fileSystem, const std::string& logPath, const CheckpointFiles& checkpoint,
                        const FileSink& files,
                        const std::function<bool(const ParquetRowGroup&)>& keepRowGroup) {
  const CheckpointSinks sinks{[](Action&&) {}, files, {}};
  int64_t numRows = 0;
  const auto readAdds = [&](ParquetCheckpointFile& file) { numRows += file.readAdds(keepRowGroup); };
  for (const FileInfo& file : checkpoint.files) {
    if (!file.path.ends_with(".json")) readParquetFile(fileSystem, file.path, sinks, readAdds);
  }
  const Contents contents = readState(fileSystem, checkpoint, [](Action&&) {});
  numRows = 0;
  for (const Sidecar& sidecar : contents.sidecars)
    readParquetFile(fileSystem, sidecarPath(logPath, sidecar), sinks, readAdds);
  // A row of a sidecar is an action.
  checkWhole(checkpoint, contents, numRows);
}

std::vector<std::string> sidecarNames(FileSystem& fileSystem, const CheckpointFiles& checkpoint) {
  std::vector<std::string> names;
  for (const Sidecar& sidecar : readState(fileSystem, checkpoint, [](Action&&) {}).sidecars)
    names.push_back(sidecar.path.substr(sidecar.path.rfind('/') + 1));
  return names;
}

}  // namespace thalweg::delta
