// RLIKE, regexp_*, split.
#include <arrow/api.h>

#include "common/error.h"
#include "functions/coercion.h"
#include "functions/row_kernels.h"
#include "functions/signature.h"
#include "functions/string/regex.h"
#include "functions/string/tables.h"
#include "functions/string/utf8.h"

namespace thalweg {
namespace {

using View = std::string_view;
using Groups = std::vector<Regex::Group>;

View groupText(View text, const Regex::Group& group) {
  return group.begin == View::npos ? View() : text.substr(group.begin, group.end - group.begin);
}

// Where the next search begins: behind the match, one character on after an empty one. Past the end: npos.
size_t nextStart(View text, const Regex::Group& match) {
  if (match.end > match.begin) return match.end;
  return match.end < text.size() ? match.end + characterSize(text, match.end) : View::npos;
}

template <typename F>
void forEachMatch(const Regex& regex, View text, size_t from, F&& f) {
  Groups groups;
  while (from != View::npos && from <= text.size() && regex.find(text, from, &groups)) {
    if (!f(groups)) return;
    from = nextStart(text, groups[0]);
  }
}

void checkGroup(const Regex& regex, int32_t index, const char* function) {
  if (index >= 0 && index <= regex.numGroups()) return;
  throw Error("INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX",
              std::string(function) + " has groups 0 to " + std::to_string(regex.numGroups()) + ", not " + std::to_string(index) + ".",
              {{"parameter", "`idx`"}, {"functionName", "`" + std::string(function) + "`"},
               {"groupCount", std::to_string(regex.numGroups())}, {"groupIndex", std::to_string(index)}});
}

FunctionRow rlikeRow(std::string_view name) {
  return {name, 2, 2, [](const FunctionCall& call, const FunctionContext& context) {
            auto kernel = rowKernelOf<bool, View, View>([](const KernelContext&) {
              return [cache = RegexCache("rlike"), groups = Groups()](View text, View pattern) mutable {
                return cache.get(pattern).find(text, 0, &groups);
              };
            });
            const std::string shown = equalsIgnoreCase(call.name, "regexp") ? "regexp" : equalsIgnoreCase(call.name, "regexp_like") ? "regexp_like" : "rlike";
            return makeCall("rlike", coercedArguments(call, {stringType(), stringType()}, context), booleanType(), kernel, false,
                            [shown](const std::vector<std::string>& a) { return shown + "(" + a[0] + ", " + a[1] + ")"; });
          }};
}

Kernel extractKernel() {
  return rowKernelOf<TextResult, View, View, int32_t>([](const KernelContext&) {
    return [cache = RegexCache("regexp_extract"), groups = Groups()](std::string* out, View text, View pattern, int32_t index) mutable {
      const Regex& regex = cache.get(pattern);
      checkGroup(regex, index, "regexp_extract");
      if (regex.find(text, 0, &groups)) *out += groupText(text, groups[static_cast<size_t>(index)]);
    };
  });
}

// Java's replacement: $1, ${name}, and a backslash before what stands for itself.
void appendReplacement(const Regex& regex, View replacement, View text, const Groups& groups, std::string* out) {
  auto illegal = [&](const std::string& why) {
    throw Error("INVALID_PARAMETER_VALUE.REGEX_REPLACEMENT", "The replacement '" + std::string(replacement) + "' of regexp_replace " + why + ".",
                {{"parameter", "`rep`"}, {"functionName", "`regexp_replace`"}});
  };
  for (size_t i = 0; i < replacement.size(); ++i) {
    const char c = replacement[i];
    if (c == '\\' && i + 1 < replacement.size()) {
      *out += replacement[++i];
    } else if (c == '$') {
      int number = -1;
      if (i + 1 < replacement.size() && replacement[i + 1] == '{') {
        const size_t close = replacement.find('}', i);
        if (close == View::npos) illegal("has ${ without }");
        number = regex.groupNumber(std::string(replacement.substr(i + 2, close - i - 2)));
        i = close;
      } else {
        while (i + 1 < replacement.size() && replacement[i + 1] >= '0' && replacement[i + 1] <= '9') {
          const int wider = std::max(number, 0) * 10 + (replacement[i + 1] - '0');
          if (number >= 0 && wider > regex.numGroups()) break;
          number = wider;
          ++i;
        }
      }
      if (number < 0 || number > regex.numGroups()) illegal("names a group that the pattern does not have");
      *out += groupText(text, groups[static_cast<size_t>(number)]);
    } else {
      *out += c;
    }
  }
}

Kernel replaceKernel() {
  return rowKernelOf<TextResult, View, View, View, int32_t>([](const KernelContext&) {
    return [cache = RegexCache("regexp_replace")](std::string* out, View text, View pattern, View replacement, int32_t position) mutable {
      if (position < 1) {
        throw Error("DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "regexp_replace begins at a position from 1 on.",
                    {{"exprName", "`position`"}, {"valueRange", "(0, 2147483647]"}, {"currentValue", std::to_string(position)}});
      }
      const Regex& regex = cache.get(pattern);
      size_t copied = 0;
      if (position - 1 > characterCount(text)) {
        *out += text;
        return;
      }
      forEachMatch(regex, text, characterOffset(text, position - 1), [&](const Groups& groups) {
        *out += text.substr(copied, groups[0].begin - copied);
        appendReplacement(regex, replacement, text, groups, out);
        copied = groups[0].end;
        return true;
      });
      *out += text.substr(copied);
    };
  });
}

// Java's split: at most `limit` parts where it is positive; for 0 the empty parts at the end are dropped, which Spark never
// asks for (its 0 means no limit).
void splitParts(const Regex& regex, View text, int32_t limit, std::vector<View>* parts) {
  size_t start = 0;
  forEachMatch(regex, text, 0, [&](const Groups& groups) {
    if (limit > 0 && static_cast<int32_t>(parts->size()) == limit - 1) return false;
    // An empty match at the very beginning splits nothing off; one at the very end does.
    if (groups[0].end == 0) return true;
    parts->push_back(text.substr(start, groups[0].begin - start));
    start = groups[0].end;
    return true;
  });
  parts->push_back(text.substr(start));
}

// Rows of lists of texts: fill(row, parts) gives one row's.
template <typename Fill>
arrow::Datum textLists(const KernelContext& context, Fill&& fill) {
  auto values = std::make_shared<arrow::StringBuilder>(context.evaluation.memoryPool());
  arrow::ListBuilder builder(context.evaluation.memoryPool(), values, toArrowType(context.resultType));
  std::vector<View> parts;
  forEachRow(
      context,
      [&](int64_t row) {
        parts.clear();
        if (!fill(row, &parts)) return throwIfFailed(builder.AppendNull());
        throwIfFailed(builder.Append());
        for (const View part : parts) throwIfFailed(values->Append(part));
      },
      [&] { throwIfFailed(builder.AppendNull()); });
  return valueOrThrow(builder.Finish());
}

arrow::Datum splitKernel(const KernelContext& context, const std::vector<arrow::Datum>& arguments) {
  const ValueReader<View> texts(arguments[0]), patterns(arguments[1]);
  const ValueReader<int32_t> limits(arguments[2]);
  RegexCache cache("split");
  return textLists(context, [&](int64_t row, std::vector<View>* parts) {
    if (texts.isNull(row) || patterns.isNull(row) || limits.isNull(row)) return false;
    const View text = texts.value(row);
    if (patterns.value(row).empty()) {
      // Spark splits by an empty pattern into characters, without an empty one at the end.
      const int32_t limit = limits.value(row);
      for (size_t at = 0; at < text.size();) {
        const bool last = limit > 0 && static_cast<int32_t>(parts->size()) == limit - 1;
        const size_t size = last ? text.size() - at : characterSize(text, at);
        parts->push_back(text.substr(at, size));
        at += size;
      }
      if (text.empty()) parts->push_back(text);
      return true;
    }
    splitParts(cache.get(patterns.value(row)), text, limits.value(row), parts);
    return true;
  });
}

arrow::Datum extractAllKernel(const KernelContext& context, const std::vector<arrow::Datum>& arguments) {
  const ValueReader<View> texts(arguments[0]), patterns(arguments[1]);
  const ValueReader<int32_t> indexes(arguments[2]);
  RegexCache cache("regexp_extract_all");
  return textLists(context, [&](int64_t row, std::vector<View>* parts) {
    if (texts.isNull(row) || patterns.isNull(row) || indexes.isNull(row)) return false;
    const Regex& regex = cache.get(patterns.value(row));
    checkGroup(regex, indexes.value(row), "regexp_extract_all");
    forEachMatch(regex, texts.value(row), 0, [&](const Groups& groups) {
      parts->push_back(groupText(texts.value(row), groups[static_cast<size_t>(indexes.value(row))]));
      return true;
    });
    return true;
  });
}

Kernel countKernel() {
  return rowKernelOf<int32_t, View, View>([](const KernelContext&) {
    return [cache = RegexCache("regexp_count")](View text, View pattern) mutable {
      int32_t count = 0;
      forEachMatch(cache.get(pattern), text, 0, [&](const Groups&) { return ++count > 0; });
      return count;
    };
  });
}

Kernel instrKernel() {
  return rowKernelOf<int32_t, View, View>([](const KernelContext&) {
    return [cache = RegexCache("regexp_instr"), groups = Groups()](View text, View pattern) mutable {
      return cache.get(pattern).find(text, 0, &groups) ? static_cast<int32_t>(characterCount(text.substr(0, groups[0].begin)) + 1) : 0;
    };
  });
}

Kernel substrKernel() {
  return rowKernelOf<TextResult, View, View>([](const KernelContext&) {
    return [cache = RegexCache("regexp_substr"), groups = Groups()](std::string* out, View text, View pattern) mutable {
      if (!cache.get(pattern).find(text, 0, &groups)) return false;
      *out += groupText(text, groups[0]);
      return true;
    };
  });
}

}  // namespace

std::vector<FunctionRow> regexRows() {
  const DataTypePtr text = stringType();
  const DataTypePtr texts = DataType::array(stringType(), false);
  const ExpressionPtr one = Literal::of(static_cast<int32_t>(1));
  return {
      rlikeRow("rlike"),
      rlikeRow("regexp"),
      rlikeRow("regexp_like"),
      functionRow({"regexp_extract", {text, text, intType()}, text, extractKernel(), {one}}),
      functionRow({"regexp_extract_all", {text, text, intType()}, DataType::array(stringType(), true), extractAllKernel, {one}}),
      functionRow({"regexp_replace", {text, text, text, intType()}, text, replaceKernel(), {one}}),
      functionRow({"regexp_count", {text, text}, intType(), countKernel()}),
      functionRow({"regexp_instr", {text, text}, intType(), instrKernel()}),
      functionRow({"regexp_substr", {text, text}, text, substrKernel(), {}, true}),
      functionRow({"split", {text, text, intType()}, texts, splitKernel, {Literal::of(static_cast<int32_t>(-1))}}),
  };
}

}  // namespace thalweg
