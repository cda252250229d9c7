#include "types/text/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace thalweg {
namespace {

bool isBlankOrControl(char c) {
  return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f;
}
bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

bool equalsLower(std::string_view text, std::string_view lowerCase) {
  return text.size() == lowerCase.size() && std::equal(text.begin(), text.end(), lowerCase.begin(),
                                                       [](char a, char b) { return lower(a) == b; });
}

// Parts of a decimal number: [sign] digits [. digits] [e [sign] digits]
struct NumberParts {
  bool negative = false;
  std::string_view integer;
  std::string_view fraction;
  int64_t exponent = 0;
  bool exponentTooLarge = false;
};

size_t countDigits(std::string_view text) {
  size_t n = 0;
  while (n < text.size() && isDigit(text[n])) ++n;
  return n;
}

bool splitNumber(std::string_view text, NumberParts* parts) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    parts->negative = text[0] == '-';
    text.remove_prefix(1);
  }
  parts->integer = text.substr(0, countDigits(text));
  text.remove_prefix(parts->integer.size());
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    parts->fraction = text.substr(0, countDigits(text));
    text.remove_prefix(parts->fraction.size());
  }
  if (parts->integer.empty() && parts->fraction.empty()) return false;
  if (text.empty()) return true;
  if (lower(text[0]) != 'e') return false;
  text.remove_prefix(1);
  if (!text.empty() && text[0] == '+') {
    text.remove_prefix(1);
    if (!text.empty() && !isDigit(text[0])) return false;
  }
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), parts->exponent);
  parts->exponentTooLarge = status == std::errc::result_out_of_range;
  return !text.empty() && end == text.data() + text.size() && status != std::errc::invalid_argument;
}

// Decimal exponent of the first significant digit (0 for "1.5", -2 for "0.01"); no digits: a very small
// number.
int64_t magnitude(const NumberParts& parts) {
  const size_t first = parts.integer.find_first_not_of('0');
  if (first != std::string_view::npos) {
    return static_cast<int64_t>(parts.integer.size() - first) - 1 + parts.exponent;
  }
  const size_t inFraction = parts.fraction.find_first_not_of('0');
  if (inFraction == std::string_view::npos) return std::numeric_limits<int64_t>::min() / 2;
  return -static_cast<int64_t>(inFraction) - 1 + parts.exponent;
}

template <typename Float>
Float outOfRange(std::string_view text) {
  NumberParts parts;
  splitNumber(text, &parts);
  // An exponent beyond 64 bits decides by its sign alone, unless all digits are zero.
  bool large = false;
  if (parts.exponentTooLarge) {
    const size_t mark = text.find_first_of("eE");
    parts.exponent = 0;
    large = text[mark + 1] != '-' && magnitude(parts) > std::numeric_limits<int64_t>::min() / 2;
  } else {
    large = magnitude(parts) > 0;
  }
  const Float value = large ? std::numeric_limits<Float>::infinity() : Float(0);
  return parts.negative ? -value : value;
}

template <typename Float>
Float plainNumber(std::string_view text) {
  Float value = 0;
  const char* begin = text.data();
  const char* end = begin + text.size();
  if (begin != end && *begin == '+') ++begin;
  const auto [stop, status] = std::from_chars(begin, end, value);
  if (status == std::errc::result_out_of_range) return outOfRange<Float>(text);
  return value;
}

template <typename Float>
std::optional<Float> parseHexFloat(std::string_view text, bool negative) {
  // Java demands the binary exponent.
  if (text.find_first_of("pP") == std::string_view::npos) return std::nullopt;
  Float value = 0;
  const auto [end, status] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::hex);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return negative ? -value : value;
}

template <typename Float>
std::optional<Float> parseFloating(std::string_view text) {
  text = trimBlanks(text);
  if (text.empty()) return std::nullopt;
  std::string_view body = text;
  bool negative = false;
  if (body[0] == '-' || body[0] == '+') {
    negative = body[0] == '-';
    body.remove_prefix(1);
  }
  if (equalsLower(body, "inf") || equalsLower(body, "infinity")) {
    const Float infinity = std::numeric_limits<Float>::infinity();
    return negative ? -infinity : infinity;
  }
  if (equalsLower(text, "nan") || body == "NaN") return std::numeric_limits<Float>::quiet_NaN();
  if (body.empty()) return std::nullopt;
  const char last = lower(body.back());
  if (last == 'd' || last == 'f') {
    body.remove_suffix(1);
    text.remove_suffix(1);
  }
  if (body.size() > 2 && body[0] == '0' && lower(body[1]) == 'x') {
    return parseHexFloat<Float>(body.substr(2), negative);
  }
  NumberParts parts;
  if (!splitNumber(text, &parts)) return std::nullopt;
  return plainNumber<Float>(text);
}

// Digits and exponent from the shortest scientific form, laid out as Java prints them.
void layOutLikeJava(std::string_view scientific, std::string* out) {
  if (scientific[0] == '-') {
    out->push_back('-');
    scientific.remove_prefix(1);
  }
  const size_t mark = scientific.find('e');
  int exponent = 0;
  std::string_view exponentText = scientific.substr(mark + 1);
  if (exponentText[0] == '+') exponentText.remove_prefix(1);
  std::from_chars(exponentText.data(), exponentText.data() + exponentText.size(), exponent);
  char digits[32];
  size_t count = 0;
  for (char c : scientific.substr(0, mark)) {
    if (c != '.') digits[count++] = c;
  }
  if (count == 2 && digits[1] == '0') count = 1;
  if (exponent >= -3 && exponent < 0) {
    out->append("0.");
    out->append(static_cast<size_t>(-exponent - 1), '0');
    out->append(digits, count);
  } else if (exponent >= 0 && exponent < 7) {
    const size_t whole = static_cast<size_t>(exponent) + 1;
    out->append(digits, std::min(whole, count));
    if (whole > count) out->append(whole - count, '0');
    out->push_back('.');
    if (count > whole) {
      out->append(digits + whole, count - whole);
    } else {
      out->push_back('0');
    }
  } else {
    out->push_back(digits[0]);
    out->push_back('.');
    if (count > 1) {
      out->append(digits + 1, count - 1);
    } else {
      out->push_back('0');
    }
    out->push_back('E');
    appendLong(exponent, out);
  }
}

template <typename Float>
void appendFloating(Float value, std::string* out) {
  if (std::isnan(value)) {
    out->append("NaN");
  } else if (std::isinf(value)) {
    out->append(value < 0 ? "-Infinity" : "Infinity");
  } else if (value == 0) {
    out->append(std::signbit(value) ? "-0.0" : "0.0");
  } else {
    char buffer[64];
    char* limit = buffer + sizeof buffer;
    char* end = std::to_chars(buffer, limit, value, std::chars_format::scientific).ptr;
    // Java prints two digits at least, and then the two that come closest: 4.9E-324, not 5.0E-324.
    const bool oneDigit = buffer[value < 0 ? 2 : 1] == 'e';
    if (oneDigit) end = std::to_chars(buffer, limit, value, std::chars_format::scientific, 1).ptr;
    layOutLikeJava(std::string_view(buffer, static_cast<size_t>(end - buffer)), out);
  }
}

constexpr int kMaxDecimalDigits = 38;

}  // namespace

std::string_view trimBlanks(std::string_view text) {
  while (!text.empty() && isBlankOrControl(text.front())) text.remove_prefix(1);
  while (!text.empty() && isBlankOrControl(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<int64_t> parseIntegral(std::string_view text, int64_t minimum, int64_t maximum,
                                     bool allowDecimal) {
  text = trimBlanks(text);
  if (text.empty()) return std::nullopt;
  const bool negative = text[0] == '-';
  if (negative || text[0] == '+') text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  size_t i = 0;
  int64_t value = 0;  // negative, since the smallest number has no positive counterpart
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && allowDecimal) break;
    if (!isDigit(text[i])) return std::nullopt;
    if (__builtin_mul_overflow(value, int64_t{10}, &value)) return std::nullopt;
    if (__builtin_sub_overflow(value, int64_t{text[i] - '0'}, &value)) return std::nullopt;
  }
  for (++i; i < text.size(); ++i) {
    if (!isDigit(text[i])) return std::nullopt;
  }
  if (!negative && __builtin_sub_overflow(int64_t{0}, value, &value)) return std::nullopt;
  if (value < minimum || value > maximum) return std::nullopt;
  return value;
}

std::optional<double> parseDouble(std::string_view text) {
  return parseFloating<double>(text);
}
std::optional<float> parseFloat(std::string_view text) {
  return parseFloating<float>(text);
}
double plainNumberToDouble(std::string_view text) {
  return plainNumber<double>(text);
}
float plainNumberToFloat(std::string_view text) {
  return plainNumber<float>(text);
}

DecimalParse parseDecimal(std::string_view text, int precision, int scale, arrow::Decimal128* value) {
  NumberParts parts;
  if (!splitNumber(text, &parts)) return DecimalParse::Invalid;
  // BigDecimal's scale is a 32-bit integer.
  if (parts.exponentTooLarge || parts.exponent > std::numeric_limits<int32_t>::max() ||
      parts.exponent < -int64_t{std::numeric_limits<int32_t>::max()}) {
    return DecimalParse::Invalid;
  }
  const int64_t top = magnitude(parts);
  // Number of digits from the first significant one to the last kept one.
  const int64_t kept = top + 1 + scale;
  if (kept < 0) {
    *value = arrow::Decimal128(0);
    return DecimalParse::Ok;
  }
  if (kept > precision) return DecimalParse::Overflow;
  arrow::Decimal128 result(0);
  const int64_t digitCount = static_cast<int64_t>(parts.integer.size() + parts.fraction.size());
  auto digitAt = [&parts, digitCount](int64_t i) -> int {
    if (i < 0 || i >= digitCount) return 0;
    const auto index = static_cast<size_t>(i);
    const size_t whole = parts.integer.size();
    return (index < whole ? parts.integer[index] : parts.fraction[index - whole]) - '0';
  };
  // Index of the first significant digit among all digits.
  const int64_t first = static_cast<int64_t>(parts.integer.size()) - 1 + parts.exponent - top;
  uint64_t chunk = 0;
  uint64_t chunkScale = 1;
  for (int64_t i = 0; i < kept; ++i) {
    chunk = chunk * 10 + static_cast<uint64_t>(digitAt(first + i));
    chunkScale *= 10;
    if (chunkScale == 1'000'000'000'000'000'000ULL || i + 1 == kept) {
      result = result * arrow::Decimal128(static_cast<int64_t>(chunkScale)) +
               arrow::Decimal128(static_cast<int64_t>(chunk));
      chunk = 0;
      chunkScale = 1;
    }
  }
  if (digitAt(first + kept) >= 5) result = result + arrow::Decimal128(1);
  if (precision < kMaxDecimalDigits + 1 && !result.FitsInPrecision(precision)) return DecimalParse::Overflow;
  *value = parts.negative ? -result : result;
  return DecimalParse::Ok;
}

std::optional<bool> parseBoolean(std::string_view text) {
  text = trimBlanks(text);
  for (std::string_view word : {"t", "true", "y", "yes", "1"}) {
    if (equalsLower(text, word)) return true;
  }
  for (std::string_view word : {"f", "false", "n", "no", "0"}) {
    if (equalsLower(text, word)) return false;
  }
  return std::nullopt;
}

void appendDouble(double value, std::string* out) {
  appendFloating(value, out);
}
void appendFloat(float value, std::string* out) {
  appendFloating(value, out);
}

void appendLong(int64_t value, std::string* out) {
  char buffer[24];
  const auto [end, status] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out->append(buffer, static_cast<size_t>(end - buffer));
}

void appendDecimal(const arrow::Decimal128& value, int scale, std::string* out) {
  std::string digits = value.ToIntegerString();
  if (digits[0] == '-') {
    out->push_back('-');
    digits.erase(0, 1);
  }
  const auto fraction = static_cast<size_t>(scale);
  if (digits.size() <= fraction) digits.insert(0, fraction + 1 - digits.size(), '0');
  out->append(digits, 0, digits.size() - fraction);
  if (fraction > 0) {
    out->push_back('.');
    out->append(digits, digits.size() - fraction);
  }
}

}  // namespace thalweg
