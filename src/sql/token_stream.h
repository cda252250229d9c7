// A cursor over one text's tokens: what every part of the parser reads through.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sql/lexer.h"
#include "types/char_varchar.h"
#include "types/data_type.h"

namespace thalweg::sql {

// Words are compared without case. Not thread-safe; the text must outlive it.
class TokenStream {
 public:
  explicit TokenStream(std::string_view text);

  const Token& peek(size_t ahead = 0) const;
  size_t position() const { return position_; }
  void rewind(size_t position) { position_ = position; }
  Token take();
  bool atEnd() const { return peek().kind == TokenKind::End; }

  bool peekWord(std::string_view word, size_t ahead = 0) const;
  bool peekAnyWord(std::initializer_list<std::string_view> words, size_t ahead = 0) const;
  bool peekSymbol(std::string_view symbol, size_t ahead = 0) const;
  // All of `words` in this order.
  bool peekWords(std::initializer_list<std::string_view> words) const;

  // Takes the token(s) when they are next.
  bool acceptWord(std::string_view word);
  bool acceptWords(std::initializer_list<std::string_view> words);
  bool acceptSymbol(std::string_view symbol);
  // As accept, PARSE_SYNTAX_ERROR otherwise.
  void expectWord(std::string_view word);
  void expectSymbol(std::string_view symbol);
  void expectEnd();

  bool peekIdentifier(size_t ahead = 0) const;
  std::string expectIdentifier();
  std::vector<std::string> expectMultipartIdentifier();
  // (a, b, c)
  std::vector<std::string> expectIdentifierList();
  // One or more adjacent string literals, as one value.
  std::string expectString();
  // [-] digits
  int64_t expectInteger();
  // A type as in DDL; `bounds` as of parseTypeDdlPrefix.
  DataTypePtr expectType(StringBounds* bounds = nullptr);

  // Index of the ')' that closes the '(' at token `index`; the End token's where none does.
  size_t closingParenthesis(size_t index) const;
  const Token& tokenAt(size_t index) const { return tokens_[index < tokens_.size() ? index : tokens_.size() - 1]; }

  [[noreturn]] void fail(const std::string& hint = "") const;
  // The source from a token's start to the end of the one before the cursor.
  std::string textSince(size_t firstToken) const;
  // Byte offsets of the same range, stop exclusive.
  std::pair<size_t, size_t> rangeSince(size_t firstToken) const;
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  std::vector<Token> tokens_;
  size_t position_ = 0;
  mutable std::vector<size_t> closing_;  // by token, filled at first use
};

}  // namespace thalweg::sql
