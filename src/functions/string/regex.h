// Regular expressions as Java writes them, by PCRE2.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

// Used by one thread.
class Regex {
 public:
  // Throws Error INVALID_PARAMETER_VALUE.PATTERN naming `function`.
  Regex(std::string_view pattern, std::string_view function);
  ~Regex();
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  struct Group {
    size_t begin, end;  // npos: the group took no part
  };
  // The first match at or behind byte `from`: its groups, group 0 the whole. False: none. Throws Error where matching takes
  // too many steps.
  bool find(std::string_view text, size_t from, std::vector<Group>* groups) const;
  int numGroups() const { return numGroups_; }
  // A group's number by name; −1 where there is none.
  int groupNumber(const std::string& name) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
  int numGroups_ = 0;
  std::string function_;
};

// Keeps the last pattern compiled: patterns are constants nearly always.
class RegexCache {
 public:
  explicit RegexCache(std::string function) : function_(std::move(function)) {}
  const Regex& get(std::string_view pattern) {
    if (!regex_ || pattern != pattern_) {
      regex_ = std::make_shared<Regex>(pattern, function_);
      pattern_ = pattern;
    }
    return *regex_;
  }

 private:
  std::string function_, pattern_;
  std::shared_ptr<Regex> regex_;
};

}  // namespace thalweg
