// Addresses of local files: "/a/b", "file:/a/b", "file:///a/b", and relative paths.
#pragma once

#include <string>
#include <string_view>

namespace thalweg {

// The absolute, normalised, decoded path; relative ones are taken from the process's working directory.
// Throws Error UNSUPPORTED_FEATURE for other schemes (abfss, s3, …) and INVALID_OPTION for what names no
// file.
std::string localPathOf(std::string_view address);

}  // namespace thalweg
