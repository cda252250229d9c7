// Hexadecimal digits.
#pragma once

namespace thalweg {

// A digit's value in either case, −1 where the character is none.
constexpr int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace thalweg
