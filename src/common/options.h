// Options of a source, sink or format as a client gives them: case-insensitive names, text values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace thalweg {

// A value type; lookups ignore ASCII case, the spelling given last is kept. Typed getters throw Error with kind
// IllegalArgument, naming the option and what it takes, where a value does not parse.
class Options {
 public:
  Options() = default;
  Options(std::initializer_list<std::pair<std::string, std::string>> entries);

  void set(std::string name, std::string value);
  void erase(std::string_view name);
  bool has(std::string_view name) const;
  std::optional<std::string> get(std::string_view name) const;
  std::string getOr(std::string_view name, std::string_view fallback) const;
  std::optional<int64_t> getLong(std::string_view name) const;
  bool getBool(std::string_view name, bool fallback) const;

  struct Entry {
    std::string name;  // as the client spelled it
    std::string value;
  };
  // Keyed by the lower-case name.
  const std::map<std::string, Entry>& entries() const { return entries_; }

 private:
  std::map<std::string, Entry> entries_;
};

// A duration as settings have it, in milliseconds: a plain number is milliseconds; us, ms, s, m or min, h and d are units
// ("10s", "10 s"); microseconds are cut. Empty where the text is none, negative or too large.
std::optional<int64_t> parseDurationMs(std::string_view text);

std::string toLowerAscii(std::string_view text);
bool equalsIgnoreCase(std::string_view left, std::string_view right);

}  // namespace thalweg
