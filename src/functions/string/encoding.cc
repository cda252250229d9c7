// Texts and bytes in other forms: base64, hexadecimal, character sets, digests.
#include <array>

#include <openssl/evp.h>

#include "common/error.h"
#include "common/hex.h"
#include "functions/coercion.h"
#include "functions/row_kernels.h"
#include "functions/signature.h"
#include "functions/string/tables.h"
#include "functions/string/utf8.h"

namespace thalweg {
namespace {

using View = std::string_view;

constexpr View kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr char kHex[] = "0123456789ABCDEF";

void appendBase64(std::string* out, View bytes) {
  size_t at = 0;
  for (; at + 2 < bytes.size(); at += 3) {
    const uint32_t three = static_cast<uint32_t>(static_cast<unsigned char>(bytes[at])) << 16 |
                           static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + 1])) << 8 | static_cast<unsigned char>(bytes[at + 2]);
    for (int shift = 18; shift >= 0; shift -= 6) *out += kBase64[three >> shift & 63];
  }
  if (at + 1 == bytes.size()) {
    const auto one = static_cast<unsigned char>(bytes[at]);
    *out += kBase64[one >> 2];
    *out += kBase64[(one & 3) << 4];
    *out += "==";
  } else if (at + 2 == bytes.size()) {
    const auto one = static_cast<unsigned char>(bytes[at]), two = static_cast<unsigned char>(bytes[at + 1]);
    *out += kBase64[one >> 2];
    *out += kBase64[(one & 3) << 4 | two >> 4];
    *out += kBase64[(two & 15) << 2];
    *out += '=';
  }
}

// Java's MIME decoder: what is no digit of base64 is skipped.
void appendUnbase64(std::string* out, View text) {
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const size_t digit = kBase64.find(c);
    if (digit == View::npos) continue;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      *out += static_cast<char>(bits >> count & 0xFF);
    }
  }
}

void appendHex(std::string* out, View bytes) {
  for (const char c : bytes) {
    *out += kHex[static_cast<unsigned char>(c) >> 4];
    *out += kHex[static_cast<unsigned char>(c) & 15];
  }
}

// False where the text is no hexadecimal number.
bool appendUnhex(std::string* out, View text) {
  size_t at = 0;
  if (text.size() % 2) {
    const int digit = hexDigit(text[at++]);
    if (digit < 0) return false;
    *out += static_cast<char>(digit);
  }
  for (; at < text.size(); at += 2) {
    const int high = hexDigit(text[at]), low = hexDigit(text[at + 1]);
    if (high < 0 || low < 0) return false;
    *out += static_cast<char>(high << 4 | low);
  }
  return true;
}

ExpressionPtr resolveHex(const FunctionCall& call, const FunctionContext& context) {
  const TypeId id = call.arguments[0]->type()->id();
  if (id == TypeId::String || id == TypeId::Binary) {
    return makeCall("hex", call.arguments, stringType(), rowKernel<TextResult, View>(appendHex));
  }
  return makeCall("hex", coercedArguments(call, {longType()}, context), stringType(), rowKernel<TextResult, int64_t>([](std::string* out, int64_t value) {
                    auto bits = static_cast<uint64_t>(value);
                    std::array<char, 16> digits;
                    size_t at = digits.size();
                    do {
                      digits[--at] = kHex[bits & 15];
                      bits >>= 4;
                    } while (bits);
                    out->append(digits.data() + at, digits.size() - at);
                  }));
}

enum class Charset { Utf8, Latin1, Ascii, Utf16, Utf16Be, Utf16Le, Utf32 };

Charset charsetOf(View name, const char* function) {
  const std::string lower = toLowerAscii(name);
  if (lower == "utf-8") return Charset::Utf8;
  if (lower == "iso-8859-1") return Charset::Latin1;
  if (lower == "us-ascii") return Charset::Ascii;
  if (lower == "utf-16") return Charset::Utf16;
  if (lower == "utf-16be") return Charset::Utf16Be;
  if (lower == "utf-16le") return Charset::Utf16Le;
  if (lower == "utf-32") return Charset::Utf32;
  throw Error("INVALID_PARAMETER_VALUE.CHARSET",
              std::string(function) + " knows US-ASCII, ISO-8859-1, UTF-8, UTF-16, UTF-16BE, UTF-16LE and UTF-32, not '" + std::string(name) + "'.",
              {{"parameter", "`charset`"}, {"functionName", "`" + std::string(function) + "`"}, {"charset", std::string(name)},
               {"charsets", "iso-8859-1, us-ascii, utf-16, utf-16be, utf-16le, utf-32, utf-8"}});
}

[[noreturn]] void throwMalformed(const char* function, View charset) {
  throw Error("MALFORMED_CHARACTER_CODING", std::string(function) + " met characters that " + std::string(charset) + " does not have.",
              {{"functionName", "`" + std::string(function) + "`"}, {"charset", std::string(charset)}});
}

void appendUnit16(uint32_t unit, bool littleEndian, std::string* out) {
  const char high = static_cast<char>(unit >> 8), low = static_cast<char>(unit & 0xFF);
  *out += littleEndian ? low : high;
  *out += littleEndian ? high : low;
}

void appendEncoded(std::string* out, View text, View charsetName) {
  const Charset charset = charsetOf(charsetName, "encode");
  if (charset == Charset::Utf8) {
    *out += text;
    return;
  }
  if (charset == Charset::Utf16) *out += View("\xFE\xFF", 2);
  for (size_t at = 0; at < text.size(); at += characterSize(text, at)) {
    const uint32_t point = codePointAt(text, at);
    if (charset == Charset::Latin1 || charset == Charset::Ascii) {
      if (point > (charset == Charset::Ascii ? 0x7Fu : 0xFFu)) throwMalformed("encode", charsetName);
      *out += static_cast<char>(point);
    } else if (charset == Charset::Utf32) {
      for (int shift = 24; shift >= 0; shift -= 8) *out += static_cast<char>(point >> shift & 0xFF);
    } else if (point >= 0x10000) {
      appendUnit16(0xD800 + ((point - 0x10000) >> 10), charset == Charset::Utf16Le, out);
      appendUnit16(0xDC00 + ((point - 0x10000) & 0x3FF), charset == Charset::Utf16Le, out);
    } else {
      appendUnit16(point, charset == Charset::Utf16Le, out);
    }
  }
}

bool isValidUtf8(View text) {
  for (size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const size_t size = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (size == 0 || size > text.size() - at) return false;
    for (size_t i = 1; i < size; ++i) {
      if ((static_cast<unsigned char>(text[at + i]) & 0xC0) != 0x80) return false;
    }
    const uint32_t point = codePointAt(text, at);
    if ((size == 3 && (point < 0x800 || (point >= 0xD800 && point < 0xE000))) || (size == 4 && (point < 0x10000 || point > 0x10FFFF))) return false;
    at += size;
  }
  return true;
}

void appendDecoded(std::string* out, View bytes, View charsetName) {
  const Charset charset = charsetOf(charsetName, "decode");
  if (charset == Charset::Utf8) {
    if (!isValidUtf8(bytes)) throwMalformed("decode", charsetName);
    *out += bytes;
    return;
  }
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])); };
  if (charset == Charset::Latin1 || charset == Charset::Ascii) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (charset == Charset::Ascii && byte(i) > 0x7F) throwMalformed("decode", charsetName);
      appendCodePoint(byte(i), out);
    }
    return;
  }
  const size_t unit = charset == Charset::Utf32 ? 4 : 2;
  if (bytes.size() % unit) throwMalformed("decode", charsetName);
  bool little = charset == Charset::Utf16Le;
  size_t at = 0;
  if (charset == Charset::Utf16 && bytes.size() >= 2 && ((byte(0) == 0xFE && byte(1) == 0xFF) || (byte(0) == 0xFF && byte(1) == 0xFE))) {
    little = byte(0) == 0xFF;
    at = 2;
  }
  const auto unit16 = [&](size_t i) { return little ? byte(i + 1) << 8 | byte(i) : byte(i) << 8 | byte(i + 1); };
  for (; at < bytes.size(); at += unit) {
    uint32_t point = unit == 4 ? byte(at) << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 | byte(at + 3) : unit16(at);
    if (unit == 2 && point >= 0xD800 && point < 0xE000) {
      const bool paired = point < 0xDC00 && at + 4 <= bytes.size() && unit16(at + 2) >= 0xDC00 && unit16(at + 2) < 0xE000;
      if (!paired) throwMalformed("decode", charsetName);
      point = 0x10000 + ((point - 0xD800) << 10) + (unit16(at + 2) - 0xDC00);
      at += 2;
    }
    if (point > 0x10FFFF) throwMalformed("decode", charsetName);
    appendCodePoint(point, out);
  }
}

void appendDigest(const EVP_MD* algorithm, View bytes, std::string* out) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  THALWEG_ASSERT(EVP_Digest(bytes.data(), bytes.size(), digest, &size, algorithm, nullptr) == 1);
  for (unsigned int i = 0; i < size; ++i) {
    *out += static_cast<char>("0123456789abcdef"[digest[i] >> 4]);
    *out += static_cast<char>("0123456789abcdef"[digest[i] & 15]);
  }
}

FunctionRow digestRow(std::string_view name, const EVP_MD* (*algorithm)()) {
  return functionRow({name, {binaryType()}, stringType(), rowKernel<TextResult, View>([algorithm](std::string* out, View bytes) {
                        appendDigest(algorithm(), bytes, out);
                      })});
}

bool appendSha2(std::string* out, View bytes, int32_t bits) {
  const EVP_MD* algorithm = bits == 224 ? EVP_sha224() : bits == 0 || bits == 256 ? EVP_sha256() : bits == 384 ? EVP_sha384() : bits == 512 ? EVP_sha512() : nullptr;
  if (!algorithm) return false;
  appendDigest(algorithm, bytes, out);
  return true;
}

int64_t crc32(View bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> made{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xEDB88320u ^ value >> 1 : value >> 1;
      made[i] = value;
    }
    return made;
  }();
  uint32_t crc = 0xFFFFFFFFu;
  for (const char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ crc >> 8;
  return static_cast<int64_t>(crc ^ 0xFFFFFFFFu);
}

FunctionRow characterRow(std::string_view name) {
  return functionRow({name, {longType()}, stringType(), rowKernel<TextResult, int64_t>([](std::string* out, int64_t code) {
                        if (code >= 0) appendCodePoint(static_cast<uint32_t>(code & 0xFF), out);
                      })});
}

}  // namespace

std::vector<FunctionRow> encodingRows() {
  const DataTypePtr text = stringType(), bytes = binaryType();
  return {
      functionRow({"base64", {bytes}, text, rowKernel<TextResult, View>(appendBase64)}),
      functionRow({"unbase64", {text}, bytes, rowKernel<TextResult, View>(appendUnbase64)}),
      {"hex", 1, 1, resolveHex},
      functionRow({"unhex", {text}, bytes, rowKernel<TextResult, View>(appendUnhex), {}, true}),
      functionRow({"encode", {text, text}, bytes, rowKernel<TextResult, View, View>(appendEncoded)}),
      functionRow({"decode", {bytes, text}, text, rowKernel<TextResult, View, View>(appendDecoded)}),
      functionRow({"is_valid_utf8", {text}, booleanType(), rowKernel<bool, View>(isValidUtf8)}),
      digestRow("md5", EVP_md5),
      digestRow("sha", EVP_sha1),
      digestRow("sha1", EVP_sha1),
      functionRow({"sha2", {bytes, intType()}, text, rowKernel<TextResult, View, int32_t>(appendSha2), {}, true}),
      functionRow({"crc32", {bytes}, longType(), rowKernel<int64_t, View>(crc32)}),
      functionRow({"ascii", {text}, intType(),
                   rowKernel<int32_t, View>([](View t) { return t.empty() ? 0 : static_cast<int32_t>(codePointAt(t, 0)); })}),
      characterRow("char"),
      characterRow("chr"),
  };
}

}  // namespace thalweg
