// Characters of UTF-8 bytes that may be invalid: a byte that begins no character counts as one.
#pragma once

#include <cstdint>
#include <string_view>

namespace thalweg {

// Bytes of the character that begins at `at`, cut at the text's end.
inline size_t characterSize(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t size = lead < 0xC2 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 1;
  return size <= text.size() - at ? size : text.size() - at;
}

inline int64_t characterCount(std::string_view text) {
  int64_t count = 0;
  for (size_t at = 0; at < text.size(); at += characterSize(text, at)) ++count;
  return count;
}

// The byte at which character `index` begins, the text's size where there are fewer characters.
inline size_t characterOffset(std::string_view text, int64_t index) {
  size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += characterSize(text, at);
  return at;
}

// The code point at `at`; the byte itself where it begins none.
inline uint32_t codePointAt(std::string_view text, size_t at) {
  const size_t size = characterSize(text, at);
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[at + i])); };
  switch (size) {
    case 2: return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3: return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    case 4: return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
    default: return byte(0);
  }
}

// Appends a code point (at most 0x10FFFF).
template <typename String>
void appendCodePoint(uint32_t point, String* out) {
  if (point < 0x80) {
    out->push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out->push_back(static_cast<char>(0xC0 | point >> 6));
    out->push_back(static_cast<char>(0x80 | (point & 0x3F)));
  } else if (point < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | point >> 12));
    out->push_back(static_cast<char>(0x80 | (point >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (point & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | point >> 18));
    out->push_back(static_cast<char>(0x80 | (point >> 12 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (point >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (point & 0x3F)));
  }
}

}  // namespace thalweg
