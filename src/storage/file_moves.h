// Files that appear whole under their names: written elsewhere first, then moved.
#pragma once

#include <string>

#include "storage/file_system.h"

namespace thalweg {

// Implemented, beside FileSystem, by stores that can rename a file. Any thread.
class FileMoves {
 public:
  virtual ~FileMoves() = default;
  virtual void moveFile(const std::string& from, const std::string& to) = 0;
};

// Gives a durable file another name on the same store, whose folders are made as needed; one of that name is
// replaced. A reader sees the old state or the new one; durable on return. Where the store cannot rename, the
// file is written anew in memory's bounds (objects appear whole anyway) and the old one removed. Throws Error
// PATH_NOT_FOUND, STORAGE_FAILURE.
void moveFile(FileSystem& fileSystem, const std::string& from, const std::string& to);

}  // namespace thalweg
