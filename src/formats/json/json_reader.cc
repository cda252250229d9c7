#include "formats/json/json_reader.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "types/text/number_text.h"

namespace thalweg {
namespace {

constexpr size_t kMaxNameLength = 50'000;

bool isDigit(int c) {
  return c >= '0' && c <= '9';
}
bool isBlank(int c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// java.lang.Character.isJavaIdentifierPart, with every character beyond ASCII taken for one.
bool isIdentifierPart(int c) {
  return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         c >= 0x7f || (c >= 0 && c <= 8) || (c >= 0x0e && c <= 0x1b);
}

bool isUnquotedNamePart(int c) {
  return isIdentifierPart(c) || c == '@' || c == '#' || c == '*' || c == '-' || c == '+';
}

}  // namespace

void JsonReader::reset(std::string_view text, bool strictUtf8) {
  text_ = text;
  pos_ = 0;
  strictUtf8_ = strictUtf8;
  token_ = JsonToken::None;
  pending_ = JsonToken::None;
  stringPending_ = false;
  depth_ = 0;
  if (contexts_.empty()) contexts_.emplace_back();
  contexts_[0].root = true;
  contexts_[0].object = false;
  contexts_[0].hasName = false;
  contexts_[0].index = -1;
}

bool JsonReader::open(bool object) {
  ++depth_;
  if (contexts_.size() <= depth_) contexts_.emplace_back();
  Context& child = context();
  child.object = object;
  child.root = false;
  child.hasName = false;
  child.index = -1;
  return depth_ <= static_cast<size_t>(options_.maxNestingDepth);
}

bool JsonReader::close(char bracket) {
  const bool object = bracket == '}';
  if (context().root || context().object != object) return false;
  --depth_;
  token_ = object ? JsonToken::EndObject : JsonToken::EndArray;
  return true;
}

const std::string* JsonReader::currentName() const {
  const bool starts = token_ == JsonToken::StartObject || token_ == JsonToken::StartArray;
  const Context& owner = starts && depth_ > 0 ? contexts_[depth_ - 1] : context();
  return owner.hasName ? &owner.name : nullptr;
}

bool JsonReader::next() {
  if (token_ == JsonToken::FieldName) return finishFieldName();
  if (stringPending_ && !skipPendingString()) return false;
  int c = skipBlanksOrEnd();
  if (c == kError) return false;
  if (c == kEnd) {
    token_ = JsonToken::None;
    return true;
  }
  if (c == ']' || c == '}') return close(static_cast<char>(c));
  Context& current = context();
  if (++current.index > 0 && !current.root) {
    if (c != ',') return false;
    c = skipBlanks();
    if (c == kError) return false;
  }
  const bool inObject = current.object;
  if (inObject) {
    if (c == '"') {
      if (!parseName('"')) return false;
    } else if (!parseOddName(c)) {
      return false;
    }
    current.hasName = true;
    token_ = JsonToken::FieldName;
    pending_ = JsonToken::None;
    c = skipColon();
    if (c == kError) return false;
  }
  tokenStart_ = pos_ - 1;
  JsonToken value = JsonToken::None;
  if (!parseValue(c, inObject, &value)) return false;
  (inObject ? pending_ : token_) = value;
  return true;
}

bool JsonReader::finishFieldName() {
  const JsonToken value = pending_;
  pending_ = JsonToken::None;
  if (value == JsonToken::StartObject || value == JsonToken::StartArray) {
    if (!open(value == JsonToken::StartObject)) return false;
  }
  token_ = value;
  return true;
}

bool JsonReader::skipChildren() {
  if (token_ != JsonToken::StartObject && token_ != JsonToken::StartArray) return true;
  for (int depth = 1; depth > 0;) {
    if (!next()) return false;
    if (token_ == JsonToken::None) return depth_ == 0;
    if (token_ == JsonToken::StartObject || token_ == JsonToken::StartArray) ++depth;
    if (token_ == JsonToken::EndObject || token_ == JsonToken::EndArray) --depth;
  }
  return true;
}

int JsonReader::skipBlanksOrEnd() {
  while (pos_ < text_.size()) {
    const int c = static_cast<unsigned char>(text_[pos_++]);
    if (c == '/') {
      if (!skipComment()) return kError;
    } else if (c > ' ') {
      return c;
    } else if (!isBlank(c)) {
      return kError;
    }
  }
  return depth_ == 0 ? kEnd : kError;
}

int JsonReader::skipBlanks() {
  const int c = skipBlanksOrEnd();
  return c == kEnd ? kError : c;
}

int JsonReader::skipColon() {
  const int c = skipBlanks();
  if (c != ':') return kError;
  return skipBlanks();
}

bool JsonReader::skipComment() {
  if (!options_.allowComments || pos_ >= text_.size()) return false;
  const char kind = text_[pos_++];
  if (kind == '/') {
    const size_t end = text_.find_first_of("\r\n", pos_);
    pos_ = end == std::string_view::npos ? text_.size() : end + 1;
    return true;
  }
  if (kind != '*') return false;
  const size_t end = text_.find("*/", pos_);
  pos_ = end == std::string_view::npos ? text_.size() : end + 2;
  return end != std::string_view::npos;
}

bool JsonReader::parseName(char quote) {
  std::string_view name;
  if (!scanString(quote, true, &name)) return false;
  if (name.size() > kMaxNameLength) return false;
  context().name.assign(name);
  return true;
}

bool JsonReader::parseOddName(int c) {
  if (c == '\'' && options_.allowSingleQuotes) return parseName('\'');
  if (!options_.allowUnquotedFieldNames || !isUnquotedNamePart(c)) return false;
  const size_t start = pos_ - 1;
  while (pos_ < text_.size() && isUnquotedNamePart(static_cast<unsigned char>(text_[pos_]))) ++pos_;
  context().name.assign(text_.substr(start, pos_ - start));
  return true;
}

bool JsonReader::parseValue(int c, bool inObject, JsonToken* token) {
  switch (c) {
    case '"':
      stringPending_ = true;
      *token = JsonToken::String;
      return true;
    case '[':
    case '{':
      *token = c == '{' ? JsonToken::StartObject : JsonToken::StartArray;
      return inObject || open(c == '{');
    case 't':
      *token = JsonToken::True;
      return matchWord("true", 1);
    case 'f':
      *token = JsonToken::False;
      return matchWord("false", 1);
    case 'n':
      *token = JsonToken::Null;
      return matchWord("null", 1);
    case '-':
      return parseSigned(true, token);
    default:
      if (isDigit(c)) return parseNumber(pos_ - 1, c, false, token);
      return parseOddValue(c, token);
  }
}

bool JsonReader::parseOddValue(int c, JsonToken* token) {
  switch (c) {
    case '\'':
      if (!options_.allowSingleQuotes) return false;
      *token = JsonToken::String;
      stringPending_ = false;
      return scanString('\'', true, &string_);
    case 'N':
      return matchWord("NaN", 1) && setNonNumeric("NaN", token);
    case 'I':
      return matchWord("Infinity", 1) && setNonNumeric("Infinity", token);
    case '+':
      if (pos_ >= text_.size()) return false;
      return invalidNumberStart(static_cast<unsigned char>(text_[pos_++]), false, token);
    default:
      if (isIdentifierPart(c) && !isDigit(c)) return reportInvalidToken();
      return false;
  }
}

bool JsonReader::setNonNumeric(std::string_view word, JsonToken* token) {
  if (!options_.allowNonNumericNumbers) return false;
  number_ = word;
  nonNumeric_ = true;
  *token = JsonToken::Float;
  return true;
}

bool JsonReader::matchWord(std::string_view word, size_t matched) {
  for (; matched < word.size(); ++matched) {
    if (pos_ >= text_.size() || text_[pos_] != word[matched]) return reportInvalidToken();
    ++pos_;
  }
  if (pos_ >= text_.size()) return true;
  const int c = static_cast<unsigned char>(text_[pos_]);
  if (c >= '0' && c != ']' && c != '}' && isIdentifierPart(c)) return reportInvalidToken();
  return true;
}

// The error message's token is read to its end, at most 256 characters of it, and stays read.
bool JsonReader::reportInvalidToken() {
  constexpr size_t kMaxTokenLength = 256;
  for (size_t n = 0; n < kMaxTokenLength && pos_ < text_.size(); ++n) {
    if (!isIdentifierPart(static_cast<unsigned char>(text_[pos_]))) break;
    ++pos_;
  }
  return false;
}

bool JsonReader::parseSigned(bool negative, JsonToken* token) {
  const size_t start = pos_ - 1;
  if (pos_ >= text_.size()) return parseNumberSlowly(start, negative, token);
  const int c = static_cast<unsigned char>(text_[pos_++]);
  if (!isDigit(c)) return c == '.' ? parseOddValue('.', token) : invalidNumberStart(c, negative, token);
  return parseNumber(start, c, negative, token);
}

bool JsonReader::invalidNumberStart(int c, bool negative, JsonToken* token) {
  if (c != 'I' || pos_ >= text_.size()) return false;
  const char second = text_[pos_++];
  if (second == 'N') {
    const std::string_view word = negative ? "-INF" : "+INF";
    return matchWord(word, 3) && setNonNumeric(word, token);
  }
  if (second == 'n') {
    const std::string_view word = negative ? "-Infinity" : "+Infinity";
    return matchWord(word, 3) && setNonNumeric(word, token);
  }
  return false;
}

// The first digit is read; `start` is where the number, with its sign, begins.
bool JsonReader::parseNumber(size_t start, int c, bool negative, JsonToken* token) {
  if (c == '0') return parseNumberSlowly(start, negative, token);
  size_t at = pos_;
  while (at < text_.size() && isDigit(static_cast<unsigned char>(text_[at]))) ++at;
  if (at >= text_.size()) return parseNumberSlowly(start, negative, token);
  const size_t integerDigits = at - start - (negative ? 1 : 0);
  bool isFloat = false;
  if (text_[at] == '.') {
    isFloat = true;
    pos_ = ++at;
    while (at < text_.size() && isDigit(static_cast<unsigned char>(text_[at]))) ++at;
    if (at >= text_.size()) return parseNumberSlowly(start, negative, token);
    if (at == pos_) return false;
  }
  if (text_[at] == 'e' || text_[at] == 'E') {
    if (!isFloat) pos_ = at + 1;
    isFloat = true;
    ++at;
    if (at < text_.size() && (text_[at] == '-' || text_[at] == '+')) ++at;
    const size_t digits = at;
    while (at < text_.size() && isDigit(static_cast<unsigned char>(text_[at]))) ++at;
    if (at >= text_.size()) return parseNumberSlowly(start, negative, token);
    if (at == digits) return false;
  }
  pos_ = at;
  return finishNumber(isFloat, start, integerDigits, token);
}

// Character by character: leading zeros and numbers that reach the text's end. Differs from the above only in
// where the reader stands after an error.
bool JsonReader::parseNumberSlowly(size_t start, bool negative, JsonToken* token) {
  pos_ = negative ? start + 1 : start;
  size_t first = pos_;
  auto peek = [this] { return pos_ < text_.size() ? static_cast<unsigned char>(text_[pos_]) : kEnd; };
  if (peek() == '0') {
    ++pos_;
    if (isDigit(peek())) {
      if (!options_.allowNumericLeadingZeros) return false;
      while (text_[pos_ - 1] == '0' && isDigit(peek())) ++pos_;
      first = pos_ - 1;
    }
  }
  while (isDigit(peek())) ++pos_;
  const size_t integerDigits = pos_ - first;
  if (integerDigits == 0) {
    const int c = peek();
    if (c != kEnd) ++pos_;
    return invalidNumberStart(c, negative, token);
  }
  bool isFloat = false;
  if (peek() == '.') {
    isFloat = true;
    const size_t digits = ++pos_;
    while (isDigit(peek())) ++pos_;
    if (pos_ == digits) {
      if (pos_ < text_.size()) ++pos_;
      return false;
    }
  }
  if (peek() == 'e' || peek() == 'E') {
    isFloat = true;
    ++pos_;
    if (peek() == '-' || peek() == '+') ++pos_;
    const size_t digits = pos_;
    while (isDigit(peek())) ++pos_;
    if (pos_ == digits) {
      if (pos_ < text_.size()) ++pos_;
      return false;
    }
  }
  if (!negative) return finishNumber(isFloat, first, integerDigits, token);
  if (first == start + 1) return finishNumber(isFloat, start, integerDigits, token);
  if (!finishNumber(isFloat, first, integerDigits, token)) return false;
  numberBuffer_.assign(1, '-').append(number_);
  number_ = numberBuffer_;
  return true;
}

bool JsonReader::finishNumber(bool isFloat, size_t start, size_t integerDigits, JsonToken* token) {
  if (context().root && pos_ < text_.size() && !isBlank(static_cast<unsigned char>(text_[pos_])))
    return false;
  number_ = text_.substr(start, pos_ - start);
  nonNumeric_ = false;
  *token = isFloat ? JsonToken::Float : JsonToken::Int;
  return (isFloat ? number_.size() : integerDigits) <= options_.maxNumberLength;
}

double JsonReader::numberAsDouble() const {
  // A whole number is read as one first: it has no negative zero.
  if (token_ == JsonToken::Int) return number_ == "-0" ? 0.0 : plainNumberToDouble(number_);
  if (!nonNumeric_) return plainNumberToDouble(number_);
  if (number_ == "NaN") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return number_[0] == '-' ? -infinity : infinity;
}

}  // namespace thalweg
