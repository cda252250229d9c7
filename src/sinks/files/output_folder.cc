#include "sinks/files/output_folder.h"

#include <algorithm>
#include <optional>

#include "common/error.h"
#include "connector/sink_file_log.h"
#include "delta/log/log_files.h"
#include "storage/file_uri.h"
#include "storage/partition_folders.h"

namespace thalweg {
namespace {

// Links may lead a folder back into itself.
constexpr int kMaxDepth = 64;

bool isDirectory(const Location& folder, std::string_view name) {
  const auto info = folder.fileSystem->stat(folder.child(name).path);
  return info && info->isDirectory;
}

// Nothing above the folders that a server may use is a table of its.
bool isTable(const Location& folder) {
  try {
    return isDirectory(folder, delta::kLogFolder);
  } catch (const Error& error) {
    if (error.condition() == "PATH_NOT_ALLOWED") return false;
    throw;
  }
}

std::optional<std::string> tableAround(const Location& folder) {
  Location above = folder;
  while (!above.path.empty() && above.path != "/") {
    if (isTable(above)) return above.path;
    const size_t slash = above.path.rfind('/');
    const std::string_view name = std::string_view(above.path).substr(slash + 1);
    if (slash == std::string::npos || isHiddenName(name)) return std::nullopt;
    above.path.resize(slash);
  }
  return std::nullopt;
}

bool isData(std::string_view name, std::string_view suffix) {
  return name.starts_with("part-") || name.find(suffix) != std::string_view::npos;
}

std::optional<std::string> findData(FileSystem& store, const std::string& folder, std::string_view suffix,
                                    int depth) {
  const auto entries = store.list(folder);
  for (const FileInfo& entry : entries) {
    if (!entry.isDirectory && !isHiddenName(entry.name()) && isData(entry.name(), suffix)) return entry.path;
  }
  if (depth == kMaxDepth) return std::nullopt;
  for (const FileInfo& entry : entries) {
    if (!entry.isDirectory || isHiddenName(entry.name())) continue;
    if (auto found = findData(store, entry.path, suffix, depth + 1)) return found;
  }
  return std::nullopt;
}

}  // namespace

void refuseDeltaTable(const Location& folder, std::string_view format, std::string_view action) {
  const auto table = tableAround(folder);
  if (!table) return;
  const std::string root = displayPath(*folder.fileSystem, *table);
  const std::string path = displayPath(*folder.fileSystem, folder.path);
  throw Error(
      "DELTA_INVALID_FORMAT",
      fmt::format("There is a Delta table at {}: {} {} with format(\"delta\") and not as files of {}, "
                  "which know nothing of its log.",
                  root, action, path, format),
      {{"deltaRootPath", root},
       {"operation", std::string(action)},
       {"path", path},
       {"format", std::string(format)}});
}

void refuseSinkLog(const Location& folder) {
  if (!isDirectory(folder, kSinkLogFolder)) return;
  const std::string path = displayPath(*folder.fileSystem, folder.path);
  throw Error(
      "STREAMING_OUTPUT_FOLDER.BATCH_WRITE",
      fmt::format("The folder {} is the output of a streaming query: its readers take the files that "
                  "{}/{} names, and would never see those of this write. Write into another folder, or "
                  "into a Delta table, which takes both; or overwrite the folder, log and all, once "
                  "its query is given up.",
                  path, path, kSinkLogFolder),
      {{"path", path}});
}

void refuseUnloggedFiles(const Location& folder, std::string_view format) {
  const auto found = findData(*folder.fileSystem, folder.path, "." + std::string(format), 0);
  if (!found) return;
  const std::string path = displayPath(*folder.fileSystem, folder.path);
  const std::string file = displayPath(*folder.fileSystem, *found);
  throw Error(
      "STREAMING_OUTPUT_FOLDER.UNLOGGED_FILES",
      fmt::format("The folder {} has files that no streaming query wrote, {} for one. The query's log in "
                  "{} would hide them from every reader. Stream into another folder and read the two "
                  "together, or move the files away.",
                  path, file, kSinkLogFolder),
      {{"path", path}, {"file", file}});
}

}  // namespace thalweg
