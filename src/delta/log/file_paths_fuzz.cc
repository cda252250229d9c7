// Any two lines as a table's path and a path of its log: the key of a file is one whatever its spelling, and
// names of log files are read or passed over.
#include <cstdint>
#include <string>

#include "common/error.h"
#include "delta/log/file_paths.h"
#include "delta/log/log_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg::delta;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t line = text.find('\n');
  const std::string table = line == std::string::npos ? "/t" : text.substr(0, line);
  const std::string path = line == std::string::npos ? text : text.substr(line + 1);
  const std::string key = canonicalFilePath(path, table);
  if (isCanonicalFilePath(path)) THALWEG_ASSERT(key == path);
  THALWEG_ASSERT(decodeLogPath(path).size() <= path.size());
  if (path.find('%') == std::string::npos) {
    THALWEG_ASSERT(decodeLogPath(path) == path);
    // Where the table's path is one, a file below it has one key by each of its names.
    const bool isPlain = table.size() > 1 && table.front() == '/' && table[1] != '/' && table.back() != '/' &&
                         table.find('%') == std::string::npos && !path.empty() && path.front() != '/' &&
                         !path.starts_with("file:");
    if (isPlain) {
      THALWEG_ASSERT(canonicalFilePath(table + "/" + path, table) == path);
      THALWEG_ASSERT(canonicalFilePath("file:" + table + "/" + path, table) == path);
      THALWEG_ASSERT(canonicalFilePath("file://" + table + "/" + path, table) == path);
    }
  }
  if (const auto name = parseLogFileName(path)) {
    THALWEG_ASSERT(name->version >= 0 && name->endVersion >= name->version);
    if (name->kind == LogFileKind::Commit) THALWEG_ASSERT(parseLogFileName(commitFileName(name->version)));
  }
  return 0;
}
