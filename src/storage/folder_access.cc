#include "storage/folder_access.h"

namespace thalweg {

void forEachEntry(FileSystem& fileSystem, const std::string& directory,
                  const FolderAccess::EntryVisitor& visit) {
  if (auto* folders = dynamic_cast<FolderAccess*>(&fileSystem))
    return folders->visitEntries(directory, visit);
  for (const FileInfo& entry : fileSystem.list(directory)) visit(entry, /*isLink=*/false);
}

bool removeEmptyDirectory(FileSystem& fileSystem, const std::string& directory) {
  auto* folders = dynamic_cast<FolderAccess*>(&fileSystem);
  return folders && folders->removeEmpty(directory);
}

}  // namespace thalweg
