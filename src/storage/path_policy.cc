#include <climits>

#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "storage/file_system.h"
#include "storage/uri_path.h"

namespace thalweg {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel's own limit

// The target of a symbolic link, or nothing where the path is no link (or is absent).
std::optional<std::string> linkTarget(const std::string& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return std::nullopt;
  char buffer[PATH_MAX];
  const ssize_t length = ::readlink(path.c_str(), buffer, sizeof buffer);
  if (length < 0) return std::nullopt;
  return std::string(buffer, static_cast<size_t>(length));
}

// Resolves every link on the way, dangling ones too: a write through a dangling link would land at its
// target. The part of the path that does not exist is taken as text. Nothing where links run in a circle.
std::optional<std::string> resolveLinks(const std::string& path) {
  std::string rest = path;
  std::string resolved;
  int links = 0;
  size_t position = 0;
  while (position < rest.size()) {
    const size_t start = rest.find_first_not_of('/', position);
    if (start == std::string::npos) break;
    const size_t end = std::min(rest.find('/', start), rest.size());
    const std::string part = rest.substr(start, end - start);
    position = end;
    if (part == ".") continue;
    if (part == "..") {
      resolved.resize(std::min(resolved.rfind('/'), resolved.size()));
      continue;
    }
    const std::string candidate = resolved + "/" + part;
    const std::optional<std::string> target = linkTarget(candidate);
    if (!target) {
      resolved = candidate;
      continue;
    }
    if (++links > kMaxLinks) return std::nullopt;
    if (target->starts_with('/')) resolved.clear();
    rest = *target + rest.substr(end);
    position = 0;
  }
  return resolved.empty() ? "/" : resolved;
}

bool liesBelow(const std::string& path, const std::string& root) {
  if (root == "/" || path == root) return true;
  return path.size() > root.size() && path.starts_with(root) && path[root.size()] == '/';
}

}  // namespace

PathPolicy::PathPolicy(std::vector<std::string> allowedRoots) {
  for (const std::string& root : allowedRoots) {
    const std::optional<std::string> resolved = resolveLinks(normalizeAbsolutePath(root));
    if (!resolved)
      throw Error("PATH_NOT_ALLOWED", "The allowed root " + root + " is a circle of links.",
                  {{"path", root}});
    roots_.push_back(*resolved);
  }
}

void PathPolicy::check(const std::string& path) const {
  if (roots_.empty()) return;
  const std::optional<std::string> resolved = resolveLinks(path);
  if (resolved) {
    for (const std::string& root : roots_) {
      if (liesBelow(*resolved, root)) return;
    }
  }
  throw Error("PATH_NOT_ALLOWED",
              "The path " + path +
                  " is outside the folders that this server may use. Its operator names them at start-up.",
              {{"path", path}});
}

}  // namespace thalweg
