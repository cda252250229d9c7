// Paths of data files as the log writes them, and the one form under which they are compared.
#pragma once

#include <string>
#include <string_view>

namespace thalweg::delta {

// Percent-decodes once. Raw non-ASCII bytes and stray '%' stay as they are.
std::string decodeLogPath(std::string_view logPath);

// The form in which two spellings of one file are equal: decoded; "file:" and repeated slashes before an
// absolute path dropped; an absolute path below `tablePath` made relative to it. Other schemes stay as they
// are.
std::string canonicalFilePath(std::string_view logPath, std::string_view tablePath);
// Whether a path is its own canonical form, as nearly all are.
bool isCanonicalFilePath(std::string_view logPath);

}  // namespace thalweg::delta
