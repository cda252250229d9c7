// The options of the file formats' readers, apart from those of the formats themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/options.h"
#include "sources/files/glob.h"
#include "types/time_zone.h"

namespace thalweg {

// Which files count.
struct FileListOptions {
  // `zone` is of modifiedBefore and modifiedAfter unless the option timeZone is given. Throws Error
  // INVALID_OPTION naming the option.
  static FileListOptions parse(const Options& options, const std::string& sessionZone);

  bool recursive = false;                 // recursiveFileLookup: every folder below, no partition columns
  std::optional<GlobPattern> nameFilter;  // pathGlobFilter
  std::optional<std::string> basePath;
  std::optional<int64_t> modifiedBeforeMs;
  std::optional<int64_t> modifiedAfterMs;
  bool ignoreMissingFiles = false;
  bool ignoreCorruptFiles = false;
};

// How a stream takes files.
struct FileStreamOptions {
  // Throws Error INVALID_OPTION for values that do not fit and for options that a stream cannot have;
  // unsupported() for cleanSource other than off.
  static FileStreamOptions parse(const Options& options);

  std::optional<int64_t> maxFilesPerTrigger;
  std::optional<int64_t> maxBytesPerTrigger;
  bool latestFirst = false;
  int64_t maxFileAgeMs = 0;
  bool fileNameOnly = false;
  int64_t maxCachedFiles = 10'000;
  double discardCachedInputRatio = 0.2;
};

}  // namespace thalweg
