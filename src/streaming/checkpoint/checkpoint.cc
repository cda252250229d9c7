#include "streaming/checkpoint/checkpoint.h"

#include <nlohmann/json.hpp>

#include "common/clock.h"
#include "common/error.h"
#include "common/json_text.h"
#include "common/uuid.h"
#include "storage/resolved_put.h"
#include "storage/temporary_names.h"

namespace thalweg {
namespace {

using Json = nlohmann::ordered_json;

Error corrupt(const std::string& where, const std::string& why) {
  return Error("STREAMING_CHECKPOINT_LOG_CORRUPT", "The checkpoint file " + where + " cannot be read: " + why, {{"path", where}});
}

std::string readOrMakeQueryId(const Location& folder) {
  const std::string path = folder.child("metadata").path;
  if (folder.fileSystem->stat(path)) {
    const auto json = parseOrderedJson(folder.fileSystem->readAll(path));
    if (!json.is_object() || !json.contains("id") || !json["id"].is_string()) throw corrupt(path, "it holds no query id.");
    return json["id"].get<std::string>();
  }
  for (const char* log : {"offsets", "commits"}) {
    for (const FileInfo& file : folder.fileSystem->list(folder.child(log).path)) {
      if (file.name().starts_with(".")) continue;
      throw Error("STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
                  "The checkpoint " + folder.path + " has batches but no 'metadata' file, so its query's id is lost: "
                  "restore the file, or start with a new checkpoint.",
                  {{"checkpointLocation", folder.path}});
    }
  }
  const std::string id = randomUuid();
  folder.fileSystem->makeDirectories(folder.path);
  if (putIfAbsentResolved(*folder.fileSystem, path, "{\"id\":\"" + id + "\"}") == PutOutcome::Done) return id;
  // Someone else began on this folder at the same moment: the id is theirs.
  return readOrMakeQueryId(folder);
}

}  // namespace

std::string formatOffsetEntry(const OffsetEntry& entry) {
  Json head;
  head["batchWatermarkMs"] = entry.watermarkMs;
  head["batchTimestampMs"] = entry.timestampMs;
  head["conf"] = Json::object();
  for (const auto& [key, value] : entry.configuration) head["conf"][key] = value;
  std::string text = toJsonText(head);
  for (const auto& offset : entry.offsets) text += "\n" + offset.value_or("-");
  return text;
}

OffsetEntry parseOffsetEntry(const std::string& text, const std::string& where) {
  OffsetEntry entry;
  size_t at = text.find('\n');
  const auto head = parseOrderedJson(std::string_view(text).substr(0, at));
  if (!head.is_object()) throw corrupt(where, "its second line is no JSON object.");
  try {
    entry.watermarkMs = head.value("batchWatermarkMs", int64_t{0});
    entry.timestampMs = head.value("batchTimestampMs", int64_t{0});
    const Json configuration = head.value("conf", Json::object());
    for (const auto& [key, value] : configuration.items()) entry.configuration[key] = value.get<std::string>();
  } catch (const nlohmann::json::exception& error) {
    throw corrupt(where, error.what());
  }
  while (at != std::string::npos) {
    const size_t next = text.find('\n', at + 1);
    std::string line = text.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    // A newline at the end makes no source.
    if (!line.empty()) entry.offsets.push_back(line == "-" ? std::nullopt : std::optional(std::move(line)));
    else if (next != std::string::npos) throw corrupt(where, "it has an empty line in the place of a source's offset.");
    at = next;
  }
  return entry;
}

Checkpoint::Checkpoint(Location folder)
    : folder_(std::move(folder)),
      queryId_(readOrMakeQueryId(folder_)),
      offsets_(folder_.child("offsets"), {FaultPoint::OffsetLogBefore, FaultPoint::OffsetLogTemp, FaultPoint::OffsetLogAfter}),
      commits_(folder_.child("commits"), {FaultPoint::CommitLogBefore, FaultPoint::CommitLogTemp, FaultPoint::CommitLogAfter}) {}

void Checkpoint::removeAbandonedFiles() {
  FileSystem& files = *folder_.fileSystem;
  std::vector<std::string> folders = {folder_.path, folder_.child("offsets").path, folder_.child("commits").path};
  for (const FileInfo& source : files.list(folder_.child("sources").path)) {
    if (source.isDirectory) folders.push_back(source.path);
  }
  for (const std::string& folder : folders) thalweg::removeAbandonedFiles(files, files.list(folder), systemClock().nowMillis());
}

Location Checkpoint::sourceFolder(int index) const { return folder_.child("sources").child(std::to_string(index)); }

std::optional<OffsetEntry> Checkpoint::readOffsets(int64_t batchId) const {
  const auto text = offsets_.read(batchId);
  if (!text) return std::nullopt;
  return parseOffsetEntry(*text, folder_.child("offsets").child(std::to_string(batchId)).path);
}

std::optional<CommitEntry> Checkpoint::readCommit(int64_t batchId) const {
  const auto text = commits_.read(batchId);
  if (!text) return std::nullopt;
  const auto json = parseOrderedJson(*text);
  if (!json.is_object()) throw corrupt(folder_.child("commits").child(std::to_string(batchId)).path, "it is no JSON object.");
  CommitEntry entry;
  if (auto it = json.find("nextBatchWatermarkMs"); it != json.end() && it->is_number_integer()) entry.nextWatermarkMs = *it;
  return entry;
}

void Checkpoint::writeCommit(int64_t batchId, const CommitEntry& entry) {
  commits_.add(batchId, "{\"nextBatchWatermarkMs\":" + std::to_string(entry.nextWatermarkMs) + "}");
}

}  // namespace thalweg
