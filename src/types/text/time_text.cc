#include "types/text/time_text.h"

#include <chrono>
#include <cstring>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "common/error.h"
#include "types/text/calendar.h"
#include "types/text/number_text.h"

namespace thalweg {
namespace {

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

// What the cast grammar found: year, month, day, hour, minute, second, microseconds.
struct TimestampParts {
  int64_t segments[9] = {1, 1, 1, 0, 0, 0, 0, 0, 0};
  std::string_view zone;
  bool hasZone = false;
  bool justTime = false;
};

bool isValidDigits(int segment, int digits) {
  if (segment == 6) return true;
  if (segment == 0) return digits >= 4 && digits <= 6;
  if (segment == 7) return digits <= 2;
  return digits > 0 && digits <= 2;
}

// A state machine over Spark's segments; `segment` is the one that digits belong to.
class TimestampScanner {
 public:
  bool scan(std::string_view text, TimestampParts* parts) {
    parts_ = parts;
    size_t i = 0;
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
      signed_ = true;
      negative_ = text[0] == '-';
      i = 1;
    }
    for (; i < text.size(); ++i) {
      if (isDigit(text[i])) {
        addDigit(text[i] - '0');
      } else if (!addSeparator(text, &i)) {
        return false;
      }
    }
    if (segment_ > 8 || !isValidDigits(segment_, digits_)) return false;
    parts->segments[segment_] = value_;
    for (; fractionDigits_ < 6; ++fractionDigits_) parts->segments[6] *= 10;
    if (negative_) parts->segments[0] = -parts->segments[0];
    return true;
  }

 private:
  void addDigit(int digit) {
    if (segment_ == 6) ++fractionDigits_;
    if (segment_ != 6 || digits_ < 6) value_ = digits_ > 9 ? value_ : value_ * 10 + digit;
    ++digits_;
  }

  bool close(int segment) {
    if (!isValidDigits(segment, digits_)) return false;
    parts_->segments[segment] = value_;
    value_ = 0;
    digits_ = 0;
    return true;
  }

  bool addSeparator(std::string_view text, size_t* i) {
    const char c = text[*i];
    if (*i == 0 && c == 'T') {
      parts_->justTime = true;
      segment_ += 3;
      return true;
    }
    switch (segment_) {
      case 0:
        if (c == ':' && !signed_) {
          parts_->justTime = true;
          segment_ = 4;
          return close(3);
        }
        [[fallthrough]];
      case 1:
        return c == '-' && close(segment_++);
      case 2:
        return (c == ' ' || c == 'T') && close(segment_++);
      case 3:
      case 4:
        return c == ':' && close(segment_++);
      case 5:
        if (c == '.') return close(segment_++);
        [[fallthrough]];
      case 6:
        if (!close(segment_)) return false;
        segment_ = 7;
        parts_->hasZone = true;
        parts_->zone = text.substr(*i);
        *i = text.size() - 1;
        return true;
      default:
        return false;
    }
  }

  TimestampParts* parts_ = nullptr;
  int segment_ = 0;
  int64_t value_ = 0;
  int digits_ = 0;
  int fractionDigits_ = 0;
  bool signed_ = false;
  bool negative_ = false;
};

bool addChecked(int64_t days, int64_t microsOfDay, int64_t* micros) {
  int64_t whole = 0;
  // A negative day is taken one up, so that the smallest timestamp does not overflow on the way.
  if (days < 0 && microsOfDay > 0) {
    ++days;
    microsOfDay -= kMicrosPerDay;
  }
  return !__builtin_mul_overflow(days, kMicrosPerDay, &whole) &&
         !__builtin_add_overflow(whole, microsOfDay, micros);
}

bool timeOfDay(const int64_t* segments, int64_t* micros) {
  if (segments[3] > 23 || segments[4] > 59 || segments[5] > 59) return false;
  *micros = ((segments[3] * 60 + segments[4]) * 60 + segments[5]) * kMicrosPerSecond + segments[6];
  return true;
}

bool localMicros(const TimestampParts& parts, int64_t* micros) {
  const auto month = static_cast<int>(parts.segments[1]);
  const auto day = static_cast<int>(parts.segments[2]);
  int64_t time = 0;
  return isCivilDate(parts.segments[0], month, day) && timeOfDay(parts.segments, &time) &&
         addChecked(daysFromCivil(parts.segments[0], month, day), time, micros);
}

// "+1", "+01:00", "+1:2", "-0830", "+01:00:30"; ZoneOffset's forms and Spark's lenient single digits.
std::optional<int32_t> parseOffset(std::string_view text) {
  if (text.size() < 2 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const int sign = text[0] == '-' ? -1 : 1;
  text.remove_prefix(1);
  int parts[3] = {0, 0, 0};
  if (text.find(':') == std::string_view::npos) {
    if (text.size() != 1 && text.size() != 2 && text.size() != 4 && text.size() != 6) return std::nullopt;
    for (size_t i = 0; i < text.size(); ++i) {
      if (!isDigit(text[i])) return std::nullopt;
      int& part = parts[i / 2];
      part = part * 10 + (text[i] - '0');
    }
  } else {
    int part = 0;
    int digits = 0;
    for (char c : text) {
      if (c == ':') {
        if (digits == 0 || ++part > 2) return std::nullopt;
        digits = 0;
      } else if (!isDigit(c) || ++digits > 2) {
        return std::nullopt;
      } else {
        parts[part] = parts[part] * 10 + (c - '0');
      }
    }
    if (digits == 0 || (part == 2 && digits != 2)) return std::nullopt;
  }
  if (parts[1] > 59 || parts[2] > 59) return std::nullopt;
  const int32_t seconds = (parts[0] * 60 + parts[1]) * 60 + parts[2];
  if (seconds > 18 * 3600) return std::nullopt;
  return sign * seconds;
}

std::optional<int32_t> parseFixedZone(std::string_view text) {
  if (text == "Z") return 0;
  for (std::string_view prefix : {"UTC", "GMT", "UT"}) {
    if (!text.starts_with(prefix)) continue;
    if (text.size() == prefix.size()) return 0;
    return parseOffset(text.substr(prefix.size()));
  }
  return parseOffset(text);
}

bool looksLikeRegion(std::string_view text) {
  if (text.size() < 2 || text.size() > 64) return false;
  for (char c : text) {
    const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (!letter && !isDigit(c) && c != '/' && c != '_' && c != '-' && c != '+') return false;
  }
  return !isDigit(text[0]) && text[0] != '+' && text[0] != '-';
}

// Region look-ups throw where there is no such zone: each name is asked for once. Bounded, for the names are
// foreign.
std::optional<TimeZone> regionZone(std::string_view text) {
  static std::mutex mutex;
  static std::unordered_map<std::string, std::optional<TimeZone>> known;
  constexpr size_t kMaxKnown = 4096;
  std::lock_guard lock(mutex);
  std::string name(text);
  if (const auto it = known.find(name); it != known.end()) return it->second;
  std::optional<TimeZone> zone;
  try {
    zone = TimeZone::parse(name);
  } catch (const Error&) {
    zone = std::nullopt;
  }
  if (known.size() >= kMaxKnown) known.clear();
  known.emplace(std::move(name), zone);
  return zone;
}

std::string_view trimSpaces(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

// Local microseconds in a zone, which may be fixed without a TimeZone object.
std::optional<int64_t> toUtc(int64_t local, const TimestampParts& parts, const TimeZone& zone) {
  if (!parts.hasZone) return zone.isUtc() ? local : zone.toUtcMicros(local);
  const std::string_view name = trimSpaces(parts.zone);
  if (const auto offset = parseFixedZone(name)) {
    int64_t micros = 0;
    if (__builtin_sub_overflow(local, *offset * kMicrosPerSecond, &micros)) return std::nullopt;
    return micros;
  }
  if (!looksLikeRegion(name)) return std::nullopt;
  const auto region = regionZone(name);
  if (!region) return std::nullopt;
  return region->toUtcMicros(local);
}

std::optional<int64_t> todayAt(const TimestampParts& parts, const TimeZone& zone) {
  int64_t time = 0;
  if (!timeOfDay(parts.segments, &time)) return std::nullopt;
  TimeZone used = zone;
  if (parts.hasZone) {
    const auto named = parseZone(trimSpaces(parts.zone));
    if (!named) return std::nullopt;
    used = *named;
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t nowMicros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const int64_t today = floorDivide(used.toLocalMicros(nowMicros), kMicrosPerDay);
  return used.toUtcMicros(today * kMicrosPerDay + time);
}

void appendPadded(int64_t value, int width, std::string* out) {
  char digits[20];
  int n = 0;
  do {
    digits[n++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value > 0);
  for (int i = n; i < width; ++i) out->push_back('0');
  while (n > 0) out->push_back(digits[--n]);
}

void appendYear(int64_t year, std::string* out) {
  if (year < 0) {
    out->push_back('-');
    year = -year;
  } else if (year > 9999) {
    out->push_back('+');
  }
  appendPadded(year, 4, out);
}

void appendSecondsOfDay(int64_t seconds, std::string* out) {
  appendPadded(seconds / 3600, 2, out);
  out->push_back(':');
  appendPadded(seconds / 60 % 60, 2, out);
  out->push_back(':');
  appendPadded(seconds % 60, 2, out);
}

// The date, then the mark, then the time of day in seconds; returns the microseconds left over.
int64_t appendDateAndTime(int64_t localMicros, char mark, std::string* out) {
  const int64_t days = floorDivide(localMicros, kMicrosPerDay);
  const int64_t time = localMicros - days * kMicrosPerDay;
  appendDate(static_cast<int32_t>(days), out);
  out->push_back(mark);
  appendSecondsOfDay(time / kMicrosPerSecond, out);
  return time % kMicrosPerSecond;
}

}  // namespace

bool parseIsoTimestamp(const char* text, size_t size, int64_t* micros, bool* utc) {
  if (size < 19 || size > 27) return false;
  auto two = [text](size_t at) { return (text[at] - '0') * 10 + (text[at + 1] - '0'); };
  // Every position must hold a digit or its mark: one mask instead of a branch a character.
  unsigned bad = 0;
  for (size_t at : {0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18}) {
    bad |= static_cast<unsigned>(static_cast<unsigned char>(text[at] - '0') > 9);
  }
  bad |= static_cast<unsigned>(text[4] != '-') | static_cast<unsigned>(text[7] != '-');
  bad |= static_cast<unsigned>(text[13] != ':') | static_cast<unsigned>(text[16] != ':');
  bad |= static_cast<unsigned>(text[10] != 'T' && text[10] != ' ');
  if (bad) return false;
  size_t end = size;
  *utc = text[end - 1] == 'Z';
  if (*utc) --end;
  int64_t fraction = 0;
  if (end > 19) {
    if (text[19] != '.' || end == 20 || end > 26) return false;
    static constexpr int64_t kScale[] = {1'000'000, 100'000, 10'000, 1'000, 100, 10, 1};
    for (size_t i = 20; i < end; ++i) {
      const auto digit = static_cast<unsigned char>(text[i] - '0');
      if (digit > 9) return false;
      fraction = fraction * 10 + digit;
    }
    fraction *= kScale[end - 20];
  }
  const int year = two(0) * 100 + two(2);
  const int month = two(5);
  const int day = two(8);
  const int hour = two(11);
  const int minute = two(14);
  const int second = two(17);
  if (!isCivilDate(year, month, day) || hour > 23 || minute > 59 || second > 59) return false;
  *micros = daysFromCivil(year, month, day) * kMicrosPerDay +
            ((hour * 60 + minute) * 60 + second) * kMicrosPerSecond + fraction;
  return true;
}

std::optional<int64_t> parseTimestamp(std::string_view text, const TimeZone& zone) {
  int64_t micros = 0;
  bool utc = false;
  if (parseIsoTimestamp(text.data(), text.size(), &micros, &utc)) {
    return utc || zone.isUtc() ? micros : zone.toUtcMicros(micros);
  }
  TimestampParts parts;
  if (!TimestampScanner().scan(trimBlanks(text), &parts)) return std::nullopt;
  if (parts.justTime) return todayAt(parts, zone);
  if (!localMicros(parts, &micros)) return std::nullopt;
  return toUtc(micros, parts, zone);
}

std::optional<int64_t> parseTimestampNtz(std::string_view text, bool allowZone) {
  int64_t micros = 0;
  bool utc = false;
  if (parseIsoTimestamp(text.data(), text.size(), &micros, &utc) && !utc) return micros;
  TimestampParts parts;
  if (!TimestampScanner().scan(trimBlanks(text), &parts) || parts.justTime) return std::nullopt;
  if (parts.hasZone && (!allowZone || !parseZone(trimSpaces(parts.zone)))) return std::nullopt;
  if (!localMicros(parts, &micros)) return std::nullopt;
  return micros;
}

std::optional<int32_t> parseDate(std::string_view text) {
  text = trimBlanks(text);
  if (text.empty()) return std::nullopt;
  const bool negative = text[0] == '-';
  if (negative || text[0] == '+') text.remove_prefix(1);
  int64_t segments[3] = {1, 1, 1};
  int segment = 0;
  int digits = 0;
  int64_t value = 0;
  auto valid = [&] { return segment == 0 ? digits >= 4 && digits <= 7 : digits > 0 && digits <= 2; };
  size_t i = 0;
  for (; i < text.size() && text[i] != ' ' && text[i] != 'T'; ++i) {
    if (segment < 2 && text[i] == '-') {
      if (!valid()) return std::nullopt;
      segments[segment++] = value;
      value = 0;
      digits = 0;
    } else if (!isDigit(text[i]) || ++digits > 7) {
      return std::nullopt;
    } else {
      value = value * 10 + (text[i] - '0');
    }
  }
  if (!valid() || (segment < 2 && i < text.size())) return std::nullopt;
  segments[segment] = value;
  const int64_t year = negative ? -segments[0] : segments[0];
  const auto month = static_cast<int>(segments[1]);
  const auto day = static_cast<int>(segments[2]);
  if (!isCivilDate(year, month, day)) return std::nullopt;
  const int64_t days = daysFromCivil(year, month, day);
  if (days < std::numeric_limits<int32_t>::min() || days > std::numeric_limits<int32_t>::max())
    return std::nullopt;
  return static_cast<int32_t>(days);
}

std::optional<TimeZone> parseZone(std::string_view text) {
  if (const auto offset = parseFixedZone(text)) {
    if (*offset == 0) return TimeZone();
    char name[32];
    const int magnitude = *offset < 0 ? -*offset : *offset;
    std::snprintf(name, sizeof name, "%c%02d:%02d:%02d", *offset < 0 ? '-' : '+', magnitude / 3600,
                  magnitude / 60 % 60, magnitude % 60);
    return TimeZone::parse(name);
  }
  if (!looksLikeRegion(text)) return std::nullopt;
  return regionZone(text);
}

void appendDate(int32_t days, std::string* out) {
  const CivilDate date = civilFromDays(days);
  appendYear(date.year, out);
  out->push_back('-');
  appendPadded(date.month, 2, out);
  out->push_back('-');
  appendPadded(date.day, 2, out);
}

void appendTimestamp(int64_t localMicros, std::string* out) {
  int64_t fraction = appendDateAndTime(localMicros, ' ', out);
  if (fraction == 0) return;
  out->push_back('.');
  int width = 6;
  for (; fraction % 10 == 0; fraction /= 10) --width;
  appendPadded(fraction, width, out);
}

void appendIsoTimestamp(int64_t localMicros, std::string* out) {
  const int64_t fraction = appendDateAndTime(localMicros, 'T', out);
  out->push_back('.');
  appendPadded(fraction / 1000, 3, out);
}

void appendZoneOffset(int32_t offsetSeconds, std::string* out) {
  if (offsetSeconds == 0) {
    out->push_back('Z');
    return;
  }
  out->push_back(offsetSeconds < 0 ? '-' : '+');
  const int32_t magnitude = offsetSeconds < 0 ? -offsetSeconds : offsetSeconds;
  appendPadded(magnitude / 3600, 2, out);
  out->push_back(':');
  appendPadded(magnitude / 60 % 60, 2, out);
}

}  // namespace thalweg
