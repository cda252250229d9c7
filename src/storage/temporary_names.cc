#include "storage/temporary_names.h"

#include <algorithm>

#include "common/error.h"
#include "common/logging.h"
#include "common/uuid.h"

namespace thalweg {
namespace {

constexpr std::string_view kSuffix = ".tmp";
constexpr size_t kUuidLength = 36;
constexpr int64_t kAbandonedAfterMs = 24 * 3600 * 1000LL;

}  // namespace

std::string temporaryNameFor(const std::string& path) {
  const size_t slash = path.rfind('/');
  return path.substr(0, slash + 1) + "." + path.substr(slash + 1) + "." + randomUuid() + std::string(kSuffix);
}

bool isTemporaryName(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(kSuffix)) return false;
  name.remove_suffix(kSuffix.size());
  // A dot, a name of one character at least, another dot.
  if (name.size() < kUuidLength + 3) return false;
  const size_t uuid = name.size() - kUuidLength;
  return name[uuid - 1] == '.' && isUuid(name.substr(uuid));
}

void removeAbandonedFiles(FileSystem& fileSystem, const std::vector<FileInfo>& entries, int64_t nowMs) {
  for (const FileInfo& file : entries) {
    if (file.isDirectory || !isTemporaryName(file.name()) ||
        file.modificationTimeMs > nowMs - kAbandonedAfterMs)
      continue;
    try {
      fileSystem.remove(file.path);
    } catch (const Error& error) {
      logWarn("The file {}, which its writer did not finish, stays: {}", file.path, error.text());
    }
  }
}

}  // namespace thalweg
