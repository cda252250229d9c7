#include "storage/file_uri.h"

#include <arrow/util/utf8.h>

#include "storage/uri_path.h"

namespace thalweg {
namespace {

std::string asciiOnly(const std::string& uri) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string text;
  for (const char raw : uri) {
    const auto c = static_cast<unsigned char>(raw);
    if (c < 0x80) {
      text += raw;
    } else {
      text += '%';
      text += kHex[c >> 4];
      text += kHex[c & 15];
    }
  }
  return text;
}

}  // namespace

std::string shortFileUri(const FileSystem& files, std::string_view path) {
  std::string uri = files.uriOf(path);
  arrow::util::InitializeUTF8();
  return arrow::util::ValidateUTF8(uri) ? uri : asciiOnly(uri);
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
