#include "delta/files/statistics.h"

namespace thalweg::delta {
namespace {

constexpr std::string_view kAsciiEnd = "\x7F";
constexpr std::string_view kLastCharacter = "\xF4\x8F\xBF\xBF";  // U+10FFFF

// Bytes of the character at the front of the text; 0 where it is invalid UTF-8 (overlong forms and surrogates
// too).
size_t characterBytes(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                        : first >= 0xE0 && first <= 0xEF ? 3
                        : first >= 0xF0 && first <= 0xF4 ? 4
                                                         : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  if (first == 0xE0 && at(1) < 0xA0) return 0;
  if (first == 0xED && at(1) > 0x9F) return 0;
  if (first == 0xF0 && at(1) < 0x90) return 0;
  if (first == 0xF4 && at(1) > 0x8F) return 0;
  return length;
}

int64_t unitsOf(size_t bytes) {
  return bytes == 4 ? 2 : 1;
}

struct Front {
  size_t bytes = 0;
  int64_t units = 0;
  bool valid = true;
};

Front frontOf(std::string_view text, int64_t units) {
  Front front;
  while (front.bytes < text.size()) {
    const size_t length = characterBytes(text.substr(front.bytes));
    if (length == 0) {
      front.valid = false;
      return front;
    }
    if (front.units + unitsOf(length) > units) return front;
    front.bytes += length;
    front.units += unitsOf(length);
  }
  return front;
}

}  // namespace

std::optional<std::string> truncateMinimum(std::string_view text, int64_t units) {
  const Front front = frontOf(text, units);
  if (!front.valid) return std::nullopt;
  return std::string(text.substr(0, front.bytes));
}

std::optional<std::string> truncateMaximum(std::string_view text, int64_t units) {
  Front front = frontOf(text, units);
  while (front.valid && front.bytes < text.size() && front.units <= 2 * units) {
    const std::string_view rest = text.substr(front.bytes);
    const size_t length = characterBytes(rest);
    if (length == 0) return std::nullopt;
    const std::string_view next = rest.substr(0, length);
    if (next < kAsciiEnd) return std::string(text.substr(0, front.bytes)).append(kAsciiEnd);
    if (next < kLastCharacter) return std::string(text.substr(0, front.bytes)).append(kLastCharacter);
    front.bytes += length;
    front.units += unitsOf(length);
  }
  if (!front.valid || front.bytes < text.size()) return std::nullopt;
  return std::string(text);
}

}  // namespace thalweg::delta
