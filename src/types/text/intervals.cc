#include "types/text/intervals.h"

#include <charconv>
#include <cmath>
#include <map>
#include <string>

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

int64_t parseIntervalMicros(std::string_view text) {
  const Error error("CANNOT_PARSE_INTERVAL", "'" + std::string(text) + "' is no interval; write for example '10 seconds' or '1 hour'.",
                    {{"intervalString", std::string(text)}});
  std::string_view rest = text;
  std::string_view word = nextWord(&rest);
  if (equalsIgnoreCase(word, "interval")) word = nextWord(&rest);
  if (word.empty()) throw error;
  double total = 0;
  for (; !word.empty(); word = nextWord(&rest)) {
    double amount = 0;
    const char* begin = word.data() + (word.front() == '+' ? 1 : 0);
    auto [end, status] = std::from_chars(begin, word.data() + word.size(), amount);
    // "nan" and "inf" are numbers to from_chars.
    if (status != std::errc() || end != word.data() + word.size() || !std::isfinite(amount)) throw error;
    std::string unit = toLowerAscii(nextWord(&rest));
    if (unit.size() > 1 && unit.back() == 's') unit.pop_back();
    auto it = unitMicros().find(unit);
    if (it == unitMicros().end() || (amount != std::floor(amount) && unit != "second")) throw error;
    total += amount * static_cast<double>(it->second);
    if (std::abs(total) > 9e18) throw error;
  }
  return static_cast<int64_t>(std::llround(total));
}

}  // namespace thalweg
