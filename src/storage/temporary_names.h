// Files in the making: hidden, beside the file that they become, and of one writer alone. Spark's writers of
// checkpoints name theirs alike. A writer that is killed leaves its file behind, which no reader looks at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/file_system.h"

namespace thalweg {

// "/c/offsets/.7.<uuid>.tmp" for "/c/offsets/7": another one at each call.
std::string temporaryNameFor(const std::string& path);
// Is a file's name (not its path) such a one?
bool isTemporaryName(std::string_view name);

// Of a folder's entries, as FileSystem::list gives them, removes the files in the making whose writer is
// dead: untouched for a day before `nowMs`. Failures are logged, for nothing depends on it.
void removeAbandonedFiles(FileSystem& fileSystem, const std::vector<FileInfo>& entries, int64_t nowMs);

}  // namespace thalweg
