#include "storage/local_address.h"
#include "storage/local_file_system.h"

namespace thalweg {
std::string_view FileInfo::name() const {
  const std::string_view whole = path;
  return whole.substr(whole.rfind('/') + 1);
}

Location Location::child(std::string_view name) const {
  return {fileSystem, (path == "/" ? "" : path) + "/" + std::string(name)};
}

FileSystemRegistry::FileSystemRegistry(PathPolicy policy)
    : policy_(std::move(policy)), local_(makeLocalFileSystem(policy_)) {}

Location FileSystemRegistry::resolve(std::string_view address) const {
  std::string path = localPathOf(address);
  policy_.check(path);
  return {local_, std::move(path)};
}

}  // namespace thalweg
