#include "functions/string/like.h"

#include <unicode/uchar.h>

#include "common/error.h"
#include "functions/string/utf8.h"

namespace thalweg {
namespace {

std::string folded(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); at += characterSize(text, at)) {
    const uint32_t point = codePointAt(text, at);
    if (point >= 0x80 && characterSize(text, at) == 1) out.push_back(text[at]);
    else appendCodePoint(static_cast<uint32_t>(u_tolower(static_cast<UChar32>(point))), &out);
  }
  return out;
}

}  // namespace

LikePattern LikePattern::compile(std::string_view pattern, char escape, bool ignoreCase) {
  LikePattern made;
  made.ignoreCase_ = ignoreCase;
  const std::string foldedPattern = ignoreCase ? folded(pattern) : std::string();
  const std::string_view text = ignoreCase ? std::string_view(foldedPattern) : pattern;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == escape) {
      if (at + 1 == text.size()) {
        throw Error("INVALID_FORMAT.ESC_AT_THE_END", "The LIKE pattern '" + std::string(pattern) + "' ends with its escape character.",
                    {{"format", "'" + std::string(pattern) + "'"}});
      }
      const char next = text[++at];
      if (next != '%' && next != '_' && next != escape) {
        throw Error("INVALID_FORMAT.ESC_IN_THE_MIDDLE",
                    "In the LIKE pattern '" + std::string(pattern) + "' the escape stands before a character that needs none.",
                    {{"format", "'" + std::string(pattern) + "'"}, {"char", "'" + std::string(1, next) + "'"}});
      }
      made.items_.push_back({Kind::Literal, std::string(1, next)});
      ++at;
    } else if (text[at] == '%') {
      if (made.items_.empty() || made.items_.back().kind != Kind::Any) made.items_.push_back({Kind::Any, {}});
      ++at;
    } else if (text[at] == '_') {
      made.items_.push_back({Kind::One, {}});
      ++at;
    } else {
      const size_t size = characterSize(text, at);
      made.items_.push_back({Kind::Literal, std::string(text.substr(at, size))});
      at += size;
    }
  }
  return made;
}

bool LikePattern::matches(std::string_view input) const {
  const std::string foldedInput = ignoreCase_ ? folded(input) : std::string();
  const std::string_view text = ignoreCase_ ? std::string_view(foldedInput) : input;
  size_t at = 0, item = 0;
  size_t resumeItem = items_.size() + 1, resumeAt = 0;  // behind the last %, where the next try begins
  while (at < text.size()) {
    if (item < items_.size() && items_[item].kind == Kind::Any) {
      resumeItem = ++item;
      resumeAt = at;
      continue;
    }
    if (item < items_.size()) {
      const size_t size = characterSize(text, at);
      if (items_[item].kind == Kind::One || text.substr(at, size) == items_[item].literal) {
        at += size;
        ++item;
        continue;
      }
    }
    if (resumeItem > items_.size()) return false;
    resumeAt += characterSize(text, resumeAt);
    at = resumeAt;
    item = resumeItem;
  }
  while (item < items_.size() && items_[item].kind == Kind::Any) ++item;
  return item == items_.size();
}

}  // namespace thalweg
