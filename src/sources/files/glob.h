// Path patterns as Hadoop reads them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/file_system.h"

namespace thalweg {

// A pattern for one name: * any text, ? one character, [a-c] and [^a-c] sets, {x,y} alternatives (nested
// too), \ takes the next character as it is. Matches bytes, ? and sets whole UTF-8 characters. Immutable,
// safe on any thread.
class GlobPattern {
 public:
  // Throws Error INVALID_OPTION where a bracket or brace is not closed, or there are too many alternatives.
  explicit GlobPattern(std::string_view pattern);
  bool matches(std::string_view name) const;

 private:
  std::vector<std::string> alternatives_;  // without braces
};

// True where a path holds one of * ? [ {.
bool isGlob(std::string_view path);

// What exists of a path or pattern, sorted; a pattern's hidden names (_x, .x) are left out unless it names
// them. An absolute path; braces may span several folders ("/a/{b/c,d}").
std::vector<FileInfo> expandGlob(FileSystem& files, const std::string& path);

}  // namespace thalweg
