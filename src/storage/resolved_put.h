// Put-if-absent whose lost answers are looked into: what a caller may build on.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "storage/file_system.h"

namespace thalweg {

// As FileSystem::putIfAbsent, but never Unknown. Where the store lost the answer, the file is read back: with these contents
// it is synced (file and name) and the put is Done; with others another writer was first; where there is none, it is put
// again, a few times. `contents` must be this writer's alone where that tells two writers apart. Throws Error STORAGE_FAILURE
// where the outcome stays unknown or the sync fails: the file may then be there, but a power cut may take it away.
PutOutcome putIfAbsentResolved(FileSystem& fileSystem, const std::string& path, std::string_view contents,
                               const std::function<void()>& temporaryWritten = {});

}  // namespace thalweg
