// Numbers, typed literals (DATE '…', X'…') and intervals.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "common/error.h"
#include "common/options.h"
#include "spark/connect/common.pb.h"
#include "spark/connect/expressions.pb.h"
#include "spark/connect/relations.pb.h"
#include "spark/connect/types.pb.h"
#include "sql/literal_text.h"
#include "sql/sql_parser.h"

namespace thalweg::sql {
namespace {

using Literal = spark::connect::Expression_Literal;

Node literalNode(Literal** literal) {
  Node node{ExpressionPtr(new spark::connect::Expression()), 1};
  *literal = node.message->mutable_literal();
  return node;
}

Error invalidLiteral(const std::string& type, const std::string& value) {
  return Error("INVALID_TYPED_LITERAL",
               "'" + value + "' is no value of the typed literal " + type + ": correct the text behind " + type + ".",
               {{"valueType", "\"" + type + "\""}, {"value", "'" + value + "'"}});
}

Error outOfRange(const std::string& text, const std::string& type) {
  return Error("INVALID_NUMERIC_LITERAL_RANGE", "The number " + text + " does not fit into " + type + ".",
               {{"rawStrippedQualifier", text}, {"typeName", type}});
}

template <typename Integer>
bool fits(const std::string& text, Integer* value) {
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return status == std::errc() && end == text.data() + text.size();
}

// Digits with an optional dot and exponent as an exact decimal: Spark's precision and scale.
void fillDecimal(const std::string& text, bool negative, Literal* literal) {
  const size_t mark = std::min(text.find_first_of("eE"), text.size());
  int exponent = 0;
  std::string power = text.substr(std::min(mark + 1, text.size()));
  if (!power.empty() && power[0] == '+') power.erase(0, 1);
  if (!power.empty() && !fits(power, &exponent)) throw outOfRange(text, "decimal");
  std::string digits;
  int64_t scale = -static_cast<int64_t>(exponent);
  bool behindDot = false;
  for (char c : text.substr(0, mark)) {
    if (c == '.') {
      behindDot = true;
    } else {
      digits += c;
      if (behindDot) ++scale;
    }
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  if (digits == "0") scale = std::max<int64_t>(scale, 0);
  if (std::abs(scale) > 100) throw outOfRange(text, "decimal");
  if (scale < 0) {
    digits.append(static_cast<size_t>(-scale), '0');
    scale = 0;
  }
  const int64_t precision = std::max<int64_t>(static_cast<int64_t>(digits.size()), scale);
  if (precision > 38) {
    throw Error("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
                "The number " + text + " needs " + std::to_string(precision) + " digits; a decimal has at most 38.",
                {{"precision", std::to_string(precision)}, {"maxPrecision", "38"}});
  }
  if (scale > 0) {
    if (static_cast<int64_t>(digits.size()) <= scale) {
      digits.insert(0, static_cast<size_t>(scale) + 1 - digits.size(), '0');
    }
    digits.insert(digits.size() - static_cast<size_t>(scale), ".");
  }
  auto* decimal = literal->mutable_decimal();
  decimal->set_value((negative ? "-" : "") + digits);
  decimal->set_precision(static_cast<int>(precision));
  decimal->set_scale(static_cast<int>(scale));
}

double toDouble(const std::string& text) {
  double value = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc::result_out_of_range) {
    // Too small is zero, as Java reads it; too large is refused.
    if (text.find("e-") == std::string::npos && text.find("E-") == std::string::npos) throw outOfRange(text, "double");
    return 0;
  }
  return value;
}

Node intervalNode(const IntervalValue& value, const std::string& source) {
  if (value.hasYearMonth() && value.hasDayTime()) {
    throw Error("_LEGACY_ERROR_TEMP_0029",
                "An interval literal holds either years and months or days and less, not both: " + source + ".",
                {{"literal", source}});
  }
  Literal* literal = nullptr;
  Node node = literalNode(&literal);
  if (value.hasYearMonth()) {
    literal->set_year_month_interval(static_cast<int>(value.months));
    auto* type = literal->mutable_data_type()->mutable_year_month_interval();
    type->set_start_field(value.firstYearMonth);
    type->set_end_field(value.lastYearMonth);
  } else {
    literal->set_day_time_interval(value.micros);
    auto* type = literal->mutable_data_type()->mutable_day_time_interval();
    type->set_start_field(value.firstDayTime);
    type->set_end_field(value.lastDayTime);
  }
  return node;
}

std::string bytesFromHex(const std::string& value) {
  std::string digits = value.size() % 2 ? "0" + value : value;
  std::string bytes;
  for (size_t i = 0; i < digits.size(); i += 2) {
    unsigned byte = 0;
    auto [end, status] = std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    if (status != std::errc() || end != digits.data() + i + 2) throw invalidLiteral("X", value);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace

Node SqlParser::parseNumber(bool negative) {
  const std::string source = (negative ? "-" : "") + std::string(tokens_.peek().text);
  std::string text(tokens_.take().text);
  std::string suffix;
  while (!text.empty() && !std::isdigit(static_cast<unsigned char>(text.back())) && text.back() != '.') {
    suffix.insert(0, 1, static_cast<char>(std::toupper(static_cast<unsigned char>(text.back()))));
    text.pop_back();
  }
  const bool integral = text.find_first_of(".eE") == std::string::npos;
  const std::string signedText = (negative ? "-" : "") + text;
  Literal* literal = nullptr;
  Node node = literalNode(&literal);
  const auto fillInteger = [&](int64_t least, int64_t most, const char* type) {
    int64_t value = 0;
    if (!integral || !fits(signedText, &value) || value < least || value > most) throw outOfRange(source, type);
    return value;
  };
  if (suffix == "L") {
    literal->set_long_(fillInteger(INT64_MIN, INT64_MAX, "bigint"));
  } else if (suffix == "S") {
    literal->set_short_(static_cast<int>(fillInteger(INT16_MIN, INT16_MAX, "smallint")));
  } else if (suffix == "Y") {
    literal->set_byte(static_cast<int>(fillInteger(INT8_MIN, INT8_MAX, "tinyint")));
  } else if (suffix == "F") {
    literal->set_float_(static_cast<float>(toDouble(signedText)));
    if (std::isinf(literal->float_())) throw outOfRange(source, "float");
  } else if (suffix == "D") {
    literal->set_double_(toDouble(signedText));
  } else if (suffix == "BD") {
    fillDecimal(text, negative, literal);
  } else if (text.find_first_of("eE") != std::string::npos) {
    literal->set_double_(toDouble(signedText));
  } else {
    int32_t small = 0;
    int64_t large = 0;
    if (integral && fits(signedText, &small)) literal->set_integer(small);
    else if (integral && fits(signedText, &large)) literal->set_long_(large);
    else fillDecimal(text, negative, literal);
  }
  return node;
}

std::optional<Node> SqlParser::parseTypedLiteral() {
  if (tokens_.peekWord("interval")) {
    const size_t sign = tokens_.peekSymbol("-", 1) || tokens_.peekSymbol("+", 1) ? 1 : 0;
    const TokenKind kind = tokens_.peek(1 + sign).kind;
    if (kind == TokenKind::String) return parseInterval();
    if (kind == TokenKind::Number && tokens_.peek(2 + sign).kind == TokenKind::Word &&
        isIntervalUnit(tokens_.peek(2 + sign).text)) {
      return parseInterval();
    }
    return std::nullopt;
  }
  if (tokens_.peek(1).kind != TokenKind::String ||
      !tokens_.peekAnyWord({"date", "timestamp", "timestamp_ntz", "timestamp_ltz", "x"})) {
    return std::nullopt;
  }
  std::string type(tokens_.take().text);
  for (char& c : type) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const std::string value = tokens_.expectString();
  Literal* literal = nullptr;
  Node node = literalNode(&literal);
  if (type == "X") {
    literal->set_binary(bytesFromHex(value));
    return node;
  }
  if (type == "DATE") {
    const auto days = dateFromText(value);
    if (!days) throw invalidLiteral(type, value);
    literal->set_date(*days);
    return node;
  }
  const auto timestamp = timestampFromText(value);
  if (!timestamp) throw invalidLiteral(type, value);
  const bool ntz = type == "TIMESTAMP_NTZ" || (type == "TIMESTAMP" && options_.timestampNtz && timestamp->zone.empty());
  if (ntz) {
    if (!timestamp->zone.empty()) throw invalidLiteral(type, value);
    literal->set_timestamp_ntz(timestamp->localMicros);
    return node;
  }
  try {
    const TimeZone zone = timestamp->zone.empty() ? options_.timeZone : TimeZone::parse(timestamp->zone);
    literal->set_timestamp(zone.toUtcMicros(timestamp->localMicros));
  } catch (const Error&) {
    throw invalidLiteral(type, value);
  }
  return node;
}

// INTERVAL '1 day', INTERVAL '1' DAY [TO SECOND], INTERVAL 1 DAY 2 HOURS.
Node SqlParser::parseInterval() {
  const size_t first = tokens_.position();
  tokens_.expectWord("interval");
  if (tokens_.peek().kind == TokenKind::String && !isIntervalUnit(tokens_.peek(1).text)) {
    const std::string text = tokens_.expectString();
    const auto value = intervalFromText(text);
    if (!value) throw invalidLiteral("INTERVAL", text);
    return intervalNode(*value, tokens_.textSince(first));
  }
  IntervalValue value;
  bool any = false;
  for (;;) {
    const size_t at = tokens_.position();
    const bool negative = tokens_.acceptSymbol("-");
    if (!negative) tokens_.acceptSymbol("+");
    const TokenKind kind = tokens_.peek().kind;
    const bool amountAndUnit = (kind == TokenKind::String || kind == TokenKind::Number) &&
                               tokens_.peek(1).kind == TokenKind::Word && isIntervalUnit(tokens_.peek(1).text);
    // "interval 1 day - 2" is a subtraction: only a unit behind the number makes it a part.
    if (!amountAndUnit || (any && tokens_.position() != at)) {
      tokens_.rewind(at);
      if (!any) tokens_.fail();
      return intervalNode(value, tokens_.textSince(first));
    }
    std::string amount = kind == TokenKind::String ? stringTokenValue(tokens_.take().text) : std::string(tokens_.take().text);
    if (negative) amount = amount.starts_with('-') ? amount.substr(1) : "-" + amount;
    const std::string unit(tokens_.take().text);
    if (!any && tokens_.acceptWord("to")) {
      const std::string to = tokens_.expectIdentifier();
      const auto range = intervalFromRange(amount, unit, to);
      if (!range) throw invalidLiteral("INTERVAL", amount);
      return intervalNode(*range, tokens_.textSince(first));
    }
    if (amount.find('.') != std::string::npos && !equalsIgnoreCase(unit, "second") && !equalsIgnoreCase(unit, "seconds")) {
      throw Error("INVALID_INTERVAL_FORMAT.INVALID_FRACTION",
                  "Only seconds of an interval may have a fraction, not '" + amount + "' of " + unit + ".",
                  {{"input", amount + " " + unit}, {"unit", unit}});
    }
    if (!value.add(amount, unit)) throw invalidLiteral("INTERVAL", amount + " " + unit);
    any = true;
  }
}

}  // namespace thalweg::sql
