// Which files a path or pattern names, by Spark's rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/cancellation.h"
#include "sources/files/file_source_options.h"
#include "storage/file_system.h"

namespace thalweg {

struct ListedFile {
  std::string path;  // decoded
  int64_t sizeBytes = 0;
  int64_t modificationTimeMs = 0;
};

// A folder tree to list: a path or pattern with where partition folders begin.
struct FileRoot {
  Location location;       // its path may be a pattern
  std::string basePath;    // folders behind it are partition folders; as many names as the path or option has
  bool recursive = false;  // recursiveFileLookup: no folder says a column

  // Throws Error INVALID_OPTION where the option basePath does not lead to the path.
  static FileRoot make(Location location, const FileListOptions& options, const FileSystemRegistry& registry);

  // The folders "k=v" on the way from the base to a file, outermost first, as text; those of a file directly
  // named are none. Spark's walk: from the file up, until a folder without '='.
  std::vector<std::string> partitionFolders(std::string_view filePath) const;
};

// The files of a root in the order of their paths. Names that begin with '_' (unless they hold '=') or '.'
// are left out, so are those that end in ._COPYING_; without partition folders only files directly in the
// named folders count, unless recursive. Of the output of a file sink, named without a pattern, the files in
// its log count, as the log describes them. `found` says whether the path, or anything for the pattern,
// exists. Throws STORAGE_FAILURE for a folder that cannot be read, STREAMING_CHECKPOINT_LOG_CORRUPT.
std::vector<ListedFile> listFiles(const FileRoot& root, const FileListOptions& options,
                                  const CancellationToken* cancellation, bool* found = nullptr);

}  // namespace thalweg
