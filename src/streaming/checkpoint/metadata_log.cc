#include "streaming/checkpoint/metadata_log.h"

#include <algorithm>
#include <charconv>

#include "common/error.h"
#include "storage/resolved_put.h"

namespace thalweg {
namespace {

std::optional<int64_t> parseBatchId(std::string_view name) {
  int64_t id = 0;
  auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (name.empty() || status != std::errc() || end != name.data() + name.size() || id < 0) return std::nullopt;
  // There is no batch behind the last number.
  if (id == INT64_MAX) return std::nullopt;
  return id;
}

}  // namespace

MetadataLog::MetadataLog(Location folder, FaultPoints faultPoints) : folder_(std::move(folder)), faultPoints_(faultPoints) {}

std::string MetadataLog::pathOf(int64_t batchId) const { return folder_.child(std::to_string(batchId)).path; }

std::vector<int64_t> MetadataLog::batchIds() const {
  std::vector<int64_t> ids;
  for (const FileInfo& file : folder_.fileSystem->list(folder_.path)) {
    if (const auto id = parseBatchId(file.name()); id && !file.isDirectory) ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::optional<int64_t> MetadataLog::latest() const {
  const auto ids = batchIds();
  return ids.empty() ? std::nullopt : std::optional(ids.back());
}

bool MetadataLog::has(int64_t batchId) const { return folder_.fileSystem->stat(pathOf(batchId)).has_value(); }

std::optional<std::string> MetadataLog::read(int64_t batchId) const {
  const std::string path = pathOf(batchId);
  if (!folder_.fileSystem->stat(path)) return std::nullopt;
  const std::string text = folder_.fileSystem->readAll(path);
  const size_t lineEnd = text.find('\n');
  const std::string version = text.substr(0, lineEnd);
  if (version == "v2") throw unsupported("the checkpoint file " + path + " of version v2");
  if (version != "v1") {
    throw Error("STREAMING_CHECKPOINT_LOG_CORRUPT",
                "The checkpoint file " + path + " starts with '" + version.substr(0, 40) +
                    "' instead of a version that this engine reads (v1); it is damaged or of a newer Spark.",
                {{"path", path}});
  }
  if (lineEnd == std::string::npos) {
    throw Error("STREAMING_CHECKPOINT_LOG_CORRUPT", "The checkpoint file " + path + " ends after its version line: it is cut short.",
                {{"path", path}});
  }
  return text.substr(lineEnd + 1);
}

void MetadataLog::add(int64_t batchId, const std::string& text) {
  const std::string path = pathOf(batchId);
  const std::string contents = "v1\n" + text;
  passFaultPoint(faultPoints_.before);
  const PutOutcome outcome =
      putIfAbsentResolved(*folder_.fileSystem, path, contents, [&] { passFaultPoint(faultPoints_.temporary); });
  if (outcome == PutOutcome::AlreadyExists) {
    throw Error("CONCURRENT_STREAM_LOG_UPDATE",
                "Batch " + std::to_string(batchId) + " was already written to " + folder_.path +
                    ": another query runs on this checkpoint. Stop one of the two.",
                {{"batchId", std::to_string(batchId)}, {"path", path}});
  }
  passFaultPoint(faultPoints_.after);
}

void MetadataLog::purgeBelow(int64_t batchId) {
  for (int64_t id : batchIds()) {
    if (id >= batchId) return;
    passFaultPoint(FaultPoint::PurgeBefore);
    folder_.fileSystem->remove(pathOf(id));
  }
}

}  // namespace thalweg
