#include "sql/token_stream.h"

#include <algorithm>
#include <charconv>

#include "common/error.h"
#include "common/options.h"
#include "types/ddl.h"

namespace thalweg::sql {

TokenStream::TokenStream(std::string_view text) : text_(text), tokens_(tokenize(text)) {}

const Token& TokenStream::peek(size_t ahead) const { return tokens_[std::min(position_ + ahead, tokens_.size() - 1)]; }

Token TokenStream::take() {
  const Token token = peek();
  if (token.kind == TokenKind::End) fail();
  ++position_;
  return token;
}

bool TokenStream::peekWord(std::string_view word, size_t ahead) const {
  const Token& token = peek(ahead);
  return token.kind == TokenKind::Word && equalsIgnoreCase(token.text, word);
}

bool TokenStream::peekAnyWord(std::initializer_list<std::string_view> words, size_t ahead) const {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return peekWord(word, ahead); });
}

bool TokenStream::peekSymbol(std::string_view symbol, size_t ahead) const {
  const Token& token = peek(ahead);
  return token.kind == TokenKind::Symbol && token.text == symbol;
}

bool TokenStream::peekWords(std::initializer_list<std::string_view> words) const {
  size_t ahead = 0;
  for (std::string_view word : words) {
    if (!peekWord(word, ahead++)) return false;
  }
  return true;
}

bool TokenStream::acceptWord(std::string_view word) {
  if (!peekWord(word)) return false;
  ++position_;
  return true;
}

bool TokenStream::acceptWords(std::initializer_list<std::string_view> words) {
  if (!peekWords(words)) return false;
  position_ += words.size();
  return true;
}

bool TokenStream::acceptSymbol(std::string_view symbol) {
  if (!peekSymbol(symbol)) return false;
  ++position_;
  return true;
}

void TokenStream::expectWord(std::string_view word) {
  if (!acceptWord(word)) fail();
}

void TokenStream::expectSymbol(std::string_view symbol) {
  if (!acceptSymbol(symbol)) fail();
}

void TokenStream::expectEnd() {
  if (!atEnd()) fail();
}

bool TokenStream::peekIdentifier(size_t ahead) const {
  const TokenKind kind = peek(ahead).kind;
  return kind == TokenKind::Word || kind == TokenKind::QuotedWord;
}

std::string TokenStream::expectIdentifier() {
  if (!peekIdentifier()) fail();
  const Token token = take();
  return token.kind == TokenKind::QuotedWord ? quotedWordValue(token.text) : std::string(token.text);
}

std::vector<std::string> TokenStream::expectMultipartIdentifier() {
  std::vector<std::string> parts = {expectIdentifier()};
  while (acceptSymbol(".")) parts.push_back(expectIdentifier());
  return parts;
}

std::vector<std::string> TokenStream::expectIdentifierList() {
  std::vector<std::string> names;
  expectSymbol("(");
  do {
    names.push_back(expectIdentifier());
  } while (acceptSymbol(","));
  expectSymbol(")");
  return names;
}

std::string TokenStream::expectString() {
  if (peek().kind != TokenKind::String) fail();
  std::string value;
  while (peek().kind == TokenKind::String) value += stringTokenValue(take().text);
  return value;
}

int64_t TokenStream::expectInteger() {
  const size_t first = position_;
  const bool negative = acceptSymbol("-");
  const std::string digits = (negative ? "-" : "") + std::string(peek().text);
  int64_t value = 0;
  auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (peek().kind != TokenKind::Number || status != std::errc() || end != digits.data() + digits.size()) {
    position_ = first;
    fail();
  }
  take();
  return value;
}

DataTypePtr TokenStream::expectType(StringBounds* bounds) {
  const size_t start = peek().start;
  size_t length = 0;
  DataTypePtr type;
  try {
    type = parseTypeDdlPrefix(text_.substr(start), &length, bounds);
  } catch (const Error& error) {
    if (error.condition() != "PARSE_SYNTAX_ERROR") throw;
    fail();
  }
  while (peek().start < start + length) ++position_;
  if (position_ > 0 && tokens_[position_ - 1].stop > start + length) {
    // The type ended inside a token ("array<int>=…"): the rest of it is a token of its own.
    Token& rest = tokens_[--position_];
    rest.text.remove_prefix(start + length - rest.start);
    rest.start = start + length;
  }
  return type;
}

size_t TokenStream::closingParenthesis(size_t index) const {
  if (closing_.empty()) {
    closing_.assign(tokens_.size(), tokens_.size() - 1);
    std::vector<size_t> open;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind != TokenKind::Symbol) continue;
      if (tokens_[i].text == "(") open.push_back(i);
      if (tokens_[i].text != ")" || open.empty()) continue;
      closing_[open.back()] = i;
      open.pop_back();
    }
  }
  return closing_[std::min(index, closing_.size() - 1)];
}

void TokenStream::fail(const std::string& hint) const { SyntaxErrorPlace(text_, peek().start, peek().stop).raise(hint); }

std::pair<size_t, size_t> TokenStream::rangeSince(size_t firstToken) const {
  const size_t last = std::max(position_, firstToken + 1) - 1;
  return {tokens_[std::min(firstToken, tokens_.size() - 1)].start, tokens_[std::min(last, tokens_.size() - 1)].stop};
}

std::string TokenStream::textSince(size_t firstToken) const {
  const auto [start, stop] = rangeSince(firstToken);
  return std::string(text_.substr(start, stop - start));
}

}  // namespace thalweg::sql
