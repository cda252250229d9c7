#include "formats/json/fast_parser.h"

#include <charconv>
#include <cstring>
#include <limits>

#include <simdjson.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "common/hex.h"
#include "types/text/calendar.h"
#include "types/text/number_text.h"
#include "types/text/time_text.h"

namespace thalweg {
namespace {

constexpr int kMaxDepth = 64;
constexpr size_t kMaxNumberLength = 200;
constexpr size_t kMaxNameLength = 1000;
constexpr size_t kMaxStringLength = 1'000'000;

bool isDigit(char c) {
  return static_cast<unsigned char>(c - '0') <= 9;
}

// Powers of ten that a double holds exactly.
constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// A number in JSON's grammar.
struct Number {
  const char* begin;
  const char* end;
  uint64_t digits = 0;  // all digits as one integer, without the point; valid up to 18 of them
  int digitCount = 0;
  int fractionDigits = 0;
  bool negative = false;
  bool hasPoint = false;
  bool hasExponent = false;

  bool isInteger() const { return !hasPoint && !hasExponent; }
  std::string_view text() const { return {begin, static_cast<size_t>(end - begin)}; }
};

bool scanNumber(const char* p, const char* end, Number* number) {
  number->begin = p;
  if (*p == '-') {
    number->negative = true;
    ++p;
  }
  const char* first = p;
  uint64_t digits = 0;
  while (p < end && isDigit(*p)) digits = digits * 10 + static_cast<uint64_t>(*p++ - '0');
  number->digitCount = static_cast<int>(p - first);
  if (p == first || (*first == '0' && number->digitCount > 1)) return false;
  if (p < end && *p == '.') {
    number->hasPoint = true;
    const char* fraction = ++p;
    while (p < end && isDigit(*p)) digits = digits * 10 + static_cast<uint64_t>(*p++ - '0');
    number->fractionDigits = static_cast<int>(p - fraction);
    number->digitCount += number->fractionDigits;
    if (p == fraction) return false;
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    number->hasExponent = true;
    ++p;
    if (p < end && (*p == '-' || *p == '+')) ++p;
    const char* exponent = p;
    while (p < end && isDigit(*p)) ++p;
    if (p == exponent) return false;
  }
  number->digits = digits;
  number->end = p;
  return p < end && static_cast<size_t>(p - number->begin) <= kMaxNumberLength;
}

double toDouble(const Number& number) {
  constexpr uint64_t kExact = uint64_t{1} << 53;
  if (number.hasExponent || number.digitCount > 18 || number.digits > kExact || number.fractionDigits > 22) {
    return plainNumberToDouble(number.text());
  }
  // A whole number has no negative zero.
  if (number.digits == 0 && number.isInteger()) return 0.0;
  const double value = static_cast<double>(number.digits) / kPowersOfTen[number.fractionDigits];
  return number.negative ? -value : value;
}

bool toInteger(const Number& number, int64_t minimum, int64_t maximum, int64_t* value) {
  if (!number.isInteger()) return false;
  if (number.digitCount > 18) {
    const auto [end, status] = std::from_chars(number.begin, number.end, *value);
    if (status != std::errc() || end != number.end) return false;
  } else {
    *value = number.negative ? -static_cast<int64_t>(number.digits) : static_cast<int64_t>(number.digits);
  }
  return *value >= minimum && *value <= maximum;
}

bool readHex4(std::string_view text, size_t at, uint32_t* unit) {
  if (at + 4 > text.size()) return false;
  *unit = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const int digit = hexDigit(text[i]);
    if (digit < 0) return false;
    *unit = *unit << 4 | static_cast<uint32_t>(digit);
  }
  return true;
}

}  // namespace

FastJsonParser::FastJsonParser(const JsonPlan& plan, JsonRowWriter* writer) : plan_(plan), writer_(writer) {
  const JsonOptions defaults;
  usable_ = plan.options.maxNestingDepth >= defaults.maxNestingDepth &&
            plan.options.maxNumberLength >= defaults.maxNumberLength &&
            plan.options.maxStringLength >= kMaxStringLength;
  root_.node = &plan.parsed;
  root_.column = &writer->column();
  if (plan.parsed.type == TypeId::Struct) {
    for (size_t i = 0; i < plan.parsed.children.size(); ++i) {
      root_.children.push_back(bind(plan.parsed.children[i], &writer->field(i)));
    }
  } else {
    root_ = bind(plan.parsed, &writer->column());
  }
}

FastJsonParser::Target FastJsonParser::bind(const JsonNode& node, JsonColumn* column) {
  Target target;
  target.node = &node;
  target.column = column;
  if (node.type == TypeId::Map) target.keys = &column->child(0);
  for (size_t i = 0; i < node.children.size(); ++i) {
    target.children.push_back(bind(node.children[i], &column->child(node.type == TypeId::Map ? i + 1 : i)));
  }
  return target;
}

bool FastJsonParser::parse(std::string_view record) {
  end_ = record.data() + record.size();
  ascii_ = true;
  const int64_t row = writer_->column().length();
  const char* p = blanks(record.data());
  if (p < end_) {
    if (root_.node->type == TypeId::Struct) {
      p = *p == '{' ? object(p + 1, root_, row, 1) : nullptr;
    } else {
      const char opening = root_.node->type == TypeId::Array ? '[' : '{';
      p = *p == opening ? value(p, root_, 0) : nullptr;
    }
    if (p && p < end_) p = blanks(p);
    if (p == end_ && (ascii_ || simdjson::validate_utf8(record.data(), record.size()))) {
      if (root_.node->type == TypeId::Struct) writer_->closeCleanRow();
      return true;
    }
  }
  writer_->column().truncate(row);
  return false;
}

const char* FastJsonParser::blanks(const char* p) const {
  while (p < end_ && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) ++p;
  return p;
}

bool FastJsonParser::matches(const char* p, const Step& step) {
#if defined(__SSE2__)
  // Longer steps need a third comparison; bytes behind the step's end do not count.
  const auto load = [](const char* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
  uint64_t equal = 0;
  const char* bytes = step.bytes.data();
  equal |= static_cast<uint64_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(load(p), load(bytes))));
  if (step.size > 16) {
    equal |= static_cast<uint64_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(load(p + 16), load(bytes + 16)))) << 16;
    equal |= static_cast<uint64_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(load(p + 32), load(bytes + 32)))) << 32;
  }
  const uint64_t wanted = (uint64_t{1} << step.size) - 1;
  return (equal & wanted) == wanted;
#else
  return std::memcmp(p, step.bytes.data(), step.size) == 0;
#endif
}

const char* FastJsonParser::object(const char* p, Target& target, int64_t row, int depth) {
  if (depth > kMaxDepth) return nullptr;
  const size_t fieldCount = target.children.size();
  size_t filled = 0;
  for (size_t place = 0;; ++place) {
    int index = -1;
    if (place < target.steps.size() && target.steps[place].size > 0 && matches(p, target.steps[place])) {
      p += target.steps[place].size;
      index = target.steps[place].index;
    } else {
      p = fieldName(p, target, place, &index);
      if (!p) return nullptr;
      if (index == -2) break;  // the object's end
    }
    if (p >= end_) return nullptr;
    if (index < 0) {
      p = skip(p, depth);
    } else {
      Target& child = target.children[static_cast<size_t>(index)];
      // A second value of the same field is the exact parser's business.
      if (child.column->length() != row) return nullptr;
      p = value(p, child, depth);
      ++filled;
    }
    if (!p || p >= end_) return nullptr;
    if (*p == '}') {
      ++p;
      break;
    }
  }
  if (filled < fieldCount) {
    for (Target& child : target.children) {
      if (child.column->length() == row) child.column->appendNull();
    }
  }
  return p;
}

// From behind a value (or the opening brace) to the beginning of the next one; index -2 at the object's end.
const char* FastJsonParser::fieldName(const char* p, Target& target, size_t place, int* index) {
  const char* start = p;
  p = blanks(p);
  if (p >= end_) return nullptr;
  if (*p == '}') {
    *index = -2;
    return p + 1;
  }
  if (place > 0) {
    if (*p != ',') return nullptr;
    p = blanks(p + 1);
  }
  if (p >= end_ || *p != '"') return nullptr;
  const bool asciiBefore = ascii_;
  ascii_ = true;
  std::string_view name;
  p = text(p + 1, &name);
  const bool asciiName = ascii_;
  ascii_ = asciiBefore && asciiName;
  if (!p || name.size() > kMaxNameLength) return nullptr;
  p = blanks(p);
  if (p >= end_ || *p != ':') return nullptr;
  p = blanks(p + 1);
  *index = target.node->fieldIndex(name);
  // Only what is valid in any record is remembered.
  const auto size = static_cast<size_t>(p - start);
  constexpr size_t kMaxPlaces = 1000;
  if (asciiName && size < Step::kMaxBytes && p < end_ && place < kMaxPlaces) {
    if (target.steps.size() <= place) target.steps.resize(place + 1);
    Step& step = target.steps[place];
    std::memcpy(step.bytes.data(), start, size);
    step.size = static_cast<uint32_t>(size);
    step.index = *index;
  }
  return p;
}

const char* FastJsonParser::value(const char* p, Target& target, int depth) {
  switch (*p) {
    case '"':
      return string(p + 1, target);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
      return number(p, target);
    case '{':
      if (target.node->type == TypeId::Struct) {
        p = object(p + 1, target, target.column->length(), depth + 1);
        if (p) target.column->closeStruct();
        return p;
      }
      return target.node->type == TypeId::Map ? map(p + 1, target, depth + 1) : nullptr;
    case '[':
      return target.node->type == TypeId::Array ? list(p + 1, target, depth + 1) : nullptr;
    default:
      return word(p, target);
  }
}

const char* FastJsonParser::list(const char* p, Target& target, int depth) {
  if (depth > kMaxDepth) return nullptr;
  p = blanks(p);
  if (p < end_ && *p == ']') {
    target.column->closeList();
    return p + 1;
  }
  for (;;) {
    if (p >= end_) return nullptr;
    p = value(p, target.children[0], depth);
    if (!p) return nullptr;
    p = blanks(p);
    if (p >= end_) return nullptr;
    if (*p == ']') break;
    if (*p != ',') return nullptr;
    p = blanks(p + 1);
  }
  target.column->closeList();
  return p + 1;
}

const char* FastJsonParser::map(const char* p, Target& target, int depth) {
  if (depth > kMaxDepth) return nullptr;
  p = blanks(p);
  if (p < end_ && *p == '}') {
    target.column->closeList();
    return p + 1;
  }
  for (;;) {
    if (p >= end_ || *p != '"') return nullptr;
    std::string_view key;
    p = text(p + 1, &key);
    if (!p || key.size() > kMaxNameLength) return nullptr;
    target.keys->appendBytes(key);
    p = blanks(p);
    if (p >= end_ || *p != ':') return nullptr;
    p = blanks(p + 1);
    if (p >= end_) return nullptr;
    p = value(p, target.children[0], depth);
    if (!p) return nullptr;
    p = blanks(p);
    if (p >= end_) return nullptr;
    if (*p == '}') break;
    if (*p != ',') return nullptr;
    p = blanks(p + 1);
  }
  target.column->closeList();
  return p + 1;
}

// The closing quote of a string whose opening quote is read; `plain` is false where it has escapes.
const char* FastJsonParser::stringEnd(const char* p, bool* plain) {
  *plain = true;
  while (p < end_) {
#if defined(__SSE2__)
    const __m128i chunk = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i quote = _mm_cmpeq_epi8(chunk, _mm_set1_epi8('"'));
    const __m128i backslash = _mm_cmpeq_epi8(chunk, _mm_set1_epi8('\\'));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(chunk, _mm_set1_epi8(0x1f)), chunk);
    const auto stops =
        static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), control)));
    const auto high = static_cast<unsigned>(_mm_movemask_epi8(chunk));
    if (stops == 0) {
      if (high) ascii_ = false;
      p += 16;
      continue;
    }
    const int at = __builtin_ctz(stops);
    if (high & ((1U << at) - 1)) ascii_ = false;
    p += at;
#else
    const auto plainByte = [](char c) {
      return static_cast<unsigned char>(c) >= ' ' && c != '"' && c != '\\';
    };
    while (p < end_ && plainByte(*p)) {
      if (static_cast<unsigned char>(*p) >= 0x80) ascii_ = false;
      ++p;
    }
#endif
    if (p >= end_) return nullptr;
    if (*p == '"') return p;
    if (*p != '\\') return nullptr;
    *plain = false;
    // What is escaped is looked at when the string is decoded; it may be a byte beyond ASCII.
    if (p + 1 < end_ && static_cast<unsigned char>(p[1]) >= 0x80) ascii_ = false;
    p += 2;
  }
  return nullptr;
}

// A string's decoded text, in scratch_ where it has escapes; returns where the string ends.
const char* FastJsonParser::text(const char* p, std::string_view* text) {
  bool plain = true;
  const char* close = stringEnd(p, &plain);
  if (!close) return nullptr;
  *text = std::string_view(p, static_cast<size_t>(close - p));
  if (text->size() > kMaxStringLength) return nullptr;
  if (!plain) {
    if (!unescape(*text, &scratch_)) return nullptr;
    *text = scratch_;
  }
  return close + 1;
}

bool FastJsonParser::unescape(std::string_view raw, std::string* out) const {
  out->clear();
  for (size_t i = 0; i < raw.size();) {
    if (raw[i] != '\\') {
      const size_t next = std::min(raw.find('\\', i), raw.size());
      out->append(raw, i, next - i);
      i = next;
      continue;
    }
    if (i + 1 >= raw.size()) return false;
    const char c = raw[i + 1];
    i += 2;
    switch (c) {
      case '"':
      case '\\':
      case '/':
        out->push_back(c);
        continue;
      case 'b':
        out->push_back('\b');
        continue;
      case 'f':
        out->push_back('\f');
        continue;
      case 'n':
        out->push_back('\n');
        continue;
      case 'r':
        out->push_back('\r');
        continue;
      case 't':
        out->push_back('\t');
        continue;
      case 'u':
        break;
      default:
        return false;
    }
    uint32_t unit = 0;
    if (!readHex4(raw, i, &unit)) return false;
    i += 4;
    if (unit >= 0xd800 && unit <= 0xdfff) {
      uint32_t low = 0;
      if (unit > 0xdbff || raw.substr(i, 2) != "\\u" || !readHex4(raw, i + 2, &low) || low < 0xdc00 ||
          low > 0xdfff)
        return false;
      i += 6;
      unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    appendUtf8(unit, out);
  }
  return true;
}

const char* FastJsonParser::string(const char* p, Target& target) {
  std::string_view content;
  if (target.node->type == TypeId::String) {
    bool plain = true;
    const char* close = stringEnd(p, &plain);
    if (!close) return nullptr;
    const auto size = static_cast<size_t>(close - p);
    constexpr size_t kShort = 16;
    if (plain && size <= kShort) {
      // One copy of fixed size; what is too much lies behind the column's end.
      GrowingBuffer& values = target.column->values();
      std::memcpy(values.reserve(kShort), p, kShort);
      values.setSize(values.size() + size);
      target.column->closeBytes();
      return close + 1;
    }
  }
  p = text(p, &content);
  return p && storeText(content, target) ? p : nullptr;
}

bool FastJsonParser::storeText(std::string_view text, Target& target) {
  JsonColumn& column = *target.column;
  const JsonFormats& formats = plan_.formats;
  switch (target.node->type) {
    case TypeId::String:
      column.appendBytes(text);
      return true;
    case TypeId::Timestamp: {
      int64_t micros = 0;
      if (text.empty()) return false;
      if (formats.timestamp) {
        const auto parsed = formats.timestamp->parseTimestamp(text, plan_.options.zone);
        if (!parsed) return false;
        micros = *parsed;
      } else if (!timestamp(text, &micros)) {
        return false;
      }
      column.appendValue(micros);
      return true;
    }
    case TypeId::TimestampNtz: {
      if (text.empty()) return false;
      const auto parsed = formats.timestampNtz ? formats.timestampNtz->parseTimestampNtz(text)
                                               : parseTimestampNtz(text, false);
      if (parsed) column.appendValue(*parsed);
      return parsed.has_value();
    }
    case TypeId::Date: {
      if (text.empty()) return false;
      const auto parsed = formats.date ? formats.date->parseDate(text) : parseDate(text);
      if (parsed) column.appendValue(*parsed);
      return parsed.has_value();
    }
    case TypeId::Decimal: {
      arrow::Decimal128 value;
      if (text.find(',') != std::string_view::npos) return false;
      if (parseDecimal(text, target.node->precision, target.node->scale, &value) != DecimalParse::Ok)
        return false;
      column.appendValue(value.ToBytes());
      return true;
    }
    default:
      return false;
  }
}

bool FastJsonParser::timestamp(std::string_view text, int64_t* micros) {
  bool utc = false;
  if (!parseIsoTimestamp(text.data(), text.size(), micros, &utc)) {
    const auto parsed = parseTimestamp(text, plan_.options.zone);
    if (parsed) *micros = *parsed;
    return parsed.has_value();
  }
  if (!utc && !plan_.options.zone.isUtc()) *micros = plan_.options.zone.toUtcMicros(*micros);
  return true;
}

const char* FastJsonParser::number(const char* p, Target& target) {
  Number number;
  if (!scanNumber(p, end_, &number)) return nullptr;
  JsonColumn& column = *target.column;
  int64_t integer = 0;
  switch (target.node->type) {
    case TypeId::Double:
      column.appendValue(toDouble(number));
      return number.end;
    case TypeId::Float:
      column.appendValue(number.text() == "-0" ? 0.0F : plainNumberToFloat(number.text()));
      return number.end;
    case TypeId::Long:
      if (!toInteger(number, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                     &integer))
        return nullptr;
      column.appendValue(integer);
      return number.end;
    case TypeId::Int:
      if (!toInteger(number, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(),
                     &integer))
        return nullptr;
      column.appendValue(static_cast<int32_t>(integer));
      return number.end;
    case TypeId::Short:
      if (!toInteger(number, std::numeric_limits<int16_t>::min(), std::numeric_limits<int16_t>::max(),
                     &integer))
        return nullptr;
      column.appendValue(static_cast<int16_t>(integer));
      return number.end;
    case TypeId::Byte:
      if (!toInteger(number, std::numeric_limits<int8_t>::min(), std::numeric_limits<int8_t>::max(),
                     &integer))
        return nullptr;
      column.appendValue(static_cast<int8_t>(integer));
      return number.end;
    case TypeId::Timestamp:
      if (!toInteger(number, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                     &integer))
        return nullptr;
      column.appendValue(static_cast<int64_t>(static_cast<uint64_t>(integer) * 1'000'000U));
      return number.end;
    case TypeId::Decimal: {
      arrow::Decimal128 value;
      if (parseDecimal(number.text(), target.node->precision, target.node->scale, &value) != DecimalParse::Ok)
        return nullptr;
      column.appendValue(value.ToBytes());
      return number.end;
    }
    case TypeId::String:
      if (plan_.formats.rawStrings || (number.isInteger() && number.text() != "-0")) {
        column.appendBytes(number.text());
        return number.end;
      }
      return nullptr;
    default:
      return nullptr;
  }
}

const char* FastJsonParser::word(const char* p, Target& target) {
  const std::string_view rest(p, static_cast<size_t>(end_ - p));
  std::string_view found;
  for (std::string_view known : {"null", "true", "false"}) {
    if (rest.starts_with(known)) found = known;
  }
  if (found.empty()) return nullptr;
  if (found == "null") {
    target.column->appendNull();
  } else if (target.node->type == TypeId::Boolean) {
    target.column->appendBool(found == "true");
  } else if (target.node->type == TypeId::String) {
    target.column->appendBytes(found);
  } else {
    return nullptr;
  }
  return p + found.size();
}

// Over a value that no column wants, checked all the same.
const char* FastJsonParser::skip(const char* p, int depth) {
  switch (*p) {
    case '"': {
      std::string_view ignored;
      return text(p + 1, &ignored);
    }
    case '{':
    case '[':
      return skipNested(p, depth + 1);
    case 't':
      return std::string_view(p, static_cast<size_t>(end_ - p)).starts_with("true") ? p + 4 : nullptr;
    case 'f':
      return std::string_view(p, static_cast<size_t>(end_ - p)).starts_with("false") ? p + 5 : nullptr;
    case 'n':
      return std::string_view(p, static_cast<size_t>(end_ - p)).starts_with("null") ? p + 4 : nullptr;
    default: {
      Number number;
      return (*p == '-' || isDigit(*p)) && scanNumber(p, end_, &number) ? number.end : nullptr;
    }
  }
}

const char* FastJsonParser::skipNested(const char* p, int depth) {
  if (depth > kMaxDepth) return nullptr;
  const bool isObject = *p == '{';
  const char closing = isObject ? '}' : ']';
  p = blanks(p + 1);
  if (p < end_ && *p == closing) return p + 1;
  for (;;) {
    if (p >= end_) return nullptr;
    if (isObject) {
      std::string_view name;
      if (*p != '"') return nullptr;
      p = text(p + 1, &name);
      if (!p || name.size() > kMaxNameLength) return nullptr;
      p = blanks(p);
      if (p >= end_ || *p != ':') return nullptr;
      p = blanks(p + 1);
      if (p >= end_) return nullptr;
    }
    p = skip(p, depth);
    if (!p) return nullptr;
    p = blanks(p);
    if (p >= end_) return nullptr;
    if (*p == closing) return p + 1;
    if (*p != ',') return nullptr;
    p = blanks(p + 1);
  }
}

}  // namespace thalweg
