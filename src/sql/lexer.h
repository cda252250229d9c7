// SQL text as tokens with their byte positions. Comments and blanks are left out; so are hints (/*+ … */)
// that do not stand behind SELECT.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::sql {

enum class TokenKind {
  Word,        // identifier or keyword: no word is reserved, the parser decides
  QuotedWord,  // `identifier`
  String,      // '…' or "…", raw r'…' too
  Number,      // with its suffix: 1L, 1.5BD, 1e3
  Symbol,      // operators and punctuation; '>' is always a token of its own unless '>='
  End,
  Hint,        // /*+ … */ behind SELECT
};

struct Token {
  TokenKind kind = TokenKind::End;
  size_t start = 0;        // bytes from the text's beginning
  size_t stop = 0;         // exclusive
  std::string_view text;   // the source between them
};

// Largest text that is parsed, in bytes.
inline constexpr size_t kMaxTextBytes = 1 << 20;

// All tokens of `text`, an End token last; they point into `text`, which must outlive them. Throws Error
// PARSE_SYNTAX_ERROR (an unclosed quote, letters behind a fraction), UNCLOSED_BRACKETED_COMMENT, SQL_TEXT_TOO_LONG.
std::vector<Token> tokenize(std::string_view text);

// A QuotedWord's name, its doubled back-ticks made single.
std::string quotedWordValue(std::string_view token);

// A String token's value: escapes \n \t \r \b \0 \Z \\ \' \" \uXXXX \UXXXXXXXX \ooo; \% and \_ keep the backslash (for
// LIKE); doubled quotes are one quote; any other escaped character stands for itself. Raw strings as they stand.
std::string stringTokenValue(std::string_view token);

// Line (from 1) and column (from 0, bytes) of a byte offset.
struct LinePosition {
  int line = 1;
  int column = 0;
};
LinePosition linePosition(std::string_view text, size_t offset);

// PARSE_SYNTAX_ERROR at text[start, stop); the end of the input when start is the text's length.
class SyntaxErrorPlace {
 public:
  SyntaxErrorPlace(std::string_view text, size_t start, size_t stop) : text_(text), start_(start), stop_(stop) {}
  [[noreturn]] void raise(const std::string& hint = "") const;

 private:
  std::string_view text_;
  size_t start_;
  size_t stop_;
};

}  // namespace thalweg::sql
