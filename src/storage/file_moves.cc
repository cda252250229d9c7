#include "storage/file_moves.h"

namespace thalweg {

void moveFile(FileSystem& fileSystem, const std::string& from, const std::string& to) {
  if (auto* moves = dynamic_cast<FileMoves*>(&fileSystem)) return moves->moveFile(from, to);
  fileSystem.writeAtomically(to, fileSystem.readAll(from));
  fileSystem.remove(from);
}

}  // namespace thalweg
