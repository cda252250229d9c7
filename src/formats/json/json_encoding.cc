#include "formats/json/json_encoding.h"

#include <cstdint>

#include "formats/json/json_reader.h"

namespace thalweg {
namespace {

uint32_t unitAt(std::string_view bytes, size_t at, size_t width, bool little) {
  uint32_t unit = 0;
  for (size_t i = 0; i < width; ++i) {
    const auto byte =
        static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + (little ? width - 1 - i : i)]));
    unit = unit << 8 | byte;
  }
  return unit;
}

void decodeUtf16(std::string_view bytes, bool little, std::string* out) {
  constexpr uint32_t kReplacement = 0xfffd;
  size_t i = 0;
  while (i + 2 <= bytes.size()) {
    uint32_t unit = unitAt(bytes, i, 2, little);
    i += 2;
    if (unit >= 0xd800 && unit <= 0xdbff && i + 2 <= bytes.size()) {
      const uint32_t low = unitAt(bytes, i, 2, little);
      if (low >= 0xdc00 && low <= 0xdfff) {
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        i += 2;
      }
    }
    appendUtf8(unit >= 0xd800 && unit <= 0xdfff ? kReplacement : unit, out);
  }
  if (i < bytes.size()) appendUtf8(kReplacement, out);
}

void decodeUtf32(std::string_view bytes, bool little, std::string* out) {
  constexpr uint32_t kReplacement = 0xfffd;
  size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) {
    const uint32_t unit = unitAt(bytes, i, 4, little);
    const bool valid = unit <= 0x10ffff && (unit < 0xd800 || unit > 0xdfff);
    appendUtf8(valid ? unit : kReplacement, out);
  }
  if (i < bytes.size()) appendUtf8(kReplacement, out);
}

}  // namespace

std::string_view detectJsonEncoding(std::string_view bytes, size_t* markSize) {
  *markSize = 0;
  const auto byte = [bytes](size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0xffU;
  };
  if (bytes.starts_with("\xef\xbb\xbf")) {
    *markSize = 3;
    return "UTF-8";
  }
  if (bytes.size() >= 4 && byte(0) == 0 && byte(1) == 0 && byte(2) == 0xfe && byte(3) == 0xff) {
    *markSize = 4;
    return "UTF-32BE";
  }
  if (bytes.size() >= 4 && byte(0) == 0xff && byte(1) == 0xfe && byte(2) == 0 && byte(3) == 0) {
    *markSize = 4;
    return "UTF-32LE";
  }
  if (byte(0) == 0xfe && byte(1) == 0xff && bytes.size() >= 2) {
    *markSize = 2;
    return "UTF-16BE";
  }
  if (byte(0) == 0xff && byte(1) == 0xfe) {
    *markSize = 2;
    return "UTF-16LE";
  }
  if (bytes.size() >= 4 && byte(0) == 0 && byte(1) == 0 && byte(2) == 0) return "UTF-32BE";
  if (bytes.size() >= 4 && byte(1) == 0 && byte(2) == 0 && byte(3) == 0) return "UTF-32LE";
  if (bytes.size() >= 2 && byte(0) == 0 && byte(1) != 0) return "UTF-16BE";
  if (bytes.size() >= 2 && byte(0) != 0 && byte(1) == 0) return "UTF-16LE";
  return "UTF-8";
}

void decodeText(std::string_view bytes, std::string_view encoding, std::string* out) {
  size_t mark = 0;
  if (encoding == "UTF-16" || encoding == "UTF-32") {
    const std::string_view found = detectJsonEncoding(bytes, &mark);
    const bool little = mark > 0 && found.ends_with("LE");
    encoding == "UTF-16" ? decodeUtf16(bytes.substr(mark), little, out)
                         : decodeUtf32(bytes.substr(mark), little, out);
  } else if (encoding == "UTF-16LE" || encoding == "UTF-16BE") {
    decodeUtf16(bytes, encoding.ends_with("LE"), out);
  } else if (encoding == "UTF-32LE" || encoding == "UTF-32BE") {
    decodeUtf32(bytes, encoding.ends_with("LE"), out);
  } else if (encoding == "ISO-8859-1") {
    for (char c : bytes) appendUtf8(static_cast<unsigned char>(c), out);
  } else if (encoding == "US-ASCII") {
    for (char c : bytes)
      appendUtf8(static_cast<unsigned char>(c) < 0x80 ? static_cast<unsigned char>(c) : 0xfffd, out);
  } else {
    decodeLikeJava(bytes, out);
  }
}

std::string encodeAscii(std::string_view text, std::string_view encoding) {
  std::string result;
  const size_t width = encoding.starts_with("UTF-16") ? 2 : (encoding.starts_with("UTF-32") ? 4 : 1);
  for (char c : text) {
    if (!encoding.ends_with("LE")) result.append(width - 1, '\0');
    result.push_back(c);
    if (encoding.ends_with("LE")) result.append(width - 1, '\0');
  }
  return result;
}

}  // namespace thalweg
