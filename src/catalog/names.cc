#include "catalog/names.h"

#include <algorithm>

#include "common/error.h"
#include "common/options.h"

namespace thalweg {
namespace {

std::string quotedPart(std::string_view part) {
  std::string quoted = "`";
  for (const char c : part) quoted += c == '`' ? "``" : std::string(1, c);
  return quoted + "`";
}

Error tooManyParts(const std::vector<std::string>& parts) {
  return Error(
      "REQUIRES_SINGLE_PART_NAMESPACE",
      "The name " + quotedName(parts) + " has too many parts: " + std::string(kSessionCatalog) +
          " has schemas of one level, so that a table is `schema`.`table`, and there is no other catalog.",
      {{"sessionCatalog", std::string(kSessionCatalog)}, {"identifier", quotedName(parts)}});
}

// '*' against any run of characters, the rest letter by letter; both are in lower case.
bool matchesOne(std::string_view pattern, std::string_view name) {
  size_t p = 0;
  size_t n = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::string SchemaName::quoted() const {
  return quotedName({catalog, schema});
}
std::string TableName::quoted() const {
  return quotedName({catalog, schema, table});
}
std::string TableName::shortQuoted() const {
  return quotedName({schema, table});
}
std::string TableName::dotted() const {
  return catalog + "." + schema + "." + table;
}

TableName qualifyTable(const std::vector<std::string>& parts, const NameScope& scope) {
  THALWEG_ASSERT(!parts.empty());
  std::vector<std::string> names = parts;
  std::string catalog = scope.catalog;
  if (names.size() > 2 && equalsIgnoreCase(names[0], kSessionCatalog)) {
    catalog = kSessionCatalog;
    names.erase(names.begin());
  }
  if (names.size() > 2) throw tooManyParts(parts);
  if (names.size() == 1) return {catalog, scope.schema, toLowerAscii(names[0])};
  return {catalog, toLowerAscii(names[0]), toLowerAscii(names[1])};
}

SchemaName qualifySchema(const std::vector<std::string>& parts, const NameScope& scope) {
  THALWEG_ASSERT(!parts.empty());
  if (parts.size() == 1) return {scope.catalog, toLowerAscii(parts[0])};
  if (parts.size() == 2 && equalsIgnoreCase(parts[0], kSessionCatalog))
    return {std::string(kSessionCatalog), toLowerAscii(parts[1])};
  throw tooManyParts(parts);
}

void checkNewName(std::string_view name) {
  const bool valid = !name.empty() && name.size() <= 255 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (valid) return;
  throw Error("INVALID_SCHEMA_OR_RELATION_NAME",
              quotedPart(name) +
                  " cannot name a table or schema: take letters from a to z, digits and _, at most 255.",
              {{"name", quotedPart(name)}});
}

std::string quotedName(const std::vector<std::string>& parts) {
  std::string quoted;
  for (const std::string& part : parts) quoted += (quoted.empty() ? "" : ".") + quotedPart(part);
  return quoted;
}

bool matchesPattern(std::string_view pattern, std::string_view name) {
  const std::string patterns = toLowerAscii(pattern);
  const std::string wanted = toLowerAscii(name);
  for (size_t at = 0; at <= patterns.size();) {
    const size_t bar = std::min(patterns.find('|', at), patterns.size());
    if (matchesOne(trimmed(std::string_view(patterns).substr(at, bar - at)), wanted)) return true;
    at = bar + 1;
  }
  return false;
}

}  // namespace thalweg
