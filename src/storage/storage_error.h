// Failures of a store as Errors, worded alike everywhere.
#pragma once

#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

#include "common/error.h"

namespace thalweg {

// The Error of a failed system call: PATH_NOT_FOUND for ENOENT, else STORAGE_FAILURE with what was tried
// ("write"), the path and the system's words. A full disk or quota says so. `errorNumber` is errno's value.
Error storageError(int errorNumber, std::string_view action, std::string_view path);

// The same sentence without the Error around it, for Arrow's streams, which report by status.
std::string describeStorageFailure(int errorNumber, std::string_view action, std::string_view path);

// Throws STORAGE_FAILURE naming the path where a status of a stream on it is not OK.
void throwIfStorageFailed(const arrow::Status& status, std::string_view action, std::string_view path);

}  // namespace thalweg
