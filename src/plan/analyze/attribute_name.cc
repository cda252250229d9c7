#include "plan/analyze/attribute_name.h"

#include <algorithm>

#include "common/error.h"

namespace thalweg {
namespace {

class AttributeNameParser {
 public:
  explicit AttributeNameParser(std::string_view text) : text_(text) {}

  std::vector<std::string> parse() {
    std::vector<std::string> parts;
    while (true) {
      parts.push_back(atBacktick() ? quotedPart() : plainPart());
      if (position_ == text_.size()) return parts;
      if (text_[position_] != '.') refuse();
      ++position_;
      // Nothing is named by a dot at the end, nor between two.
      if (position_ == text_.size() || text_[position_] == '.') refuse();
    }
  }

 private:
  bool atBacktick() const { return position_ < text_.size() && text_[position_] == '`'; }

  std::string plainPart() {
    const size_t begin = position_;
    position_ = std::min(text_.find_first_of(".`", begin), text_.size());
    if (atBacktick() || (begin == 0 && position_ == 0 && !text_.empty())) refuse();
    return std::string(text_.substr(begin, position_ - begin));
  }

  std::string quotedPart() {
    std::string part;
    for (++position_; position_ < text_.size(); ++position_) {
      if (!atBacktick()) {
        part += text_[position_];
        continue;
      }
      ++position_;
      if (!atBacktick()) return part;
      part += '`';
    }
    refuse();
  }

  [[noreturn]] void refuse() const {
    throw Error("INVALID_ATTRIBUTE_NAME_SYNTAX",
                "'" + std::string(text_) +
                    "' is not written as a column's name is: dots part a column from its fields, and a part "
                    "that has dots or backticks of its own stands in backticks, those inside twice.",
                {{"name", std::string(text_)}});
  }

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace

std::vector<std::string> parseAttributeName(std::string_view name) {
  return AttributeNameParser(name).parse();
}

}  // namespace thalweg
