#include "storage/storage_error.h"

#include <cerrno>
#include <system_error>

#include <arrow/status.h>

namespace thalweg {

std::string describeStorageFailure(int errorNumber, std::string_view action, std::string_view path) {
  if (errorNumber == ENOSPC) {
    return fmt::format("Cannot {} {}: the disk is full. Free space on its file system, then run again.",
                       action, path);
  }
  if (errorNumber == EDQUOT) {
    return fmt::format("Cannot {} {}: the disk quota is used up. Free space, then run again.", action, path);
  }
  return fmt::format("Cannot {} {}: {}.", action, path, std::generic_category().message(errorNumber));
}

Error storageError(int errorNumber, std::string_view action, std::string_view path) {
  if (errorNumber == ENOENT) {
    return Error("PATH_NOT_FOUND", fmt::format("Cannot {} {}: it does not exist.", action, path),
                 {{"path", std::string(path)}});
  }
  return Error("STORAGE_FAILURE", describeStorageFailure(errorNumber, action, path),
               {{"path", std::string(path)}});
}

void throwIfStorageFailed(const arrow::Status& status, std::string_view action, std::string_view path) {
  if (status.ok()) return;
  // A stream of ours has said what and where already (describeStorageFailure).
  const std::string& message = status.message();
  throw Error("STORAGE_FAILURE", message.starts_with("Cannot ") ? message : fmt::format("Cannot {} {}: {}", action, path, message),
              {{"path", std::string(path)}});
}

}  // namespace thalweg
