// Where the deletion vectors of a table lie.
#pragma once

#include <string>

namespace thalweg::delta {

// The path below the table, decoded, of the file that holds a vector of storage type "u". Throws Error
// DELTA_DELETION_VECTOR_INVALID.
std::string relativeVectorPath(const std::string& pathOrInlineDv);

}  // namespace thalweg::delta
