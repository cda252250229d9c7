#include "types/text/datetime_pattern.h"

#include <algorithm>
#include <array>

#include "common/error.h"
#include "common/options.h"
#include "types/text/calendar.h"
#include "types/text/number_text.h"
#include "types/text/time_text.h"

namespace thalweg {

struct DateTimePattern::Parsed {
  std::optional<int64_t> year;
  std::optional<bool> beforeChrist;
  std::optional<int> month;
  std::optional<int> day;
  std::optional<int> dayOfYear;
  std::optional<int> hour;        // 0..23
  std::optional<int> hourOfHalf;  // 0..11
  std::optional<bool> afternoon;
  int minute = 0;
  int second = 0;
  int64_t micros = 0;
  std::optional<TimeZone> zone;
};

namespace {

constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                   "Friday", "Saturday", "Sunday"};
constexpr std::string_view kKnownLetters = "GyuMLdDQqEahHkKmsSVzOXxZF";
constexpr std::string_view kNumericLetters = "yuMLdDhHkKmsS";
constexpr std::string_view kWeekLetters = "YwWuec";
constexpr std::string_view kOldLetters = "GyYMLwWDdFEuaHkKhmsSzZX";

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isLetter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}
bool contains(std::string_view set, char c) {
  return set.find(c) != std::string_view::npos;
}

// Spark tells a pattern that its 2.x line took from one that no version takes.
Error patternError(std::string_view pattern, char letter) {
  bool old = true;
  bool quoted = false;
  for (char c : pattern) {
    if (c == '\'') quoted = !quoted;
    if (!quoted && isLetter(c) && !contains(kOldLetters, c)) old = false;
  }
  const std::string text(pattern);
  const std::string where = "The pattern '" + text + "' has '" + letter + "', which is not taken here";
  if (old) {
    return Error("INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION",
                 where + " (Spark before 3.0 took it).", {{"pattern", "'" + text + "'"}});
  }
  if (contains(kWeekLetters, letter)) {
    return Error(ErrorKind::IllegalArgument,
                 "INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_WEEK_BASED_PATTERN",
                 where + ": week-based letters are not.", {{"c", std::string(1, letter)}});
  }
  return Error(ErrorKind::IllegalArgument, "INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION",
               where + ".", {{"pattern", "'" + text + "'"}});
}

int maxCount(char letter) {
  switch (letter) {
    case 'y':
    case 'u':
      return 6;
    case 'M':
    case 'L':
    case 'E':
    case 'G':
    case 'Q':
    case 'q':
      return 4;
    case 'D':
      return 3;
    case 'S':
      return 9;
    case 'a':
    case 'F':
      return 1;
    case 'z':
    case 'O':
      return 4;
    case 'X':
    case 'x':
    case 'Z':
      return 5;
    default:
      return 2;  // d h H k K m s, VV
  }
}

bool isNumericItem(char letter, int count) {
  return contains(kNumericLetters, letter) && !((letter == 'M' || letter == 'L') && count > 2);
}

void appendPadded(int64_t value, int width, std::string* out) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  if (value < 0) out->push_back('-');
  if (static_cast<int>(digits.size()) < width) out->append(static_cast<size_t>(width) - digits.size(), '0');
  out->append(digits);
}

bool startsWithIgnoreCase(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && equalsIgnoreCase(text.substr(0, prefix.size()), prefix);
}

// Index of the name at the text's start, -1 where none; `full` or the first three letters.
template <size_t N>
int matchName(const std::array<std::string_view, N>& names, bool full, std::string_view text,
              size_t* length) {
  for (size_t i = 0; i < N; ++i) {
    const std::string_view name = full ? names[i] : names[i].substr(0, 3);
    if (startsWithIgnoreCase(text, name)) {
      *length = name.size();
      return static_cast<int>(i);
    }
  }
  return -1;
}

bool isZoneCharacter(char c) {
  return isLetter(c) || isDigit(c) || c == '/' || c == '_' || c == '+' || c == '-' || c == ':';
}

std::optional<TimeZone> matchZoneName(std::string_view text, size_t* length) {
  size_t end = 0;
  while (end < text.size() && end < 64 && isZoneCharacter(text[end])) ++end;
  for (; end > 0; --end) {
    if (auto zone = parseZone(text.substr(0, end))) {
      *length = end;
      return zone;
    }
  }
  return std::nullopt;
}

// X, x and Z: "Z", "+01", "+0130", "+01:30", "+01:30:15".
std::optional<TimeZone> matchOffset(char letter, int count, std::string_view text, size_t* length) {
  const bool takesZ = letter == 'X' || (letter == 'Z' && count == 5);
  if (takesZ && !text.empty() && (text[0] == 'Z' || text[0] == 'z')) {
    *length = 1;
    return TimeZone();
  }
  if (letter == 'Z' && count == 4) return matchZoneName(text, length);
  const bool colon = count == 3 || count == 5;
  size_t size = count == 1 && letter != 'Z' ? 3 : (colon ? 6 : 5);
  if (count == 1 && letter != 'Z' && text.size() >= 5 && isDigit(text[3]) && isDigit(text[4])) size = 5;
  if (text.size() < size || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  auto zone = parseZone(text.substr(0, size));
  if (zone) *length = size;
  return zone;
}

}  // namespace

DateTimePattern DateTimePattern::compile(std::string_view pattern) {
  DateTimePattern result;
  result.text_ = pattern;
  std::vector<size_t> open;
  auto literal = [&result](char c) {
    if (result.items_.empty() || result.items_.back().letter != 0) result.items_.emplace_back();
    result.items_.back().literal.push_back(c);
  };
  for (size_t i = 0; i < pattern.size();) {
    const char c = pattern[i];
    if (c == '\'') {
      if (i + 1 < pattern.size() && pattern[i + 1] == '\'') {
        literal('\'');
        i += 2;
        continue;
      }
      for (++i; i < pattern.size(); ++i) {
        if (pattern[i] == '\'') {
          if (i + 1 == pattern.size() || pattern[i + 1] != '\'') break;
          ++i;
        }
        literal(pattern[i]);
      }
      if (i == pattern.size()) throw patternError(pattern, '\'');
      ++i;
    } else if (isLetter(c)) {
      size_t end = i;
      while (end < pattern.size() && pattern[end] == c) ++end;
      const int count = static_cast<int>(end - i);
      if (!contains(kKnownLetters, c) || count > maxCount(c)) throw patternError(pattern, c);
      if (c == 'F' || (c == 'V' && count != 2) || (c == 'O' && count != 1 && count != 4)) {
        throw unsupported("the pattern letter '" + std::string(static_cast<size_t>(count), c) + "' in '" +
                          std::string(pattern) + "'");
      }
      Item item;
      item.letter = c;
      item.count = count;
      result.items_.push_back(std::move(item));
      i = end;
    } else if (c == '[') {
      open.push_back(result.items_.size());
      Item item;
      item.letter = '[';
      result.items_.push_back(std::move(item));
      ++i;
    } else if (c == ']') {
      if (open.empty()) throw patternError(pattern, c);
      result.items_[open.back()].other = result.items_.size();
      open.pop_back();
      Item item;
      item.letter = ']';
      result.items_.push_back(std::move(item));
      ++i;
    } else if (c == '{' || c == '}' || c == '#') {
      throw patternError(pattern, c);
    } else {
      literal(c);
      ++i;
    }
  }
  while (!open.empty()) {
    result.items_[open.back()].other = result.items_.size();
    open.pop_back();
    Item item;
    item.letter = ']';
    result.items_.push_back(std::move(item));
  }
  for (size_t i = 0; i + 1 < result.items_.size(); ++i) {
    const Item& next = result.items_[i + 1];
    result.items_[i].adjacent = isNumericItem(result.items_[i].letter, result.items_[i].count) &&
                                next.letter != 0 && isNumericItem(next.letter, next.count);
  }
  return result;
}

void DateTimePattern::requireParsable() const {
  for (const Item& item : items_) {
    if (contains("EFqQ", item.letter) && item.letter != 0) throw patternError(text_, item.letter);
  }
}

bool DateTimePattern::parseItem(const Item& item, std::string_view text, size_t* at, Parsed* parsed) {
  const std::string_view rest = text.substr(*at);
  size_t length = 0;
  const char letter = item.letter;
  if (letter == 0) {
    if (!startsWithIgnoreCase(rest, item.literal)) return false;
    *at += item.literal.size();
    return true;
  }
  if (isNumericItem(letter, item.count)) {
    size_t start = 0;
    const bool isYear = letter == 'y' || letter == 'u';
    const bool hasSign = isYear && !rest.empty() && (rest[0] == '-' || rest[0] == '+');
    if (hasSign) start = 1;
    const size_t limit =
        letter == 'S' || item.count == 2 || item.adjacent ? static_cast<size_t>(item.count) : 18;
    size_t end = start;
    int64_t value = 0;
    while (end < rest.size() && end - start < limit && isDigit(rest[end]))
      value = value * 10 + (rest[end++] - '0');
    const auto digits = static_cast<int>(end - start);
    if (digits == 0 || (letter != 'S' && item.count >= 2 && digits < item.count)) return false;
    if (isYear && item.count == 4 && digits > 4 && !(hasSign && rest[0] == '+')) return false;
    if (hasSign && rest[0] == '-') value = -value;
    *at += end;
    switch (letter) {
      case 'y':
      case 'u':
        parsed->year = item.count == 2 ? 2000 + value : value;
        return item.count != 2 || !hasSign;
      case 'M':
      case 'L':
        parsed->month = static_cast<int>(std::min<int64_t>(value, 99));
        return true;
      case 'd':
        parsed->day = static_cast<int>(std::min<int64_t>(value, 99));
        return true;
      case 'D':
        parsed->dayOfYear = static_cast<int>(std::min<int64_t>(value, 999));
        return true;
      case 'H':
        parsed->hour = static_cast<int>(value);
        return value <= 23;
      case 'k':
        parsed->hour = static_cast<int>(value % 24);
        return value >= 1 && value <= 24;
      case 'h':
        parsed->hourOfHalf = static_cast<int>(value % 12);
        return value >= 1 && value <= 12;
      case 'K':
        parsed->hourOfHalf = static_cast<int>(value);
        return value <= 11;
      case 'm':
        parsed->minute = static_cast<int>(value);
        return value <= 59;
      case 's':
        parsed->second = static_cast<int>(value);
        return value <= 59;
      default:  // S
        for (int i = digits; i < 6; ++i) value *= 10;
        for (int i = digits; i > 6; --i) value /= 10;
        parsed->micros = value;
        return true;
    }
  }
  switch (letter) {
    case 'M':
    case 'L': {
      const int month = matchName(kMonths, item.count == 4, rest, &length);
      if (month < 0) return false;
      parsed->month = month + 1;
      break;
    }
    case 'E': {
      if (matchName(kDays, item.count == 4, rest, &length) < 0) return false;
      break;
    }
    case 'a':
      if (startsWithIgnoreCase(rest, "AM")) {
        parsed->afternoon = false;
      } else if (startsWithIgnoreCase(rest, "PM")) {
        parsed->afternoon = true;
      } else {
        return false;
      }
      length = 2;
      break;
    case 'G': {
      const bool full = item.count == 4;
      for (const bool before : {false, true}) {
        const std::string_view name =
            before ? (full ? "Before Christ" : "BC") : (full ? "Anno Domini" : "AD");
        if (!startsWithIgnoreCase(rest, name)) continue;
        parsed->beforeChrist = before;
        length = name.size();
      }
      if (length == 0) return false;
      break;
    }
    case 'X':
    case 'x':
    case 'Z':
      parsed->zone = matchOffset(letter, item.count, rest, &length);
      if (!parsed->zone) return false;
      break;
    case 'z':
    case 'V':
    case 'O':
      parsed->zone = matchZoneName(rest, &length);
      if (!parsed->zone) return false;
      break;
    default:
      return false;
  }
  *at += length;
  return true;
}

bool DateTimePattern::parseItems(size_t begin, size_t end, std::string_view text, size_t* at,
                                 Parsed* parsed) const {
  for (size_t i = begin; i < end; ++i) {
    const Item& item = items_[i];
    if (item.letter == '[') {
      Parsed attempt = *parsed;
      size_t position = *at;
      if (parseItems(i + 1, item.other, text, &position, &attempt)) {
        *parsed = attempt;
        *at = position;
      }
      i = item.other;
    } else if (item.letter != ']' && !parseItem(item, text, at, parsed)) {
      return false;
    }
  }
  return true;
}

bool DateTimePattern::resolve(const Parsed& parsed, DateTimeFields* fields) {
  int64_t year = parsed.year.value_or(1970);
  if (parsed.beforeChrist) {
    if (year < 1) return false;
    if (*parsed.beforeChrist) year = 1 - year;
  }
  if (year > 999'999 || year < -999'999) return false;
  if (parsed.dayOfYear) {
    if (*parsed.dayOfYear < 1 || *parsed.dayOfYear > (isLeapYear(year) ? 366 : 365)) return false;
    const int64_t days = daysFromCivil(year, 1, 1) + *parsed.dayOfYear - 1;
    const CivilDate date = civilFromDays(days);
    if ((parsed.month && *parsed.month != date.month) || (parsed.day && *parsed.day != date.day))
      return false;
    fields->days = static_cast<int32_t>(days);
  } else {
    const int month = parsed.month.value_or(1);
    const int day = parsed.day.value_or(1);
    if (!isCivilDate(year, month, day)) return false;
    fields->days = static_cast<int32_t>(daysFromCivil(year, month, day));
  }
  int hour = parsed.hour.value_or(0);
  if (!parsed.hour && parsed.hourOfHalf)
    hour = *parsed.hourOfHalf + (parsed.afternoon.value_or(false) ? 12 : 0);
  if (parsed.hour && parsed.afternoon && (*parsed.hour >= 12) != *parsed.afternoon) return false;
  fields->microsOfDay =
      ((int64_t{hour} * 60 + parsed.minute) * 60 + parsed.second) * kMicrosPerSecond + parsed.micros;
  fields->zone = parsed.zone;
  return true;
}

std::optional<DateTimeFields> DateTimePattern::parse(std::string_view text) const {
  Parsed parsed;
  size_t at = 0;
  DateTimeFields fields;
  if (!parseItems(0, items_.size(), text, &at, &parsed) || at != text.size() || !resolve(parsed, &fields))
    return std::nullopt;
  return fields;
}

std::optional<int64_t> DateTimePattern::parseTimestampNtz(std::string_view text) const {
  const auto fields = parse(text);
  int64_t micros = 0;
  if (!fields || __builtin_mul_overflow(int64_t{fields->days}, kMicrosPerDay, &micros) ||
      __builtin_add_overflow(micros, fields->microsOfDay, &micros)) {
    return std::nullopt;
  }
  return micros;
}

std::optional<int64_t> DateTimePattern::parseTimestamp(std::string_view text, const TimeZone& zone) const {
  const auto fields = parse(text);
  int64_t micros = 0;
  if (!fields || __builtin_mul_overflow(int64_t{fields->days}, kMicrosPerDay, &micros) ||
      __builtin_add_overflow(micros, fields->microsOfDay, &micros)) {
    return std::nullopt;
  }
  const TimeZone& used = fields->zone ? *fields->zone : zone;
  return used.isUtc() ? micros : used.toUtcMicros(micros);
}

std::optional<int32_t> DateTimePattern::parseDate(std::string_view text) const {
  const auto fields = parse(text);
  if (!fields) return std::nullopt;
  return fields->days;
}

void DateTimePattern::formatItem(const Item& item, int64_t localMicros, int64_t utcMicros,
                                 const TimeZone& zone, std::string* out) {
  const int64_t days = floorDivide(localMicros, kMicrosPerDay);
  const int64_t time = localMicros - days * kMicrosPerDay;
  const CivilDate date = civilFromDays(days);
  const auto hour = static_cast<int>(time / (3600 * kMicrosPerSecond));
  const int count = item.count;
  switch (item.letter) {
    case 0:
      out->append(item.literal);
      return;
    case 'G': {
      const bool before = date.year < 1;
      out->append(count == 4 ? (before ? "Before Christ" : "Anno Domini") : (before ? "BC" : "AD"));
      return;
    }
    case 'y':
    case 'u': {
      const int64_t year = item.letter == 'y' && date.year < 1 ? 1 - date.year : date.year;
      if (count == 2) {
        appendPadded(((year % 100) + 100) % 100, 2, out);
        return;
      }
      if (count >= 4 && year > 9999 && count == 4) out->push_back('+');
      appendPadded(year, count, out);
      return;
    }
    case 'M':
    case 'L': {
      const std::string_view name = kMonths[static_cast<size_t>(date.month - 1)];
      if (count <= 2) {
        appendPadded(date.month, count, out);
      } else {
        out->append(count == 4 ? name : name.substr(0, 3));
      }
      return;
    }
    case 'd':
      appendPadded(date.day, count, out);
      return;
    case 'D':
      appendPadded(dayOfYear(date), count, out);
      return;
    case 'Q':
    case 'q': {
      const int quarter = (date.month - 1) / 3 + 1;
      static constexpr std::string_view kOrdinals[] = {"1st", "2nd", "3rd", "4th"};
      if (count <= 2) {
        appendPadded(quarter, count, out);
      } else if (count == 3) {
        out->push_back('Q');
        appendPadded(quarter, 1, out);
      } else {
        out->append(kOrdinals[quarter - 1]).append(" quarter");
      }
      return;
    }
    case 'E': {
      const std::string_view name = kDays[static_cast<size_t>(isoDayOfWeek(days) - 1)];
      out->append(count == 4 ? name : name.substr(0, 3));
      return;
    }
    case 'a':
      out->append(hour < 12 ? "AM" : "PM");
      return;
    case 'H':
      appendPadded(hour, count, out);
      return;
    case 'k':
      appendPadded(hour == 0 ? 24 : hour, count, out);
      return;
    case 'h':
      appendPadded(hour % 12 == 0 ? 12 : hour % 12, count, out);
      return;
    case 'K':
      appendPadded(hour % 12, count, out);
      return;
    case 'm':
      appendPadded(time / (60 * kMicrosPerSecond) % 60, count, out);
      return;
    case 's':
      appendPadded(time / kMicrosPerSecond % 60, count, out);
      return;
    case 'S': {
      std::string digits;
      appendPadded(time % kMicrosPerSecond, 6, &digits);
      digits.append("000");
      out->append(digits, 0, static_cast<size_t>(count));
      return;
    }
    default:
      break;
  }
  const int32_t offset = zone.offsetSeconds(utcMicros);
  std::string colon;
  appendZoneOffset(offset, &colon);
  if (item.letter == 'V') {
    out->append(zone.name());
  } else if (item.letter == 'z') {
    if (offset != 0 && isLetter(zone.name()[0]))
      throw unsupported("the pattern letter 'z' for the zone " + zone.name());
    out->append(zone.isUtc() ? "UTC" : zone.name());
  } else if (item.letter == 'O' || (item.letter == 'Z' && count == 4)) {
    out->append("GMT");
    if (offset != 0) {
      if (count == 4) {
        out->append(colon);
      } else {
        const int32_t magnitude = offset < 0 ? -offset : offset;
        out->push_back(offset < 0 ? '-' : '+');
        appendPadded(magnitude / 3600, 1, out);
        if (magnitude % 3600 != 0) {
          out->push_back(':');
          appendPadded(magnitude / 60 % 60, 2, out);
        }
      }
    }
  } else {
    const bool printsZ = item.letter == 'X' || (item.letter == 'Z' && count == 5);
    if (offset == 0 && printsZ) {
      out->push_back('Z');
      return;
    }
    if (offset == 0) colon = "+00:00";
    const bool withColon = count == 3 || count == 5;
    if (item.letter != 'Z' && count == 1 && offset % 3600 == 0) {
      out->append(colon, 0, 3);
    } else if (withColon) {
      out->append(colon);
    } else {
      out->append(colon, 0, 3).append(colon, 4, 2);
    }
  }
}

void DateTimePattern::format(int64_t localMicros, int64_t utcMicros, const TimeZone& zone,
                             std::string* out) const {
  for (const Item& item : items_) {
    if (item.letter != '[' && item.letter != ']') formatItem(item, localMicros, utcMicros, zone, out);
  }
}

}  // namespace thalweg
