// LIKE's patterns: % any characters, _ one, an escape before either (or itself).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

class LikePattern {
 public:
  // Throws Error INVALID_FORMAT.ESC_AT_THE_END and INVALID_FORMAT.ESC_IN_THE_MIDDLE.
  static LikePattern compile(std::string_view pattern, char escape, bool ignoreCase);
  // Time is at worst the product of both lengths.
  bool matches(std::string_view text) const;

 private:
  enum class Kind : char { Literal, One, Any };
  struct Item {
    Kind kind;
    std::string literal;  // one character
  };
  std::vector<Item> items_;
  bool ignoreCase_ = false;
};

}  // namespace thalweg
