#include "sql/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include "common/error.h"
#include "common/options.h"

namespace thalweg::sql {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWordByte(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Longest first within one first character.
constexpr std::array<std::string_view, 15> kLongSymbols = {"<=>", "<<", "<=", "<>", ">=", "==", "=>", "!=",
                                                           "!<",  "!>", "||", "|>", "->", "::", "*/"};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    for (;;) {
      skipBlanksAndComments();
      Token token = next();
      tokens.push_back(token);
      behindSelect_ = token.kind == TokenKind::Hint ||
                      (token.kind == TokenKind::Word && equalsIgnoreCase(token.text, "select"));
      if (token.kind == TokenKind::End) return tokens;
    }
  }

 private:
  char at(size_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }

  [[noreturn]] void fail(size_t start, size_t stop) const { SyntaxErrorPlace(text_, start, stop).raise(); }

  Token token(TokenKind kind, size_t stop) {
    Token result{kind, position_, stop, text_.substr(position_, stop - position_)};
    position_ = stop;
    return result;
  }

  void skipBlanksAndComments() {
    for (;;) {
      const char c = at(position_);
      if (position_ < text_.size() && std::isspace(static_cast<unsigned char>(c))) {
        ++position_;
      } else if (c == '-' && at(position_ + 1) == '-') {
        while (position_ < text_.size() && text_[position_] != '\n') ++position_;
      } else if (atHint()) {
        return;
      } else if (c == '/' && at(position_ + 1) == '*') {
        skipBracketedComment();
      } else {
        return;
      }
    }
  }

  bool atHint() const { return behindSelect_ && text_.substr(position_, 3) == "/*+"; }

  Token hint() {
    const size_t close = text_.find("*/", position_);
    if (close == std::string_view::npos) fail(position_, text_.size());
    return token(TokenKind::Hint, close + 2);
  }

  // Bracketed comments nest.
  void skipBracketedComment() {
    const size_t start = position_;
    int depth = 0;
    do {
      if (position_ >= text_.size()) {
        throw Error("UNCLOSED_BRACKETED_COMMENT", "A comment that begins with /* is not closed: add */ at its end.")
            .withQueryContext({std::string(text_.substr(start)), static_cast<int>(start),
                               static_cast<int>(text_.size()) - 1});
      }
      if (text_[position_] == '/' && at(position_ + 1) == '*') {
        ++depth;
        position_ += 2;
      } else if (text_[position_] == '*' && at(position_ + 1) == '/') {
        --depth;
        position_ += 2;
      } else {
        ++position_;
      }
    } while (depth > 0);
  }

  Token next() {
    if (position_ >= text_.size()) return {TokenKind::End, text_.size(), text_.size(), {}};
    const char c = text_[position_];
    if (atHint()) return hint();
    if (lower(c) == 'r' && (at(position_ + 1) == '\'' || at(position_ + 1) == '"')) return rawString();
    if (c == '\'' || c == '"') return quoted();
    if (c == '`') return quotedWord();
    if (isDigit(c) || (c == '.' && isDigit(at(position_ + 1)) && !followsName())) return numberOrWord();
    if (isWordByte(c)) return token(TokenKind::Word, wordEnd(position_));
    return symbol();
  }

  // A dot right behind a name, ']' or ')' is a field access, even before a digit.
  bool followsName() const {
    return position_ > 0 && (isWordByte(text_[position_ - 1]) || text_[position_ - 1] == '`' ||
                             text_[position_ - 1] == ']' || text_[position_ - 1] == ')');
  }

  size_t wordEnd(size_t from) const {
    while (from < text_.size() && isWordByte(text_[from])) ++from;
    return from;
  }

  Token rawString() {
    const size_t close = text_.find(text_[position_ + 1], position_ + 2);
    if (close == std::string_view::npos) fail(position_, text_.size());
    return token(TokenKind::String, close + 1);
  }

  Token quoted() {
    const char quote = text_[position_];
    for (size_t i = position_ + 1; i < text_.size(); ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (text_[i] == quote) {
        if (at(i + 1) != quote) return token(TokenKind::String, i + 1);
        ++i;
      }
    }
    fail(position_, text_.size());
  }

  Token quotedWord() {
    for (size_t i = position_ + 1; i < text_.size(); ++i) {
      if (text_[i] != '`') continue;
      if (at(i + 1) != '`') return token(TokenKind::QuotedWord, i + 1);
      ++i;
    }
    fail(position_, text_.size());
  }

  // The longest of number and word wins: 1a and 1_000 are words, 1L and 2e3 numbers.
  Token numberOrWord() {
    size_t end = position_;
    while (isDigit(at(end))) ++end;
    bool fraction = false;
    if (at(end) == '.' && !(at(end + 1) == '.')) {
      size_t behind = end + 1;
      while (isDigit(at(behind))) ++behind;
      fraction = true;
      end = behind;
    }
    end = exponentEnd(end);
    const size_t suffix = suffixEnd(end);
    if (!isWordByte(at(suffix)) || suffix >= text_.size()) return token(TokenKind::Number, suffix);
    if (fraction) fail(position_, wordEnd(suffix));
    return token(TokenKind::Word, wordEnd(position_));
  }

  size_t exponentEnd(size_t from) const {
    if (lower(at(from)) != 'e') return from;
    size_t end = from + 1;
    if (at(end) == '+' || at(end) == '-') ++end;
    if (!isDigit(at(end))) return from;
    while (isDigit(at(end))) ++end;
    return end;
  }

  size_t suffixEnd(size_t from) const {
    const char first = lower(at(from));
    if (first == 'b' && lower(at(from + 1)) == 'd') return from + 2;
    return first && std::string_view("lsydf").find(first) != std::string_view::npos ? from + 1 : from;
  }

  Token symbol() {
    const std::string_view rest = text_.substr(position_);
    for (std::string_view symbol : kLongSymbols) {
      if (rest.starts_with(symbol)) return token(TokenKind::Symbol, position_ + symbol.size());
    }
    // A byte that nothing uses is a symbol too: SET's values may hold it, elsewhere the parser refuses it.
    return token(TokenKind::Symbol, position_ + 1);
  }

  std::string_view text_;
  size_t position_ = 0;
  bool behindSelect_ = false;
};

void appendUtf8(std::string& out, uint32_t codePoint) {
  if (codePoint < 0x80) {
    out += static_cast<char>(codePoint);
  } else if (codePoint < 0x800) {
    out += static_cast<char>(0xC0 | (codePoint >> 6));
    out += static_cast<char>(0x80 | (codePoint & 0x3F));
  } else if (codePoint < 0x10000) {
    out += static_cast<char>(0xE0 | (codePoint >> 12));
    out += static_cast<char>(0x80 | ((codePoint >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (codePoint & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (codePoint >> 18));
    out += static_cast<char>(0x80 | ((codePoint >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((codePoint >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (codePoint & 0x3F));
  }
}

// `digits` characters of the given base at text[from], or -1.
int64_t digitsValue(std::string_view text, size_t from, size_t digits, int base) {
  if (from + digits > text.size()) return -1;
  int64_t value = 0;
  for (size_t i = from; i < from + digits; ++i) {
    const char c = lower(text[i]);
    const int digit = isDigit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
    if (digit >= base) return -1;
    value = value * base + digit;
  }
  return value;
}

// The UTF-16 unit of an escape \uXXXX at text[i], or -1.
int64_t utf16UnitAt(std::string_view text, size_t i) {
  return text.substr(std::min(i, text.size())).starts_with("\\u") ? digitsValue(text, i + 2, 4, 16) : -1;
}

// Appends the escape at text[i] == '\\' and returns the index behind it.
size_t appendEscape(std::string_view text, size_t i, std::string& out) {
  if (i + 1 >= text.size()) {
    out += '\\';
    return i + 1;
  }
  const char c = text[i + 1];
  if (c == 'u' || c == 'U') {
    const size_t digits = c == 'u' ? 4 : 8;
    const int64_t value = digitsValue(text, i + 2, digits, 16);
    if (value >= 0 && value <= 0x10FFFF) {
      const size_t end = i + 2 + digits;
      const int64_t next = value >= 0xD800 && value < 0xDC00 ? utf16UnitAt(text, end) : -1;
      if (next >= 0xDC00 && next < 0xE000) {
        appendUtf8(out, static_cast<uint32_t>(0x10000 + ((value - 0xD800) << 10) + (next - 0xDC00)));
        return end + 6;
      }
      // Half a pair is no character: Java encodes it as '?'.
      appendUtf8(out, value >= 0xD800 && value < 0xE000 ? '?' : static_cast<uint32_t>(value));
      return end;
    }
  }
  if (c == '0' || c == '1') {
    if (const int64_t value = digitsValue(text, i + 1, 3, 8); value >= 0) {
      appendUtf8(out, static_cast<uint32_t>(value));
      return i + 4;
    }
  }
  switch (c) {
    case '0': out += '\0'; break;
    case 'b': out += '\b'; break;
    case 'n': out += '\n'; break;
    case 'r': out += '\r'; break;
    case 't': out += '\t'; break;
    case 'Z': out += '\x1A'; break;
    case '%':
    case '_': out += '\\'; out += c; break;
    default: out += c;
  }
  return i + 2;
}

}  // namespace

std::vector<Token> tokenize(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    throw Error("SQL_TEXT_TOO_LONG", "The SQL text has " + std::to_string(text.size()) + " bytes; at most " +
                                         std::to_string(kMaxTextBytes) + " are parsed.");
  }
  return Lexer(text).run();
}

std::string quotedWordValue(std::string_view token) {
  std::string value;
  for (size_t i = 1; i + 1 < token.size(); ++i) {
    value += token[i];
    if (token[i] == '`') ++i;
  }
  return value;
}

std::string stringTokenValue(std::string_view token) {
  if (lower(token[0]) == 'r') return std::string(token.substr(2, token.size() - 3));
  const char quote = token[0];
  const std::string_view body = token.substr(1, token.size() - 2);
  std::string value;
  for (size_t i = 0; i < body.size();) {
    if (body[i] == '\\') {
      i = appendEscape(body, i, value);
    } else {
      value += body[i];
      i += body[i] == quote ? 2 : 1;
    }
  }
  return value;
}

LinePosition linePosition(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const size_t newline = before.rfind('\n');
  LinePosition position;
  position.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  position.column = static_cast<int>(newline == std::string_view::npos ? before.size() : before.size() - newline - 1);
  return position;
}

void SyntaxErrorPlace::raise(const std::string& hint) const {
  const bool atEnd = start_ >= text_.size();
  const std::string fragment(atEnd ? std::string_view() : text_.substr(start_, stop_ - start_));
  const std::string near = atEnd ? "end of input" : "'" + fragment.substr(0, 100) + "'";
  const LinePosition place = linePosition(text_, start_);
  const int start = static_cast<int>(start_);
  throw Error("PARSE_SYNTAX_ERROR",
              "Syntax error at or near " + near + " (line " + std::to_string(place.line) + ", pos " +
                  std::to_string(place.column) + ")." + (hint.empty() ? "" : " " + hint),
              {{"error", near}, {"hint", hint}})
      .withQueryContext({fragment, start, atEnd ? start : static_cast<int>(stop_) - 1});
}

}  // namespace thalweg::sql
