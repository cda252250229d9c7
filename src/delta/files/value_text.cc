#include "delta/files/value_text.h"

#include <charconv>
#include <cmath>

#include <date/date.h>

namespace thalweg::delta {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kMicrosPerDay = 86'400 * kMicrosPerSecond;
constexpr int64_t kFirstDay = -719'162;  // 0001-01-01
constexpr int64_t kLastDay = 2'932'896;  // 9999-12-31

int64_t floorDivide(int64_t value, int64_t divisor) {
  return value / divisor - (value % divisor < 0);
}

template <typename Float>
std::string javaTextOf(Float value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, std::fabs(value), std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  const int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  std::string digits(1, text[0]);
  if (e > 2) digits += text.substr(2, e - 2);
  std::string result = value < 0 ? "-" : "";
  const auto size = static_cast<int>(digits.size());
  if (exponent >= -3 && exponent < 0) {
    result += "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  } else if (exponent >= 0 && exponent < 7) {
    if (size <= exponent) digits.append(static_cast<size_t>(exponent + 1 - size), '0');
    const std::string fraction = digits.substr(static_cast<size_t>(exponent) + 1);
    result += digits.substr(0, static_cast<size_t>(exponent) + 1) + "." + (fraction.empty() ? "0" : fraction);
  } else {
    result +=
        digits.substr(0, 1) + "." + (size > 1 ? digits.substr(1) : "0") + "E" + std::to_string(exponent);
  }
  return result;
}

// Reads exactly `count` digits at the front.
std::optional<int> takeDigits(std::string_view& text, size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  for (size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<int64_t> takeDate(std::string_view& text) {
  const auto year = takeDigits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = takeDigits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = takeDigits(text, 2);
  if (!day) return std::nullopt;
  const date::year_month_day date{date::year(*year), date::month(static_cast<unsigned>(*month)),
                                  date::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return date::sys_days(date).time_since_epoch().count();
}

// ":mm:ss[.f…]" after the hours; microseconds of the day.
std::optional<int64_t> takeTime(std::string_view& text) {
  const auto hours = takeDigits(text, 2);
  if (!hours || *hours > 23 || !take(text, ':')) return std::nullopt;
  const auto minutes = takeDigits(text, 2);
  if (!minutes || *minutes > 59 || !take(text, ':')) return std::nullopt;
  const auto seconds = takeDigits(text, 2);
  if (!seconds || *seconds > 59) return std::nullopt;
  int64_t micros = 0;
  if (take(text, '.')) {
    int64_t unit = kMicrosPerSecond / 10;
    size_t digits = 0;
    for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1), ++digits) {
      micros += (text.front() - '0') * unit;
      unit /= 10;
    }
    if (digits == 0 || digits > 9) return std::nullopt;
  }
  return (int64_t{*hours} * 3600 + *minutes * 60 + *seconds) * kMicrosPerSecond + micros;
}

// "Z" or "±hh:mm"; microseconds to take away.
std::optional<int64_t> takeOffset(std::string_view& text) {
  if (take(text, 'Z')) return 0;
  const int64_t sign = text.front() == '-' ? -1 : 1;
  if (!take(text, '+') && !take(text, '-')) return std::nullopt;
  const auto hours = takeDigits(text, 2);
  if (!hours) return std::nullopt;
  take(text, ':');
  const auto minutes = takeDigits(text, 2);
  if (!minutes) return std::nullopt;
  return sign * (int64_t{*hours} * 60 + *minutes) * 60 * kMicrosPerSecond;
}

}  // namespace

std::string javaText(double value) {
  return javaTextOf(value);
}
std::string javaText(float value) {
  return javaTextOf(value);
}

std::optional<std::string> dateText(int64_t days) {
  if (days < kFirstDay || days > kLastDay) return std::nullopt;
  const date::year_month_day date{date::sys_days(date::days(static_cast<int>(days)))};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

std::optional<int32_t> parseDateText(std::string_view text) {
  const auto days = takeDate(text);
  if (!days || !text.empty()) return std::nullopt;
  return static_cast<int32_t>(*days);
}

std::optional<std::string> timestampText(int64_t micros, char separator, int fractionDigits) {
  const int64_t days = floorDivide(micros, kMicrosPerDay);
  auto text = dateText(days);
  if (!text) return std::nullopt;
  const int64_t ofDay = micros - days * kMicrosPerDay;
  const int64_t seconds = ofDay / kMicrosPerSecond;
  *text += fmt::format("{}{:02}:{:02}:{:02}", separator, seconds / 3600, seconds / 60 % 60, seconds % 60);
  std::string fraction = fmt::format("{:06}", ofDay % kMicrosPerSecond);
  if (fractionDigits < 0) {
    while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  } else {
    fraction.resize(static_cast<size_t>(fractionDigits));
  }
  if (!fraction.empty()) *text += "." + fraction;
  return text;
}

std::optional<int64_t> parseTimestampText(std::string_view text, const TimeZone& zone) {
  const auto days = takeDate(text);
  if (!days) return std::nullopt;
  if (text.empty()) return zone.toUtcMicros(*days * kMicrosPerDay);
  if (!take(text, ' ') && !take(text, 'T')) return std::nullopt;
  const auto ofDay = takeTime(text);
  if (!ofDay) return std::nullopt;
  if (text.empty()) return zone.toUtcMicros(*days * kMicrosPerDay + *ofDay);
  const auto offset = takeOffset(text);
  if (!offset || !text.empty()) return std::nullopt;
  return *days * kMicrosPerDay + *ofDay - *offset;
}

}  // namespace thalweg::delta
