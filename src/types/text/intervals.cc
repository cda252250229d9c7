#include "types/text/intervals.h"

#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <variant>

#include "common/error.h"
#include "common/options.h"
#include "types/text/calendar.h"

namespace thalweg {
namespace {

std::string_view nextWord(std::string_view* text) {
  const size_t start = text->find_first_not_of(" \t\n\r");
  if (start == std::string_view::npos) {
    *text = {};
    return {};
  }
  const size_t end = std::min(text->find_first_of(" \t\n\r", start), text->size());
  const std::string_view word = text->substr(start, end - start);
  text->remove_prefix(end);
  return word;
}

const std::map<std::string, int64_t>& unitMicros() {
  static const std::map<std::string, int64_t> units = {
      {"microsecond", 1},          {"millisecond", 1000},           {"second", kMicrosPerSecond},
      {"minute", 60 * kMicrosPerSecond}, {"hour", 3600 * kMicrosPerSecond}, {"day", kMicrosPerDay},
      {"week", 7 * kMicrosPerDay}, {"month", 31 * kMicrosPerDay},   {"year", 12 * 31 * kMicrosPerDay}};
  return units;
}

}  // namespace

namespace {

// What keeps a text from being an interval: the name that Spark has for it, and the words it is about.
struct IntervalFault {
  std::string name;
  std::string word;
};

// Microseconds, or what is wrong.
std::variant<int64_t, IntervalFault> parse(std::string_view text) {
  std::string_view rest = text;
  std::string_view word = nextWord(&rest);
  if (equalsIgnoreCase(word, "interval")) word = nextWord(&rest);
  if (word.empty()) return IntervalFault{"INPUT_IS_EMPTY", std::string(text)};
  double total = 0;
  for (; !word.empty(); word = nextWord(&rest)) {
    double amount = 0;
    const char* begin = word.data() + (word.front() == '+' ? 1 : 0);
    auto [end, status] = std::from_chars(begin, word.data() + word.size(), amount, std::chars_format::fixed);
    // "nan" and "inf" are numbers to from_chars.
    if (end == begin || status == std::errc::invalid_argument || !std::isfinite(amount))
      return IntervalFault{"UNRECOGNIZED_NUMBER", std::string(word)};
    if (end != word.data() + word.size()) return IntervalFault{"INVALID_VALUE", std::string(word)};
    std::string unit = toLowerAscii(nextWord(&rest));
    if (unit.empty()) return IntervalFault{"MISSING_UNIT", std::string(word)};
    if (unit.size() > 1 && unit.back() == 's') unit.pop_back();
    auto it = unitMicros().find(unit);
    if (it == unitMicros().end()) return IntervalFault{"INVALID_UNIT", unit};
    if (amount != std::floor(amount) && unit != "second") return IntervalFault{"INVALID_FRACTION", unit};
    total += amount * static_cast<double>(it->second);
    if (status != std::errc() || std::abs(total) > 9e18) return IntervalFault{"ARITHMETIC_EXCEPTION", std::string(word)};
  }
  return static_cast<int64_t>(std::llround(total));
}

int64_t microsOr(std::string_view text, const std::function<std::string(const IntervalFault&)>& conditionOf) {
  const auto parsed = parse(text);
  if (const auto* micros = std::get_if<int64_t>(&parsed)) return *micros;
  const auto& fault = std::get<IntervalFault>(parsed);
  throw Error(conditionOf(fault), "'" + std::string(text) + "' is no interval; write for example '10 seconds' or '1 hour'.",
              {{"intervalString", std::string(text)}, {"input", std::string(text)}, {"word", fault.word}});
}

}  // namespace

bool countsMonths(std::string_view text) {
  const std::string lower = toLowerAscii(text);
  return lower.find("month") != std::string::npos || lower.find("year") != std::string::npos;
}

int64_t parseIntervalMicros(std::string_view text) {
  return microsOr(text, [](const IntervalFault&) { return "CANNOT_PARSE_INTERVAL"; });
}

int64_t parseTriggerIntervalMicros(std::string_view text) {
  if (countsMonths(text)) {
    throw Error("_LEGACY_ERROR_TEMP_3262", "A trigger's interval cannot be counted in months or years: '" + std::string(text) + "'. Use days or less.",
                {{"interval", std::string(text)}});
  }
  return microsOr(text, [](const IntervalFault& fault) { return "INVALID_INTERVAL_FORMAT." + fault.name; });
}

}  // namespace thalweg
