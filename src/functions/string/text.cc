// Case, length, slices, padding and trimming of texts.
#include <algorithm>

#include <unicode/locid.h>
#include <unicode/unistr.h>

#include "common/error.h"
#include "functions/coercion.h"
#include "functions/row_kernels.h"
#include "functions/signature.h"
#include "functions/string/tables.h"
#include "functions/string/utf8.h"

namespace thalweg {
namespace {

constexpr int64_t kMaxText = 1LL << 30;

bool isAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
}

enum class LetterCase { Upper, Lower };

void appendInCase(LetterCase wanted, std::string_view text, std::string* out) {
  if (isAscii(text)) {
    const size_t start = out->size();
    out->resize(start + text.size());
    std::transform(text.begin(), text.end(), out->begin() + static_cast<ptrdiff_t>(start), [&](char c) {
      if (wanted == LetterCase::Upper) return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    });
    return;
  }
  auto unicode = icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
  if (wanted == LetterCase::Upper) unicode.toUpper(icu::Locale::getRoot());
  else unicode.toLower(icu::Locale::getRoot());
  std::string converted;
  unicode.toUTF8String(converted);
  *out += converted;
}

// The first letter of each word that a blank ends in upper case, all others in lower case.
void appendInitCap(std::string_view text, std::string* out) {
  std::string lower;
  appendInCase(LetterCase::Lower, text, &lower);
  bool first = true;
  for (size_t at = 0; at < lower.size();) {
    const size_t size = characterSize(lower, at);
    const std::string_view character = std::string_view(lower).substr(at, size);
    if (first) appendInCase(LetterCase::Upper, character, out);
    else *out += character;
    first = character == " ";
    at += size;
  }
}

// SUBSTRING over units: characters of a text, bytes of a binary. Positions count from 1, from the end where negative.
std::pair<int64_t, int64_t> sliceOf(int64_t count, int64_t position, int64_t length) {
  int64_t start = position > 0 ? position - 1 : position < 0 ? count + position : 0;
  const int64_t end = std::min(count, start + length);
  start = std::max<int64_t>(start, 0);
  return {std::min(start, count), std::max(end, std::min(start, count))};
}

void appendSubstring(std::string_view text, int32_t position, int32_t length, std::string* out) {
  if (length <= 0) return;
  if (isAscii(text)) {
    const auto [start, end] = sliceOf(static_cast<int64_t>(text.size()), position, length);
    *out += text.substr(static_cast<size_t>(start), static_cast<size_t>(end - start));
    return;
  }
  const auto [start, end] = sliceOf(characterCount(text), position, length);
  const size_t from = characterOffset(text, start);
  const size_t size = characterOffset(text.substr(from), end - start);
  *out += text.substr(from, size);
}

ExpressionPtr resolveSubstring(const FunctionCall& call, const FunctionContext& context) {
  const bool binary = call.arguments[0]->type()->id() == TypeId::Binary;
  FunctionCall full = call;
  const size_t given = call.arguments.size();
  if (given == 2) full.arguments.push_back(Literal::of(INT32_MAX));
  auto arguments = coercedArguments(full, {binary ? binaryType() : stringType(), intType(), intType()}, context);
  auto kernel = binary ? rowKernel<TextResult, std::string_view, int32_t, int32_t>([](std::string* out, std::string_view bytes, int32_t position, int32_t length) {
    if (length <= 0) return;
    const auto [start, end] = sliceOf(static_cast<int64_t>(bytes.size()), position, length);
    *out += bytes.substr(static_cast<size_t>(start), static_cast<size_t>(end - start));
  })
                       : rowKernel<TextResult, std::string_view, int32_t, int32_t>([](std::string* out, std::string_view text, int32_t position, int32_t length) {
    appendSubstring(text, position, length, out);
  });
  const std::string name = toLowerAscii(call.name);
  return makeCall(name, arguments, binary ? binaryType() : stringType(), kernel, false, [name](const std::vector<std::string>& a) {
    return name + "(" + a[0] + ", " + a[1] + ", " + a[2] + ")";
  });
}

// Trimming: characters at the ends that are among `set`.
enum class Side { Both, Left, Right };

bool contains(std::string_view set, std::string_view character) {
  for (size_t at = 0; at < set.size(); at += characterSize(set, at)) {
    if (set.substr(at, characterSize(set, at)) == character) return true;
  }
  return false;
}

std::string_view trimmed(std::string_view text, std::string_view set, Side side) {
  if (side != Side::Right) {
    while (!text.empty()) {
      const size_t size = characterSize(text, 0);
      if (!contains(set, text.substr(0, size))) break;
      text.remove_prefix(size);
    }
  }
  if (side != Side::Left) {
    while (!text.empty()) {
      size_t start = text.size() - 1;
      // Back to a lead byte that reaches the end, or the last byte alone.
      for (size_t back = 0; back < 4 && back < text.size(); ++back) {
        const size_t lead = text.size() - 1 - back;
        if ((static_cast<unsigned char>(text[lead]) & 0xC0) == 0x80) continue;
        if (lead + characterSize(text, lead) == text.size()) start = lead;
        break;
      }
      if (!contains(set, text.substr(start))) break;
      text.remove_suffix(text.size() - start);
    }
  }
  return text;
}

// Calls come as trim(text), or as trim(characters, text).
FunctionRow trimRow(std::string_view name, Side side, bool textFirst) {
  return {name, 1, 2, [side, textFirst](const FunctionCall& call, const FunctionContext& context) {
            const auto arguments = coercedArguments(call, {stringType(), stringType()}, context);
            const std::string name = toLowerAscii(call.name);
            if (arguments.size() == 1) {
              return makeCall(name, arguments, stringType(), rowKernel<TextResult, std::string_view>([side](std::string* out, std::string_view text) {
                                *out += trimmed(text, " ", side);
                              }));
            }
            auto kernel = rowKernel<TextResult, std::string_view, std::string_view>([side, textFirst](std::string* out, std::string_view a, std::string_view b) {
              *out += textFirst ? trimmed(a, b, side) : trimmed(b, a, side);
            });
            const char* word = side == Side::Both ? "BOTH " : side == Side::Left ? "LEADING " : "TRAILING ";
            return makeCall(name, arguments, stringType(), kernel, false, [word, textFirst](const std::vector<std::string>& a) {
              return std::string("TRIM(") + word + a[textFirst ? 1 : 0] + " FROM " + a[textFirst ? 0 : 1] + ")";
            });
          }};
}

void appendPadding(std::string_view pad, int64_t units, bool bytes, std::string* out) {
  while (units > 0 && !pad.empty()) {
    const int64_t padUnits = bytes ? static_cast<int64_t>(pad.size()) : characterCount(pad);
    const int64_t taken = std::min(units, padUnits);
    *out += bytes ? pad.substr(0, static_cast<size_t>(taken)) : pad.substr(0, characterOffset(pad, taken));
    units -= taken;
  }
}

ExpressionPtr resolvePad(const FunctionCall& call, const FunctionContext& context) {
  const bool left = equalsIgnoreCase(call.name, "lpad");
  const bool bytes = call.arguments[0]->type()->id() == TypeId::Binary &&
                     (call.arguments.size() == 2 || call.arguments[2]->type()->id() == TypeId::Binary);
  FunctionCall full = call;
  const DataTypePtr type = bytes ? binaryType() : stringType();
  if (call.arguments.size() == 2) {
    const ExpressionPtr blank = Literal::of(std::string(bytes ? 1 : 1, bytes ? '\0' : ' '));
    full.arguments.push_back(bytes ? castTo(blank, binaryType(), CastMode::Ansi) : blank);
  }
  auto arguments = coercedArguments(full, {type, intType(), type}, context);
  auto kernel = rowKernel<TextResult, std::string_view, int32_t, std::string_view>(
      [left, bytes](std::string* out, std::string_view text, int32_t length, std::string_view pad) {
        const int64_t units = bytes ? static_cast<int64_t>(text.size()) : characterCount(text);
        const int64_t wanted = std::max(length, 0);
        if (wanted <= units) {
          *out += bytes ? text.substr(0, static_cast<size_t>(wanted)) : text.substr(0, characterOffset(text, wanted));
          return;
        }
        if (left) appendPadding(pad, wanted - units, bytes, out);
        *out += text;
        if (!left) appendPadding(pad, wanted - units, bytes, out);
      });
  return makeCall(left ? "lpad" : "rpad", arguments, type, kernel);
}

ExpressionPtr resolveLength(const FunctionCall& call, const FunctionContext& context) {
  const bool binary = call.arguments[0]->type()->id() == TypeId::Binary;
  const auto arguments = coercedArguments(call, {binary ? binaryType() : stringType()}, context);
  return makeCall(toLowerAscii(call.name), arguments, intType(), rowKernel<int32_t, std::string_view>([binary](std::string_view text) {
                    return static_cast<int32_t>(binary ? static_cast<int64_t>(text.size()) : characterCount(text));
                  }));
}

ExpressionPtr resolveByteLength(const FunctionCall& call, const FunctionContext& context) {
  const bool bits = equalsIgnoreCase(call.name, "bit_length");
  const bool binary = call.arguments[0]->type()->id() == TypeId::Binary;
  const auto arguments = coercedArguments(call, {binary ? binaryType() : stringType()}, context);
  return makeCall(toLowerAscii(call.name), arguments, intType(), rowKernel<int32_t, std::string_view>([bits](std::string_view text) {
                    return static_cast<int32_t>(text.size() * (bits ? 8 : 1));
                  }));
}

void appendReversed(std::string* out, std::string_view text) {
  const size_t start = out->size();
  out->resize(start + text.size());
  size_t end = out->size();
  for (size_t at = 0; at < text.size();) {
    const size_t size = characterSize(text, at);
    end -= size;
    text.copy(out->data() + end, size, at);
    at += size;
  }
}

void appendRepeated(std::string* out, std::string_view text, int32_t times) {
  if (times <= 0) return;
  if (static_cast<int64_t>(text.size()) * times > kMaxText) {
    throw Error("COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION", "repeat would make a text of more than " + std::to_string(kMaxText) + " bytes.",
                {{"numberOfElements", std::to_string(static_cast<int64_t>(text.size()) * times)},
                 {"maxRoundedArrayLength", std::to_string(kMaxText)}, {"functionName", "`repeat`"}});
  }
  for (int32_t i = 0; i < times; ++i) *out += text;
}

FunctionRow caseRow(std::string_view name, LetterCase wanted) {
  return functionRow({name, {stringType()}, stringType(), rowKernel<TextResult, std::string_view>([wanted](std::string* out, std::string_view text) {
                        appendInCase(wanted, text, out);
                      })});
}

}  // namespace

std::vector<FunctionRow> textRows() {
  return {
      caseRow("upper", LetterCase::Upper),
      caseRow("ucase", LetterCase::Upper),
      caseRow("lower", LetterCase::Lower),
      caseRow("lcase", LetterCase::Lower),
      functionRow({"initcap", {stringType()}, stringType(),
                   rowKernel<TextResult, std::string_view>([](std::string* out, std::string_view text) { appendInitCap(text, out); })}),
      {"length", 1, 1, resolveLength},
      {"char_length", 1, 1, resolveLength},
      {"character_length", 1, 1, resolveLength},
      {"len", 1, 1, resolveLength},
      {"octet_length", 1, 1, resolveByteLength},
      {"bit_length", 1, 1, resolveByteLength},
      {"substring", 2, 3, resolveSubstring},
      {"substr", 2, 3, resolveSubstring},
      functionRow({"left", {stringType(), intType()}, stringType(),
                   rowKernel<TextResult, std::string_view, int32_t>(
                       [](std::string* out, std::string_view text, int32_t length) { appendSubstring(text, 1, length, out); })}),
      functionRow({"right", {stringType(), intType()}, stringType(),
                   rowKernel<TextResult, std::string_view, int32_t>([](std::string* out, std::string_view text, int32_t length) {
                     if (length > 0) *out += text.substr(characterOffset(text, std::max<int64_t>(0, characterCount(text) - length)));
                   })}),
      trimRow("trim", Side::Both, false),
      trimRow("btrim", Side::Both, true),
      trimRow("ltrim", Side::Left, false),
      trimRow("rtrim", Side::Right, false),
      {"lpad", 2, 3, resolvePad},
      {"rpad", 2, 3, resolvePad},
      functionRow({"repeat", {stringType(), intType()}, stringType(), rowKernel<TextResult, std::string_view, int32_t>(appendRepeated)}),
      functionRow({"space", {intType()}, stringType(),
                   rowKernel<TextResult, int32_t>([](std::string* out, int32_t count) { appendRepeated(out, " ", count); })}),
      functionRow({"__reverse_text", {stringType()}, stringType(), rowKernel<TextResult, std::string_view>(appendReversed)}),
  };
}

}  // namespace thalweg
