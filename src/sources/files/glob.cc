#include "sources/files/glob.h"

#include <algorithm>
#include <optional>

#include "common/error.h"
#include "storage/uri_path.h"

namespace thalweg {
namespace {

constexpr size_t kMaxAlternatives = 10'000;

[[noreturn]] void refuse(std::string_view pattern, std::string_view reason) {
  throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
              fmt::format("The path pattern '{}' cannot be used: {}.", pattern, reason),
              {{"path", std::string(pattern)}});
}

// Where the brace opened at `open` closes, the places of its own commas in `commas`.
size_t closingBrace(std::string_view pattern, size_t open, std::vector<size_t>* commas) {
  int depth = 0;
  for (size_t i = open; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\') {
      ++i;
    } else if (c == '{') {
      ++depth;
    } else if (c == ',' && depth == 1) {
      commas->push_back(i);
    } else if (c == '}' && --depth == 0) {
      return i;
    }
  }
  refuse(pattern, "a '{' is not closed");
}

// Written out with a worklist: patterns come from users, so depth must not be the stack's.
std::vector<std::string> withoutBraces(std::string_view pattern) {
  std::vector<std::string> done;
  std::vector<std::string> open{std::string(pattern)};
  while (!open.empty()) {
    const std::string current = std::move(open.back());
    open.pop_back();
    size_t brace = 0;
    while (brace < current.size() && current[brace] != '{') brace += current[brace] == '\\' ? 2 : 1;
    if (brace >= current.size()) {
      done.push_back(current);
      continue;
    }
    std::vector<size_t> ends;
    const size_t close = closingBrace(current, brace, &ends);
    ends.push_back(close);
    size_t begin = brace + 1;
    for (const size_t end : ends) {
      open.push_back(current.substr(0, brace) + current.substr(begin, end - begin) +
                     current.substr(close + 1));
      begin = end + 1;
    }
    if (open.size() + done.size() > kMaxAlternatives) refuse(pattern, "it has too many alternatives");
  }
  return done;
}

size_t characterLength(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t length = lead >= 0xf0 ? 4 : (lead >= 0xe0 ? 3 : (lead >= 0xc0 ? 2 : 1));
  return std::min(length, text.size() - at);
}

// The set that begins at pattern[at] == '[': whether `character` is in it, and where it ends.
bool inSet(std::string_view pattern, size_t at, std::string_view character, size_t* next) {
  size_t i = at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '^' || pattern[i] == '!');
  if (negated) ++i;
  bool found = false;
  for (bool first = true; i < pattern.size() && (first || pattern[i] != ']'); first = false) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    const std::string_view low = pattern.substr(i, characterLength(pattern, i));
    i += low.size();
    std::string_view high = low;
    if (i + 1 < pattern.size() && pattern[i] == '-' && pattern[i + 1] != ']') {
      high = pattern.substr(i + 1, characterLength(pattern, i + 1));
      i += 1 + high.size();
    }
    // UTF-8 sorts as its code points do.
    found = found || (low <= character && character <= high);
  }
  *next = i + 1;
  return found != negated;
}

void checkSets(std::string_view pattern, std::string_view whole) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (pattern[i] == '[') {
      size_t next = 0;
      inSet(pattern, i, "x", &next);
      if (next > pattern.size()) refuse(whole, "a '[' is not closed");
      i = next - 1;
    }
  }
}

// One step at `at`, not a star: whether it takes the character, and where the pattern goes on.
bool takes(std::string_view pattern, size_t at, std::string_view character, size_t* next) {
  if (pattern[at] == '?') {
    *next = at + 1;
    return true;
  }
  if (pattern[at] == '[') return inSet(pattern, at, character, next);
  if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
  const size_t length = characterLength(pattern, at);
  *next = at + length;
  return pattern.substr(at, length) == character;
}

bool matchesSimple(std::string_view pattern, std::string_view name) {
  size_t p = 0;
  size_t n = 0;
  std::optional<size_t> star;  // where to go on behind the last star
  size_t starName = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      starName = n;
      continue;
    }
    const size_t length = characterLength(name, n);
    size_t next = 0;
    if (p < pattern.size() && takes(pattern, p, name.substr(n, length), &next)) {
      p = next;
      n += length;
      continue;
    }
    if (!star) return false;
    p = *star;
    starName += characterLength(name, starName);
    n = starName;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string unescaped(std::string_view pattern) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    text += pattern[i];
  }
  return text;
}

bool hidden(std::string_view name) {
  return name.starts_with('_') || name.starts_with('.');
}

void expandSimple(FileSystem& files, const std::string& path, std::vector<FileInfo>* found) {
  std::vector<std::string> folders{""};
  size_t begin = 1;
  while (begin < path.size()) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    begin = end + 1;
    std::vector<std::string> next;
    if (!isGlob(part)) {
      for (const std::string& folder : folders) next.push_back(folder + "/" + unescaped(part));
    } else {
      const GlobPattern pattern(part);
      for (const std::string& folder : folders) {
        const auto info = files.stat(folder.empty() ? "/" : folder);
        if (!info || !info->isDirectory) continue;
        for (const FileInfo& entry : files.list(folder.empty() ? "/" : folder)) {
          if (hidden(entry.name()) && !hidden(part)) continue;
          if (pattern.matches(entry.name())) next.push_back(entry.path);
        }
      }
    }
    folders = std::move(next);
  }
  for (const std::string& folder : folders) {
    if (auto info = files.stat(folder.empty() ? "/" : folder)) found->push_back(std::move(*info));
  }
}

}  // namespace

GlobPattern::GlobPattern(std::string_view pattern) : alternatives_(withoutBraces(pattern)) {
  for (const std::string& alternative : alternatives_) checkSets(alternative, pattern);
}

bool GlobPattern::matches(std::string_view name) const {
  return std::any_of(alternatives_.begin(), alternatives_.end(),
                     [&](const std::string& alternative) { return matchesSimple(alternative, name); });
}

bool isGlob(std::string_view path) {
  return path.find_first_of("*?[{") != std::string_view::npos;
}

std::vector<FileInfo> expandGlob(FileSystem& files, const std::string& path) {
  std::vector<FileInfo> found;
  if (!isGlob(path)) {
    if (auto info = files.stat(path)) found.push_back(std::move(*info));
    return found;
  }
  for (const std::string& alternative : withoutBraces(path)) {
    expandSimple(files, normalizeAbsolutePath(alternative), &found);
  }
  std::sort(found.begin(), found.end(), [](const FileInfo& a, const FileInfo& b) { return a.path < b.path; });
  found.erase(std::unique(found.begin(), found.end(),
                          [](const FileInfo& a, const FileInfo& b) { return a.path == b.path; }),
              found.end());
  return found;
}

}  // namespace thalweg
