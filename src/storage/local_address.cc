#include "storage/local_address.h"

#include <filesystem>
#include <optional>

#include "common/error.h"
#include "common/options.h"
#include "storage/uri_path.h"

namespace thalweg {
namespace {

// The scheme of an address, lower case, or nothing: "abfss" of "abfss://c@a/x". A ':' after the first '/' is
// part of a name.
std::optional<std::string> schemeOf(std::string_view address) {
  const size_t colon = address.find(':');
  if (colon == std::string_view::npos || colon == 0 || address.find('/') < colon) return std::nullopt;
  for (const char c : address.substr(0, colon)) {
    const bool legal = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '+' || c == '-' || c == '.';
    if (!legal) return std::nullopt;
  }
  return toLowerAscii(address.substr(0, colon));
}

Error badAddress(std::string_view address, const std::string& reason) {
  return Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
               fmt::format("The path '{}' cannot be used: {}", address, reason),
               {{"path", std::string(address)}});
}

// "file:/a", "file:///a", "file://localhost/a", "file:a" → the decoded path.
std::string localPathOfUri(std::string_view address) {
  std::string_view rest = address.substr(address.find(':') + 1);
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    const std::string_view host = rest.substr(0, rest.find('/'));
    if (!host.empty() && host != "localhost") {
      throw badAddress(address, "a file: address names no host; write file:/path.");
    }
    rest.remove_prefix(host.size());
  }
  return decodeUriPath(rest);
}

}  // namespace

std::string localPathOf(std::string_view address) {
  const std::optional<std::string> scheme = schemeOf(address);
  if (scheme && *scheme != "file")
    throw unsupported(fmt::format("the storage scheme '{}:' of {}", *scheme, address));
  std::string path = scheme ? localPathOfUri(address) : std::string(address);
  if (path.empty()) throw badAddress(address, "it is empty.");
  if (path.find('\0') != std::string::npos) throw badAddress(address, "it holds a zero byte.");
  if (path.front() != '/') path = std::filesystem::current_path().string() + "/" + path;
  return normalizeAbsolutePath(path);
}

}  // namespace thalweg
