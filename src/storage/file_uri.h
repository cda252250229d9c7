// A file's address in the two forms in which Spark writes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/file_system.h"

namespace thalweg {

// "file:///data/a%20b.json": logs of sources and sinks, DataFrame.inputFiles. Always valid UTF-8: a name with
// other bytes has all its bytes beyond ASCII as %XX.
std::string fileUri(const FileSystem& files, std::string_view path);
// "file:/data/a%20b.json": _metadata.file_path.
std::string shortFileUri(const FileSystem& files, std::string_view path);
// "file:/data/a b.json": a source's description; nothing is encoded.
std::string displayPath(const FileSystem& files, std::string_view path);

// The path of an address in either of the first two forms; nothing where it is one of another store.
std::optional<std::string> pathOfUri(const FileSystem& files, std::string_view uri);

}  // namespace thalweg
