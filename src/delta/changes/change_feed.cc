#include "delta/changes/change_feed.h"

#include <map>

#include "common/error.h"

namespace thalweg::delta {
namespace {

AddFile fileOf(const AddCdcFile& change) {
  AddFile file;
  file.path = change.path;
  file.partitionValues = change.partitionValues;
  file.size = change.size;
  return file;
}

AddFile fileOf(const RemoveFile& remove, bool partitioned) {
  // Old writers logged an empty map, or none.
  const bool saysPartition = remove.partitionValues && !remove.partitionValues->empty();
  if (partitioned && !saysPartition) {
    throw Error("DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA",
                "The log does not say which partition the removed file " + remove.path +
                    " was of (an old writer's commit), so what left with it cannot be read as changes.",
                {{"file", remove.path}});
  }
  AddFile file;
  file.path = remove.path;
  if (remove.partitionValues) file.partitionValues = *remove.partitionValues;
  file.size = remove.size.value_or(0);
  file.deletionVector = remove.deletionVector;
  file.baseRowId = remove.baseRowId;
  file.defaultRowCommitVersion = remove.defaultRowCommitVersion;
  return file;
}

// Rows of `vector` that `other` lacks.
ChangedFile difference(AddFile file, const char* changeType, const DeletionVector& vector,
                       const std::optional<DeletionVector>& other) {
  file.deletionVector.reset();
  ChangedFile changed{std::move(file), changeType, vector, other};
  return changed;
}

}  // namespace

std::vector<ChangedFile> changedFiles(const CommitChanges& commit, const std::vector<FileAction>& files,
                                      int64_t timestampMs, bool partitioned) {
  std::vector<ChangedFile> changed;
  const bool hasChangeFiles = commit.hasChangeFiles();
  std::map<std::string, const RemoveFile*> removes;
  for (const FileAction& file : files) {
    if (const auto* remove = std::get_if<RemoveFile>(&file)) removes.emplace(remove->path, remove);
  }
  for (const FileAction& action : files) {
    if (const auto* change = std::get_if<AddCdcFile>(&action)) {
      changed.push_back({fileOf(*change), std::nullopt});
    } else if (const auto* add = std::get_if<AddFile>(&action); add && !hasChangeFiles) {
      const auto pair = removes.find(add->path);
      if (pair == removes.end()) {
        changed.push_back({*add, "insert"});
        continue;
      }
      const RemoveFile& remove = *pair->second;
      if (add->deletionVector)
        changed.push_back(difference(*add, "delete", *add->deletionVector, remove.deletionVector));
      if (remove.deletionVector)
        changed.push_back(difference(*add, "insert", *remove.deletionVector, add->deletionVector));
      removes.erase(pair);
    }
  }
  if (!hasChangeFiles) {
    for (const FileAction& action : files) {
      const auto* remove = std::get_if<RemoveFile>(&action);
      if (!remove || !removes.contains(remove->path)) continue;
      changed.push_back({fileOf(*remove, partitioned), "delete"});
    }
  }
  for (ChangedFile& file : changed) {
    file.version = commit.version;
    file.timestampMs = timestampMs;
  }
  return changed;
}

}  // namespace thalweg::delta
