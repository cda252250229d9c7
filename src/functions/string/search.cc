// Finding and replacing parts of texts; LIKE.
#include <algorithm>
#include <cstring>

#include "common/error.h"
#include "functions/coercion.h"
#include "functions/row_kernels.h"
#include "functions/signature.h"
#include "functions/string/tables.h"
#include "functions/string/utf8.h"
#include "functions/string/like.h"

namespace thalweg {
namespace {

using View = std::string_view;

// A test of two texts, or of two binaries.
FunctionRow predicateRow(std::string_view name, bool (*test)(View, View)) {
  return {name, 2, 2, [name, test](const FunctionCall& call, const FunctionContext& context) {
            const bool binary = call.arguments[0]->type()->id() == TypeId::Binary && call.arguments[1]->type()->id() == TypeId::Binary;
            const DataTypePtr type = binary ? binaryType() : stringType();
            return makeCall(std::string(name), coercedArguments(call, {type, type}, context), booleanType(),
                            rowKernel<bool, View, View>(test));
          }};
}

// The position of `part` in `text` from character `start` on, both counted from 1; 0: none.
int32_t positionOf(View part, View text, int32_t start) {
  if (start < 1) return 0;
  const size_t from = characterOffset(text, start - 1);
  if (part.empty()) return start <= characterCount(text) + 1 ? start : 0;
  const size_t found = text.find(part, from);
  return found == View::npos ? 0 : static_cast<int32_t>(characterCount(text.substr(0, found)) + 1);
}

void appendReplaced(std::string* out, View text, View search, View replacement) {
  if (search.empty()) {
    *out += text;
    return;
  }
  for (;;) {
    const size_t found = text.find(search);
    if (found == View::npos) break;
    out->append(text.substr(0, found)).append(replacement);
    text.remove_prefix(found + search.size());
  }
  *out += text;
}

void appendTranslated(std::string* out, View text, View from, View to) {
  for (size_t at = 0; at < text.size();) {
    const size_t size = characterSize(text, at);
    const View character = text.substr(at, size);
    at += size;
    bool replaced = false;
    size_t toAt = 0;
    for (size_t fromAt = 0; fromAt < from.size() && !replaced;) {
      const size_t fromSize = characterSize(from, fromAt);
      const size_t toSize = toAt < to.size() ? characterSize(to, toAt) : 0;
      if (from.substr(fromAt, fromSize) == character) {
        out->append(to.substr(std::min(toAt, to.size()), toSize));
        replaced = true;
      }
      fromAt += fromSize;
      toAt += toSize;
    }
    if (!replaced) *out += character;
  }
}

void appendSubstringIndex(std::string* out, View text, View delimiter, int32_t count) {
  if (count == 0 || delimiter.empty()) return;
  if (count > 0) {
    size_t from = 0;
    for (;; --count) {
      const size_t found = text.find(delimiter, from);
      if (found == View::npos) break;
      if (count == 1) {
        *out += text.substr(0, found);
        return;
      }
      from = found + 1;
    }
    *out += text;
    return;
  }
  size_t end = text.size();
  for (;; ++count) {
    const size_t found = end == 0 ? View::npos : text.rfind(delimiter, end - 1);
    if (found == View::npos) break;
    if (count == -1) {
      *out += text.substr(found + delimiter.size());
      return;
    }
    end = found;
  }
  *out += text;
}

std::vector<View> partsOf(View text, View delimiter) {
  std::vector<View> parts;
  if (delimiter.empty()) return {text};
  for (;;) {
    const size_t found = text.find(delimiter);
    parts.push_back(text.substr(0, found));
    if (found == View::npos) return parts;
    text.remove_prefix(found + delimiter.size());
  }
}

void appendSplitPart(std::string* out, View text, View delimiter, int32_t index) {
  if (index == 0) {
    throw Error("INVALID_INDEX_OF_ZERO", "split_part counts parts from 1, or from −1 at the end; 0 names none.", {});
  }
  const std::vector<View> parts = partsOf(text, delimiter);
  const int64_t at = index > 0 ? index - 1 : static_cast<int64_t>(parts.size()) + index;
  if (at >= 0 && at < static_cast<int64_t>(parts.size())) *out += parts[static_cast<size_t>(at)];
}

int32_t findInSet(View word, View set) {
  if (word.find(',') != View::npos) return 0;
  const std::vector<View> parts = partsOf(set, ",");
  const auto found = std::find(parts.begin(), parts.end(), word);
  return found == parts.end() ? 0 : static_cast<int32_t>(found - parts.begin()) + 1;
}

// overlay(text, other, position, length): length −1 means the other's.
void appendOverlay(std::string* out, View text, View other, int32_t position, int32_t length) {
  const int64_t replaced = length >= 0 ? length : characterCount(other);
  *out += text.substr(0, characterOffset(text, static_cast<int64_t>(position) - 1));
  *out += other;
  *out += text.substr(characterOffset(text, static_cast<int64_t>(position) - 1 + replaced));
}

int32_t levenshteinDistance(View left, View right) {
  std::vector<uint32_t> a, b;
  for (size_t at = 0; at < left.size(); at += characterSize(left, at)) a.push_back(codePointAt(left, at));
  for (size_t at = 0; at < right.size(); at += characterSize(right, at)) b.push_back(codePointAt(right, at));
  std::vector<int32_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int32_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int32_t diagonal = row[0];
    row[0] = static_cast<int32_t>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int32_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

ExpressionPtr resolveLike(const FunctionCall& call, const FunctionContext& context) {
  const bool ignoreCase = equalsIgnoreCase(call.name, "ilike");
  auto arguments = coercedArguments(call, {stringType(), stringType(), stringType()}, context);
  char escape = '\\';
  if (arguments.size() == 3) {
    const auto value = constantArgument(arguments[2], call.name, "escape");
    const std::string text = value->is_valid ? static_cast<const arrow::StringScalar&>(*value).value->ToString() : "";
    if (text.size() != 1) {
      throw Error("INVALID_ESCAPE_CHAR", "The escape of LIKE is one character, not '" + text + "'.", {{"sqlExpr", "\"" + text + "\""}});
    }
    escape = text[0];
  }
  auto kernel = rowKernelOf<bool, View, View>([ignoreCase, escape](const KernelContext&) {
    return [ignoreCase, escape, pattern = LikePattern(), last = std::string(), compiled = false](View text, View like) mutable {
      if (!compiled || like != last) {
        last = like;
        pattern = LikePattern::compile(like, escape, ignoreCase);
        compiled = true;
      }
      return pattern.matches(text);
    };
  });
  const std::vector<ExpressionPtr> sides = {arguments[0], arguments[1]};
  const std::string word = ignoreCase ? " ILIKE " : " LIKE ";
  return makeCall(std::string(ignoreCase ? "ilike" : "like") + escape, sides, booleanType(), kernel, false,
                  [word, ignoreCase](const std::vector<std::string>& a) {
                    return ignoreCase ? "ilike(" + a[0] + ", " + a[1] + ")" : a[0] + word + a[1];
                  });
}

FunctionRow locateRow(std::string_view name) {
  return functionRow({name, {stringType(), stringType(), intType()}, intType(), rowKernel<int32_t, View, View, int32_t>(positionOf),
                      {Literal::of(static_cast<int32_t>(1))}});
}

}  // namespace

std::vector<FunctionRow> searchRows() {
  const DataTypePtr text = stringType();
  return {
      predicateRow("contains", [](View a, View b) { return a.find(b) != View::npos; }),
      predicateRow("startswith", [](View a, View b) { return a.starts_with(b); }),
      predicateRow("endswith", [](View a, View b) { return a.ends_with(b); }),
      functionRow({"instr", {text, text}, intType(),
                   rowKernel<int32_t, View, View>([](View whole, View part) { return positionOf(part, whole, 1); })}),
      locateRow("locate"),
      locateRow("position"),
      locateRow("charindex"),
      functionRow({"replace", {text, text, text}, text, rowKernel<TextResult, View, View, View>(appendReplaced), {Literal::of(std::string())}}),
      functionRow({"translate", {text, text, text}, text, rowKernel<TextResult, View, View, View>(appendTranslated)}),
      functionRow({"substring_index", {text, text, intType()}, text, rowKernel<TextResult, View, View, int32_t>(appendSubstringIndex)}),
      functionRow({"split_part", {text, text, intType()}, text, rowKernel<TextResult, View, View, int32_t>(appendSplitPart)}),
      functionRow({"find_in_set", {text, text}, intType(), rowKernel<int32_t, View, View>(findInSet)}),
      functionRow({"overlay", {text, text, intType(), intType()}, text, rowKernel<TextResult, View, View, int32_t, int32_t>(appendOverlay),
                   {Literal::of(static_cast<int32_t>(-1))}}),
      functionRow({"levenshtein", {text, text, intType()}, intType(),
                   rowKernel<int32_t, View, View, int32_t>([](View a, View b, int32_t most) {
                     const int32_t distance = levenshteinDistance(a, b);
                     return most >= 0 && distance > most ? -1 : distance;
                   }),
                   {Literal::of(static_cast<int32_t>(-1))}}),
      {"like", 2, 3, resolveLike},
      {"ilike", 2, 3, resolveLike},
  };
}

}  // namespace thalweg
