#include "storage/uri_path.h"

#include <vector>

#include "common/hex.h"

namespace thalweg {
namespace {

bool isLegalInUriPath(unsigned char c) {
  if (c >= 0x80) return true;
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return c != 0 &&
         std::string_view("_-!.~'()*,;:$&+=@/").find(static_cast<char>(c)) != std::string_view::npos;
}

}  // namespace

std::string percentEncoded(std::string_view text, bool (*keeps)(unsigned char)) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char raw : text) {
    const auto c = static_cast<unsigned char>(raw);
    if (keeps(c)) {
      encoded += raw;
    } else {
      encoded += '%';
      encoded += kHex[c >> 4];
      encoded += kHex[c & 15];
    }
  }
  return encoded;
}

std::string encodeUriPath(std::string_view path) {
  return percentEncoded(path, isLegalInUriPath);
}

std::string decodeUriPath(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? hexDigit(text[i + 2]) : -1;
    if (low >= 0) {
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

std::string normalizeAbsolutePath(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, end - start);
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    start = end + 1;
  }
  std::string normalized;
  for (const std::string_view part : parts) normalized.append("/").append(part);
  return normalized.empty() ? "/" : normalized;
}

}  // namespace thalweg
