// The option excludeRegex: files whose path in the log it finds a match in are left out.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace thalweg {

// Immutable; any thread.
class ExcludePattern {
 public:
  // Throws Error DELTA_REGEX_OPT_SYNTAX_ERROR.
  explicit ExcludePattern(const std::string& pattern);
  ~ExcludePattern();
  ExcludePattern(const ExcludePattern&) = delete;
  ExcludePattern& operator=(const ExcludePattern&) = delete;

  // Throws Error DELTA_REGEX_OPT_SYNTAX_ERROR where the pattern needs more steps than a path deserves.
  bool matches(std::string_view path) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace thalweg
