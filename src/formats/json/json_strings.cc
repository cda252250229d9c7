// Strings inside a JSON text: escapes, UTF-8, base64, and writing them again.
#include <cmath>
#include <utility>

#include "common/hex.h"
#include "formats/json/json_reader.h"
#include "types/text/number_text.h"

namespace thalweg {
namespace {

int base64Value(int c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

bool isHighSurrogate(uint32_t unit) {
  return unit >= 0xd800 && unit <= 0xdbff;
}
bool isLowSurrogate(uint32_t unit) {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

void appendHex4(uint32_t unit, std::string* out) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  out->append("\\u");
  for (int shift = 12; shift >= 0; shift -= 4) out->push_back(kDigits[unit >> shift & 15]);
}

}  // namespace

void appendUtf8(uint32_t codePoint, std::string* out) {
  if (codePoint < 0x80) {
    out->push_back(static_cast<char>(codePoint));
  } else if (codePoint < 0x800) {
    out->push_back(static_cast<char>(0xc0 | codePoint >> 6));
    out->push_back(static_cast<char>(0x80 | (codePoint & 0x3f)));
  } else if (codePoint < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | codePoint >> 12));
    out->push_back(static_cast<char>(0x80 | (codePoint >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (codePoint & 0x3f)));
  } else {
    out->push_back(static_cast<char>(0xf0 | codePoint >> 18));
    out->push_back(static_cast<char>(0x80 | (codePoint >> 12 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (codePoint >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (codePoint & 0x3f)));
  }
}

size_t utf8Length(std::string_view text, bool lenient) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= (lenient ? 0xc0U : 0xc2U) && first < 0xe0) return continues(1) ? 2 : 0;
  if ((first & 0xf0) == 0xe0) {
    if (!continues(1) || !continues(2)) return 0;
    if (first == 0xed && byte(1) >= 0xa0) return 0;
    return !lenient && first == 0xe0 && byte(1) < 0xa0 ? 0 : 3;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (first == 0xf4 && byte(1) >= 0x90) return 0;
    return !lenient && first == 0xf0 && byte(1) < 0x90 ? 0 : 4;
  }
  return 0;
}

void decodeLikeJava(std::string_view bytes, std::string* out) {
  for (size_t i = 0; i < bytes.size();) {
    if (const size_t length = utf8Length(bytes.substr(i), false)) {
      out->append(bytes.substr(i, length));
      i += length;
      continue;
    }
    out->append("\xef\xbf\xbd");
    // One replacement for the longest part that could have begun a character.
    const auto byte = [bytes](size_t at) {
      return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U;
    };
    const unsigned first = byte(i);
    const unsigned second = byte(i + 1);
    const bool secondContinues = (second & 0xc0) == 0x80;
    size_t part = 1;
    if (first == 0xed && second >= 0xa0 && second <= 0xbf) {
      // An encoded surrogate is replaced as a whole, where its third byte is there.
      part = (byte(i + 2) & 0xc0) == 0x80 ? 3 : 1;
    } else if ((first & 0xf0) == 0xe0) {
      if (secondContinues && !(first == 0xe0 && second < 0xa0)) part = 2;
    } else if (first >= 0xf0 && first <= 0xf4) {
      if (secondContinues && !(first == 0xf0 && second < 0x90) && !(first == 0xf4 && second >= 0x90)) {
        part = (byte(i + 2) & 0xc0) == 0x80 ? 3 : 2;
      }
    }
    i += std::min(part, bytes.size() - i);
  }
}

// Reads one escape whose backslash is read; a surrogate pair's second half with it.
bool JsonReader::decodeEscape(std::string* out) {
  if (pos_ >= text_.size()) return false;
  const char c = text_[pos_++];
  switch (c) {
    case 'b':
      out->push_back('\b');
      return true;
    case 't':
      out->push_back('\t');
      return true;
    case 'n':
      out->push_back('\n');
      return true;
    case 'f':
      out->push_back('\f');
      return true;
    case 'r':
      out->push_back('\r');
      return true;
    case '"':
    case '/':
    case '\\':
      out->push_back(c);
      return true;
    case 'u':
      break;
    default:
      if (!options_.allowBackslashEscapingAnyCharacter && !(c == '\'' && options_.allowSingleQuotes))
        return false;
      --pos_;
      return copyCharacter(out);
  }
  auto readUnit = [this](uint32_t* unit) {
    *unit = 0;
    for (int i = 0; i < 4; ++i) {
      if (pos_ >= text_.size()) return false;
      const int digit = hexDigit(text_[pos_++]);
      if (digit < 0) return false;
      *unit = *unit << 4 | static_cast<uint32_t>(digit);
    }
    return true;
  };
  uint32_t unit = 0;
  if (!readUnit(&unit)) return false;
  if (isHighSurrogate(unit) && text_.substr(pos_, 2) == "\\u") {
    const size_t before = pos_;
    uint32_t low = 0;
    pos_ += 2;
    if (readUnit(&low) && isLowSurrogate(low)) {
      appendUtf8(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00), out);
      return true;
    }
    pos_ = before;
  }
  if (!keepSurrogates_ && (isHighSurrogate(unit) || isLowSurrogate(unit))) {
    out->push_back('?');
  } else {
    appendUtf8(unit, out);
  }
  return true;
}

// Copies one character that is not ASCII, or any behind a backslash.
bool JsonReader::copyCharacter(std::string* out) {
  const size_t length = utf8Length(text_.substr(pos_), true);
  if (length == 0) {
    ++pos_;
    if (strictUtf8_) return false;
    out->append("\xef\xbf\xbd");
    return true;
  }
  // An overlong form is written as the character it stands for.
  if (length == 2 && static_cast<unsigned char>(text_[pos_]) < 0xc2) {
    out->push_back(static_cast<char>((text_[pos_] & 0x1f) << 6 | (text_[pos_ + 1] & 0x3f)));
  } else {
    out->append(text_.substr(pos_, length));
  }
  pos_ += length;
  return true;
}

// Reads to the closing quote; the text is a view of the input where nothing had to be decoded, else of
// buffer_.
bool JsonReader::scanString(char quote, bool keep, std::string_view* text) {
  const size_t start = pos_;
  bool copied = false;
  while (pos_ < text_.size()) {
    const auto c = static_cast<unsigned char>(text_[pos_]);
    if (c == static_cast<unsigned char>(quote)) {
      if (keep) *text = copied ? std::string_view(buffer_) : text_.substr(start, pos_ - start);
      ++pos_;
      return !keep || text->size() <= options_.maxStringLength;
    }
    const bool escape = c == '\\';
    if (c < ' ' && !options_.allowUnquotedControlChars) {
      ++pos_;
      return false;
    }
    if (!escape && (c < 0x80 || !strictUtf8_)) {
      if (copied) buffer_.push_back(static_cast<char>(c));
      ++pos_;
      continue;
    }
    if (!copied) {
      buffer_.assign(text_.substr(start, pos_ - start));
      copied = true;
    }
    if (escape) {
      ++pos_;
      if (!decodeEscape(&buffer_)) return false;
    } else if (!copyCharacter(&buffer_)) {
      return false;
    }
  }
  return false;
}

bool JsonReader::skipPendingString() {
  stringPending_ = false;
  std::string_view ignored;
  return scanString('"', false, &ignored);
}

bool JsonReader::readString(std::string_view* text) {
  if (stringPending_) {
    stringPending_ = false;
    string_ = {};
    if (!scanString('"', true, &string_)) return false;
  }
  *text = string_;
  return true;
}

bool JsonReader::takeString(std::string* owned, std::string_view* borrowed) {
  constexpr size_t kLongBytes = 4096;
  std::string_view text;
  if (!readString(&text)) return false;
  if (text.size() < kLongBytes) {
    owned->assign(text);
  } else if (text.data() == buffer_.data()) {
    *owned = std::exchange(buffer_, std::string());
  } else if (text.data() >= text_.data() && text.data() < text_.data() + text_.size()) {
    *borrowed = text;
  } else {
    owned->assign(text);
  }
  return true;
}

// The next base64 digit of the current group, -1 at the closing quote (index 0, or told by isQuote), -2 at an
// error, 64 for padding.
int JsonReader::base64Character(int index, bool* isQuote) {
  for (;;) {
    if (pos_ >= text_.size()) return -2;
    int c = static_cast<unsigned char>(text_[pos_++]);
    *isQuote = c == '"';
    if (*isQuote) return -1;
    if (c == '\\') {
      std::string decoded;
      if (!decodeEscape(&decoded) || decoded.size() != 1) return -2;
      c = static_cast<unsigned char>(decoded[0]);
    }
    if (index == 0 && c <= ' ') continue;
    if (c == '=') return index >= 2 ? 64 : -2;
    const int value = base64Value(c);
    return value < 0 ? -2 : value;
  }
}

bool JsonReader::readBase64(std::string* bytes) {
  if (!stringPending_) {
    // A string in single quotes is decoded already: its bytes are checked the same way.
    JsonReader inner(options_);
    std::string quoted(string_);
    quoted.push_back('"');
    inner.reset(quoted, false);
    inner.stringPending_ = true;
    return inner.readBase64(bytes);
  }
  bool isQuote = false;
  for (;;) {
    int digits[4];
    for (int i = 0; i < 4; ++i) {
      digits[i] = base64Character(i, &isQuote);
      if (isQuote && i == 0) {
        stringPending_ = false;
        return true;
      }
      // Jackson steps back before a quote that comes too early, but not before the second digit.
      if (isQuote && i >= 2 && digits[2] != 64) --pos_;
      if (digits[i] < 0) return false;
      if (i == 3 && digits[2] == 64 && digits[3] != 64) return false;
    }
    const int bits = digits[0] << 18 | digits[1] << 12 | (digits[2] & 63) << 6 | (digits[3] & 63);
    bytes->push_back(static_cast<char>(bits >> 16));
    if (digits[2] != 64) bytes->push_back(static_cast<char>(bits >> 8));
    if (digits[3] != 64) bytes->push_back(static_cast<char>(bits));
  }
}

void appendJsonString(std::string_view text, bool escapeSupplementary, std::string* out) {
  out->push_back('"');
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    switch (c) {
      case '"':
        out->append("\\\"");
        continue;
      case '\\':
        out->append("\\\\");
        continue;
      case '\b':
        out->append("\\b");
        continue;
      case '\f':
        out->append("\\f");
        continue;
      case '\n':
        out->append("\\n");
        continue;
      case '\r':
        out->append("\\r");
        continue;
      case '\t':
        out->append("\\t");
        continue;
      default:
        break;
    }
    if (c < ' ') {
      appendHex4(c, out);
    } else if (escapeSupplementary && c == 0xed && i + 2 < text.size() &&
               static_cast<unsigned char>(text[i + 1]) >= 0xa0) {
      const auto byte = [&](size_t at) {
        return static_cast<uint32_t>(static_cast<unsigned char>(text[i + at])) & 0x3f;
      };
      appendHex4(0xd000 | byte(1) << 6 | byte(2), out);
      i += 2;
    } else if (escapeSupplementary && c >= 0xf0 && utf8Length(text.substr(i), false) == 4) {
      const auto byte = [&](size_t at) {
        return static_cast<uint32_t>(static_cast<unsigned char>(text[i + at])) & 0x3f;
      };
      const uint32_t codePoint = ((c & 7U) << 18 | byte(1) << 12 | byte(2) << 6 | byte(3)) - 0x10000;
      appendHex4(0xd800 + (codePoint >> 10), out);
      appendHex4(0xdc00 + (codePoint & 0x3ff), out);
      i += 3;
    } else {
      out->push_back(static_cast<char>(c));
    }
  }
  out->push_back('"');
}

bool JsonReader::renderScalar(std::string* out) {
  std::string_view text;
  switch (token_) {
    case JsonToken::String: {
      keepSurrogates_ = true;
      const bool read = readString(&text);
      keepSurrogates_ = false;
      if (!read) return false;
      appendJsonString(text, true, out);
      return true;
    }
    case JsonToken::Int: {
      if (number_ == "-0") {
        out->push_back('0');
      } else {
        out->append(number_);
      }
      return true;
    }
    case JsonToken::Float: {
      const double value = numberAsDouble();
      const bool finite = std::isfinite(value);
      if (!finite) out->push_back('"');
      appendDouble(value, out);
      if (!finite) out->push_back('"');
      return true;
    }
    case JsonToken::True:
      out->append("true");
      return true;
    case JsonToken::False:
      out->append("false");
      return true;
    case JsonToken::Null:
      out->append("null");
      return true;
    default:
      return false;
  }
}

bool JsonReader::renderValue(std::string* out) {
  if (token_ != JsonToken::StartObject && token_ != JsonToken::StartArray) return renderScalar(out);
  bool first = true;  // the next value or name is its container's first
  out->push_back(token_ == JsonToken::StartObject ? '{' : '[');
  for (int depth = 1; depth > 0;) {
    if (!next()) return false;
    switch (token_) {
      case JsonToken::None:
        return false;
      case JsonToken::EndObject:
      case JsonToken::EndArray:
        out->push_back(token_ == JsonToken::EndObject ? '}' : ']');
        --depth;
        first = false;
        continue;
      case JsonToken::FieldName:
        if (!first) out->push_back(',');
        appendJsonString(context().name, true, out);
        out->push_back(':');
        first = true;
        continue;
      default:
        break;
    }
    if (!first) out->push_back(',');
    first = token_ == JsonToken::StartObject || token_ == JsonToken::StartArray;
    if (first) {
      out->push_back(token_ == JsonToken::StartObject ? '{' : '[');
      ++depth;
    } else if (!renderScalar(out)) {
      return false;
    }
  }
  return true;
}

bool JsonReader::rawValue(std::string_view* raw) {
  const size_t start = tokenStart_;
  if (token_ == JsonToken::EndObject || token_ == JsonToken::EndArray || token_ == JsonToken::None)
    return false;
  if (!skipChildren()) return false;
  if (token_ == JsonToken::String && stringPending_ && !skipPendingString()) return false;
  *raw = text_.substr(start, pos_ - start);
  return true;
}

}  // namespace thalweg
