// Folders as local disk has them: entries one by one, links told apart, empty folders taken away.
#pragma once

#include <functional>
#include <string>

#include "storage/file_system.h"

namespace thalweg {

// Beside FileSystem, implemented by stores that have real folders. Any thread.
class FolderAccess {
 public:
  virtual ~FolderAccess() = default;
  // `isLink`: the entry's facts are those of what it leads to.
  using EntryVisitor = std::function<void(const FileInfo& entry, bool isLink)>;
  virtual void visitEntries(const std::string& directory, const EntryVisitor& visit) = 0;
  virtual bool removeEmpty(const std::string& directory) = 0;
};

// The entries directly below a directory, in any order; where the store has real folders, none is held.
void forEachEntry(FileSystem& fileSystem, const std::string& directory,
                  const FolderAccess::EntryVisitor& visit);

// False, and nothing happens, where something is in it, where it is none any more, or where folders are but
// parts of files' names.
bool removeEmptyDirectory(FileSystem& fileSystem, const std::string& directory);

}  // namespace thalweg
