#include "delta/scan/z85.h"

#include <array>
#include <cstdint>

namespace thalweg::delta {
namespace {

constexpr std::string_view kAlphabet =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

constexpr std::array<int8_t, 256> makeDigits() {
  std::array<int8_t, 256> digits{};
  for (auto& digit : digits) digit = -1;
  for (size_t i = 0; i < kAlphabet.size(); ++i)
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
  return digits;
}

constexpr std::array<int8_t, 256> kDigits = makeDigits();

}  // namespace

std::string encodeZ85(std::string_view bytes) {
  constexpr uint32_t kPowers[] = {85u * 85 * 85 * 85, 85u * 85 * 85, 85u * 85, 85, 1};
  std::string text;
  text.reserve((bytes.size() + 3) / 4 * 5);
  for (size_t start = 0; start < bytes.size(); start += 4) {
    uint32_t value = 0;
    for (size_t i = start; i < start + 4; ++i) {
      value = value << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u);
    }
    for (const uint32_t power : kPowers) text += kAlphabet[value / power % 85];
  }
  return text;
}

std::optional<std::string> decodeZ85(std::string_view text) {
  if (text.size() % 5 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 5 * 4);
  for (size_t start = 0; start < text.size(); start += 5) {
    uint64_t value = 0;
    for (size_t i = 0; i < 5; ++i) {
      const int8_t digit = kDigits[static_cast<unsigned char>(text[start + i])];
      if (digit < 0) return std::nullopt;
      value = value * 85 + static_cast<uint64_t>(digit);
    }
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
  }
  return bytes;
}

}  // namespace thalweg::delta
