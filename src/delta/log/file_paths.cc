#include "delta/log/file_paths.h"

#include "common/hex.h"

namespace thalweg::delta {
std::string decodeLogPath(std::string_view logPath) {
  if (logPath.find('%') == std::string_view::npos) return std::string(logPath);
  std::string out;
  out.reserve(logPath.size());
  for (size_t i = 0; i < logPath.size(); ++i) {
    if (logPath[i] == '%' && i + 2 < logPath.size()) {
      const int high = hexDigit(logPath[i + 1]);
      const int low = hexDigit(logPath[i + 2]);
      if (high >= 0 && low >= 0) {
        out += static_cast<char>(high * 16 + low);
        i += 2;
        continue;
      }
    }
    out += logPath[i];
  }
  return out;
}

bool isCanonicalFilePath(std::string_view logPath) {
  return !logPath.starts_with('/') && !logPath.starts_with("file:") &&
         logPath.find('%') == std::string_view::npos;
}

std::string canonicalFilePath(std::string_view logPath, std::string_view tablePath) {
  std::string path = decodeLogPath(logPath);
  if (path.starts_with("file:")) path.erase(0, 5);
  if (!path.starts_with('/')) return path;
  path.erase(0, path.find_first_not_of('/') == std::string::npos ? path.size() - 1
                                                                 : path.find_first_not_of('/') - 1);
  if (!tablePath.empty() && path.size() > tablePath.size() + 1 && path.starts_with(tablePath) &&
      path[tablePath.size()] == '/') {
    path.erase(0, tablePath.size() + 1);
  }
  return path;
}

}  // namespace thalweg::delta
