#include "sql/literal_text.h"

#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <vector>

#include "common/options.h"

namespace thalweg::sql {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kDay = 86'400 * kSecond;

struct Unit {
  std::string_view name;
  int64_t months;
  int64_t micros;
  int field;
};
constexpr std::array<Unit, 10> kUnits = {{{"year", 12, 0, 0},
                                          {"month", 1, 0, 1},
                                          {"week", 0, 7 * kDay, 0},
                                          {"day", 0, kDay, 0},
                                          {"hour", 0, 3600 * kSecond, 1},
                                          {"minute", 0, 60 * kSecond, 2},
                                          {"second", 0, kSecond, 3},
                                          {"millisecond", 0, 1000, 3},
                                          {"microsecond", 0, 1, 3},
                                          {"nanosecond", 0, 0, 3}}};

const Unit* findUnit(std::string_view word) {
  for (const Unit& unit : kUnits) {
    if (equalsIgnoreCase(word, unit.name)) return &unit;
    if (word.size() == unit.name.size() + 1 && (word.back() == 's' || word.back() == 'S') &&
        equalsIgnoreCase(word.substr(0, word.size() - 1), unit.name)) {
      return &unit;
    }
  }
  return nullptr;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

// Digits from the front: between least and most of them.
std::optional<int64_t> takeDigits(std::string_view& text, size_t least, size_t most) {
  size_t count = 0;
  int64_t value = 0;
  while (count < text.size() && count < most + 1 && std::isdigit(static_cast<unsigned char>(text[count]))) {
    value = value * 10 + (text[count] - '0');
    ++count;
  }
  if (count < least || count > most) return std::nullopt;
  text.remove_prefix(count);
  return value;
}

bool takeChar(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<int32_t> takeDate(std::string_view& text) {
  const bool negative = takeChar(text, '-');
  if (!negative) takeChar(text, '+');
  const auto year = takeDigits(text, 4, 7);
  if (!year) return std::nullopt;
  int64_t month = 1, day = 1;
  if (takeChar(text, '-')) {
    const auto monthDigits = takeDigits(text, 1, 2);
    if (!monthDigits) return std::nullopt;
    month = *monthDigits;
    if (takeChar(text, '-')) {
      const auto dayDigits = takeDigits(text, 1, 2);
      if (!dayDigits) return std::nullopt;
      day = *dayDigits;
    }
  }
  const int64_t signedYear = negative ? -*year : *year;
  // Days by the civil calendar's arithmetic (years beyond std::chrono's range included).
  if (month < 1 || month > 12 || day < 1) return std::nullopt;
  const bool leap = (signedYear % 4 == 0 && signedYear % 100 != 0) || signedYear % 400 == 0;
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (day > kDays[month - 1] + (month == 2 && leap ? 1 : 0)) return std::nullopt;
  const int64_t shifted = month <= 2 ? signedYear - 1 : signedYear;
  const int64_t era = (shifted >= 0 ? shifted : shifted - 399) / 400;
  const int64_t yearOfEra = shifted - era * 400;
  const int64_t dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int64_t days = era * 146097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719468;
  if (days < INT32_MIN || days > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(days);
}

// Fraction digits behind a dot as microseconds; digits beyond the sixth are dropped.
std::optional<int64_t> takeFraction(std::string_view& text) {
  int64_t micros = 0;
  size_t count = 0;
  while (count < text.size() && std::isdigit(static_cast<unsigned char>(text[count]))) {
    if (count < 6) micros = micros * 10 + (text[count] - '0');
    ++count;
  }
  if (count > 9) return std::nullopt;
  for (size_t i = count; i < 6; ++i) micros *= 10;
  text.remove_prefix(count);
  return micros;
}

// H:m[:s[.f]] in microseconds; hours to 23 unless unbounded.
std::optional<int64_t> takeClock(std::string_view& text) {
  const auto hour = takeDigits(text, 1, 2);
  if (!hour || *hour > 23) return std::nullopt;
  int64_t micros = *hour * 3600 * kSecond;
  if (!takeChar(text, ':')) return micros;
  const auto minute = takeDigits(text, 1, 2);
  if (!minute || *minute > 59) return std::nullopt;
  micros += *minute * 60 * kSecond;
  if (!takeChar(text, ':')) return micros;
  const auto second = takeDigits(text, 1, 2);
  if (!second || *second > 59) return std::nullopt;
  micros += *second * kSecond;
  if (!takeChar(text, '.')) return micros;
  const auto fraction = takeFraction(text);
  if (!fraction) return std::nullopt;
  return micros + *fraction;
}

void noteField(IntervalValue& value, const Unit& unit) {
  int& first = unit.months ? value.firstYearMonth : value.firstDayTime;
  int& last = unit.months ? value.lastYearMonth : value.lastDayTime;
  first = std::min(first, unit.field);
  last = std::max(last, unit.field);
}

bool addScaled(int64_t& total, int64_t count, int64_t factor) {
  int64_t product = 0;
  return !__builtin_mul_overflow(count, factor, &product) && !__builtin_add_overflow(total, product, &total);
}

}  // namespace

std::optional<int32_t> dateFromText(std::string_view text) {
  text = trimmed(text);
  const auto days = takeDate(text);
  if (!days || (!text.empty() && text[0] != ' ' && text[0] != 'T')) return std::nullopt;
  return days;
}

std::optional<TimestampText> timestampFromText(std::string_view text) {
  text = trimmed(text);
  const auto days = takeDate(text);
  if (!days) return std::nullopt;
  TimestampText result;
  int64_t clock = 0;
  if (!text.empty()) {
    if (text[0] != ' ' && text[0] != 'T') return std::nullopt;
    text.remove_prefix(1);
    text = trimmed(text);
    if (!text.empty()) {
      const auto micros = takeClock(text);
      if (!micros) return std::nullopt;
      clock = *micros;
    }
  }
  result.zone = trimmed(text);
  result.localMicros = clock;
  if (!addScaled(result.localMicros, *days, kDay)) return std::nullopt;
  return result;
}

bool isIntervalUnit(std::string_view word) { return findUnit(word) != nullptr; }

bool IntervalValue::add(std::string_view amount, std::string_view unitWord) {
  const Unit* unit = findUnit(unitWord);
  if (!unit) return false;
  amount = trimmed(amount);
  const bool negative = takeChar(amount, '-');
  if (!negative) takeChar(amount, '+');
  amount = trimmed(amount);
  int64_t count = 0;
  auto [end, status] = std::from_chars(amount.data(), amount.data() + amount.size(), count);
  std::string_view rest = amount.substr(static_cast<size_t>(end - amount.data()));
  if (status != std::errc() && (amount.empty() || amount[0] != '.')) return false;
  if (!amount.empty() && amount[0] == '-') return false;
  noteField(*this, *unit);
  const int64_t sign = negative ? -1 : 1;
  if (unit->name == "nanosecond") return rest.empty() && addScaled(micros, sign, count / 1000);
  if (takeChar(rest, '.')) {
    const auto fraction = unit->name == "second" ? takeFraction(rest) : std::nullopt;
    if (!fraction || !addScaled(micros, sign, *fraction)) return false;
  }
  if (!rest.empty()) return false;
  return unit->months ? addScaled(months, count * sign, unit->months) && months >= INT32_MIN && months <= INT32_MAX
                      : addScaled(micros, count * sign, unit->micros);
}

std::optional<IntervalValue> intervalFromText(std::string_view text) {
  std::vector<std::string_view> words;
  text = trimmed(text);
  while (!text.empty()) {
    size_t end = 0;
    while (end < text.size() && static_cast<unsigned char>(text[end]) > ' ') ++end;
    words.push_back(text.substr(0, end));
    text = trimmed(text.substr(end));
  }
  size_t i = !words.empty() && equalsIgnoreCase(words[0], "interval") ? 1 : 0;
  if (i == words.size()) return std::nullopt;
  IntervalValue value;
  while (i < words.size()) {
    std::string amount(words[i++]);
    // A sign may stand apart from its number.
    if ((amount == "-" || amount == "+") && i < words.size()) amount += words[i++];
    if (i >= words.size() || !value.add(amount, words[i++])) return std::nullopt;
  }
  return value;
}

std::optional<IntervalValue> intervalFromRange(std::string_view text, std::string_view from, std::string_view to) {
  text = trimmed(text);
  const bool negative = takeChar(text, '-');
  if (!negative) takeChar(text, '+');
  const Unit* first = findUnit(from);
  const Unit* last = findUnit(to);
  if (!first || !last || (first->months != 0) != (last->months != 0) || first->field >= last->field) return std::nullopt;
  IntervalValue value;
  if (first->months) {
    const auto years = takeDigits(text, 1, 9);
    if (!years || !takeChar(text, '-')) return std::nullopt;
    const auto months = takeDigits(text, 1, 2);
    if (!months || *months > 11 || !text.empty()) return std::nullopt;
    value.months = *years * 12 + *months;
    if (value.months > INT32_MAX) return std::nullopt;
  } else {
    constexpr std::array<int64_t, 4> kMicros = {kDay, 3600 * kSecond, 60 * kSecond, kSecond};
    constexpr std::array<int64_t, 4> kMost = {999'999'999, 23, 59, 59};
    for (int field = first->field; field <= last->field; ++field) {
      if (field > first->field && !takeChar(text, field == 1 ? ' ' : ':')) return std::nullopt;
      text = field == 1 ? trimmed(text) : text;
      const auto amount = takeDigits(text, 1, field == first->field ? 9 : 2);
      if (!amount || (field != first->field && *amount > kMost[field])) return std::nullopt;
      if (!addScaled(value.micros, *amount, kMicros[field])) return std::nullopt;
    }
    if (last->field == 3 && takeChar(text, '.')) {
      const auto fraction = takeFraction(text);
      if (!fraction) return std::nullopt;
      value.micros += *fraction;
    }
    if (!text.empty()) return std::nullopt;
  }
  noteField(value, *first);
  noteField(value, *last);
  if (negative) {
    value.months = -value.months;
    value.micros = -value.micros;
  }
  return value;
}

}  // namespace thalweg::sql
