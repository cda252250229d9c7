// The local disk, held to a policy.
#pragma once

#include <memory>

#include "storage/file_system.h"

namespace thalweg {

// As makeLocalFileSystem, but every call checks its path first: a link that a listing or a table's log leads to is judged
// where it is used. Calls throw Error PATH_NOT_ALLOWED.
std::shared_ptr<FileSystem> makeLocalFileSystem(PathPolicy policy);

}  // namespace thalweg
