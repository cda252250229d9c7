// A pull reader over one JSON text with Jackson's grammar, features, and, since Spark goes on after a syntax
// error inside a field, Jackson's state after each kind of error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json/json_options.h"

namespace thalweg {

enum class JsonToken : uint8_t {
  None,
  StartObject,
  EndObject,
  StartArray,
  EndArray,
  FieldName,
  String,
  Int,
  Float,
  True,
  False,
  Null
};

// One reader serves many texts, one after the other, and keeps its memory. Not shared between threads.
// Every method that can meet a syntax error returns false for it and may be called again: it goes on behind
// the error.
class JsonReader {
 public:
  explicit JsonReader(const JsonOptions& options) : options_(options) {}

  // Starts over. With `strictUtf8` a string that is not UTF-8 is a syntax error, as in Spark's files;
  // otherwise `text` must be UTF-8. `text` must outlive the reading.
  void reset(std::string_view text, bool strictUtf8);

  // To the next token; None at the text's end.
  bool next();
  JsonToken token() const { return token_; }
  // Name of the field that the current token is, belongs to, or (at a start or end) is named by; null where
  // none.
  const std::string* currentName() const;
  // From a start token to its end; elsewhere does nothing.
  bool skipChildren();

  // The text of a String token, decoded; a UTF-16 surrogate without its other half is '?'. Valid until the
  // next call.
  bool readString(std::string_view* text);
  // As readString, keeping the text: a long one is not copied, but handed over in `*owned` or, where it lies
  // in the text given to reset(), in `*borrowed`.
  bool takeString(std::string* owned, std::string_view* borrowed);
  // Bytes of a String token that holds base64 (Jackson's MIME_NO_LINEFEEDS).
  bool readBase64(std::string* bytes);
  // An Int or Float token's text; "NaN", "-INF", … for numbers that are none, for which isNonNumeric() holds.
  std::string_view numberText() const { return number_; }
  bool isNonNumeric() const { return nonNumeric_; }
  // Value of a Float or Int token as a double.
  double numberAsDouble() const;

  // The current value as compact JSON text, as Jackson's generator writes it; moves to the value's last
  // token.
  bool renderValue(std::string* out);
  // The current value's bytes as they are in the text; moves as renderValue.
  bool rawValue(std::string_view* raw);

 private:
  struct Context {
    bool object = false;
    bool root = false;
    bool hasName = false;
    int64_t index = -1;
    std::string name;
  };

  static constexpr int kEnd = -1;
  static constexpr int kError = -2;

  Context& context() { return contexts_[depth_]; }
  const Context& context() const { return contexts_[depth_]; }
  bool open(bool object);
  bool close(char bracket);
  bool finishFieldName();

  int skipBlanksOrEnd();
  int skipBlanks();  // kError at the end
  int skipColon();
  bool skipComment();

  bool parseName(char quote);
  bool parseOddName(int c);
  bool parseValue(int c, bool inObject, JsonToken* token);
  bool parseOddValue(int c, JsonToken* token);
  bool matchWord(std::string_view word, size_t matched);
  bool reportInvalidToken();
  bool setNonNumeric(std::string_view word, JsonToken* token);

  bool parseNumber(size_t start, int c, bool negative, JsonToken* token);
  bool parseNumberSlowly(size_t start, bool negative, JsonToken* token);
  bool parseSigned(bool negative, JsonToken* token);
  bool invalidNumberStart(int c, bool negative, JsonToken* token);
  bool finishNumber(bool isFloat, size_t start, size_t integerDigits, JsonToken* token);

  bool scanString(char quote, bool keep, std::string_view* text);
  bool decodeEscape(std::string* out);
  bool copyCharacter(std::string* out);
  bool skipPendingString();
  int base64Character(int index, bool* isQuote);
  bool renderScalar(std::string* out);

  const JsonOptions& options_;
  std::string_view text_;
  size_t pos_ = 0;
  bool strictUtf8_ = false;
  JsonToken token_ = JsonToken::None;
  JsonToken pending_ = JsonToken::None;  // the value behind a field name, read along with it
  bool stringPending_ = false;           // the string's characters are not read yet
  size_t tokenStart_ = 0;                // of the last value token
  std::string_view string_;
  std::string buffer_;
  std::string_view number_;
  std::string numberBuffer_;
  bool nonNumeric_ = false;
  bool keepSurrogates_ =
      false;  // halves of surrogate pairs stay, in three bytes each, to be written as escapes
  size_t depth_ = 0;
  std::vector<Context> contexts_;
};

// Appends `text` as a JSON string with its quotes; `escapeSupplementary` writes characters beyond the basic
// plane as \uXXXX pairs, as Jackson's byte generator does.
void appendJsonString(std::string_view text, bool escapeSupplementary, std::string* out);

// Appends a code point as UTF-8.
void appendUtf8(uint32_t codePoint, std::string* out);

// `bytes` as Java's UTF-8 decoder reads them: each malformed part becomes U+FFFD.
void decodeLikeJava(std::string_view bytes, std::string* out);

// Length of the UTF-8 character at the text's start, 0 where it is malformed. `lenient` takes overlong forms,
// as Jackson does.
size_t utf8Length(std::string_view text, bool lenient);

}  // namespace thalweg
