#include "storage/file_uri.h"

#include <arrow/util/utf8.h>

#include "storage/uri_path.h"

namespace thalweg {
namespace {

bool isAscii(unsigned char c) {
  return c < 0x80;
}

}  // namespace

std::string shortFileUri(const FileSystem& files, std::string_view path) {
  std::string uri = files.uriOf(path);
  arrow::util::InitializeUTF8();
  return arrow::util::ValidateUTF8(uri) ? uri : percentEncoded(uri, isAscii);
}

std::string fileUri(const FileSystem& files, std::string_view path) {
  std::string uri = shortFileUri(files, path);
  const size_t slash = uri.find(":/");
  if (slash != std::string::npos && !std::string_view(uri).substr(slash).starts_with("://"))
    uri.insert(slash + 1, "//");
  return uri;
}

std::string displayPath(const FileSystem& files, std::string_view path) {
  const std::string root = files.uriOf("/");
  return root.substr(0, root.size() - 1) + std::string(path);
}

std::optional<std::string> pathOfUri(const FileSystem& files, std::string_view uri) {
  const std::string root = files.uriOf("/");
  const std::string_view scheme = std::string_view(root).substr(0, root.size() - 1);
  if (!uri.starts_with(scheme)) return std::nullopt;
  uri.remove_prefix(scheme.size());
  if (uri.starts_with("///")) uri.remove_prefix(2);
  if (!uri.starts_with('/') || uri.starts_with("//")) return std::nullopt;
  return normalizeAbsolutePath(decodeUriPath(uri));
}

}  // namespace thalweg
