#include "delta/changes/commit_changes.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "delta/actions/action_reader.h"
#include "delta/log/log_files.h"
#include "delta/log/log_segment.h"

namespace thalweg::delta {
namespace {

using Json = nlohmann::json;

std::string textOf(const Json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// As Scala prints a map.
std::string parametersText(const Json& info) {
  std::string text;
  const auto parameters = info.find("operationParameters");
  if (parameters != info.end() && parameters->is_object()) {
    for (const auto& [key, value] : parameters->items()) {
      text += (text.empty() ? "" : ", ") + key + " -> " + textOf(value);
    }
  }
  return "Map(" + text + ")";
}

bool changedNoTargetRow(const Json& info) {
  const auto metrics = info.find("operationMetrics");
  if (metrics == info.end() || !metrics->is_object()) return false;
  for (const char* name : {"numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"}) {
    const auto metric = metrics->find(name);
    if (metric == metrics->end() || textOf(*metric) != "0") return false;
  }
  return true;
}

void note(const CommitInfo& commitInfo, CommitChanges& changes) {
  changes.inCommitTimestampMs = readCommitInfoFields(commitInfo).inCommitTimestamp;
  const Json info = Json::parse(commitInfo.json, nullptr, /*allow_exceptions=*/false);
  if (!info.is_object()) return;
  const auto operation = info.find("operation");
  if (operation == info.end() || !operation->is_string()) return;
  changes.operation = operation->get<std::string>() + " (" + parametersText(info) + ")";
  changes.knownToChangeNothing = *operation == "MERGE" && changedNoTargetRow(info);
}

}  // namespace

bool CommitChanges::hasAdds() const {
  return std::any_of(files.begin(), files.end(),
                     [](const FileAction& file) { return std::holds_alternative<AddFile>(file); });
}

bool CommitChanges::hasChangeFiles() const {
  return std::any_of(files.begin(), files.end(),
                     [](const FileAction& file) { return std::holds_alternative<AddCdcFile>(file); });
}

const RemoveFile* CommitChanges::firstRemove() const {
  for (const FileAction& file : files) {
    if (const auto* remove = std::get_if<RemoveFile>(&file)) return remove;
  }
  return nullptr;
}

bool CommitChanges::hasDeletionVectors() const {
  return std::any_of(files.begin(), files.end(), [](const FileAction& file) {
    const auto* add = std::get_if<AddFile>(&file);
    const auto* remove = std::get_if<RemoveFile>(&file);
    return (add && add->deletionVector) || (remove && remove->deletionVector);
  });
}

std::optional<CommitChanges> readCommitChanges(FileSystem& fileSystem, const std::string& logPath,
                                               int64_t version) {
  const std::string path = logPath + "/" + commitFileName(version);
  const auto file = fileSystem.stat(path);
  if (!file) return std::nullopt;
  const auto text = readCommitText(fileSystem, path);
  if (!text) return std::nullopt;
  CommitChanges changes;
  changes.version = version;
  changes.fileTimeMs = file->modificationTimeMs;
  changes.sizeBytes = file->sizeBytes;
  bool hasInfo = false;
  readActions(*text, path, [&](Action&& action) {
    if (auto* add = std::get_if<AddFile>(&action)) {
      if (!add->dataChange) return;
      add->stats.reset();
      changes.files.emplace_back(std::move(*add));
    } else if (auto* remove = std::get_if<RemoveFile>(&action)) {
      if (!remove->dataChange) return;
      remove->stats.reset();
      changes.files.emplace_back(std::move(*remove));
    } else if (auto* change = std::get_if<AddCdcFile>(&action)) {
      changes.files.emplace_back(std::move(*change));
    } else if (auto* metadata = std::get_if<Metadata>(&action)) {
      changes.metadata = std::move(*metadata);
    } else if (auto* protocol = std::get_if<Protocol>(&action)) {
      changes.protocol = std::move(*protocol);
    } else if (const auto* info = std::get_if<CommitInfo>(&action); info && !hasInfo) {
      hasInfo = true;
      note(*info, changes);
    }
  });
  return changes;
}

}  // namespace thalweg::delta
