// The proleptic Gregorian calendar: days since 1970-01-01 and civil dates, for any year that fits.
#pragma once

#include <cstdint>

namespace thalweg {

inline constexpr int64_t kMicrosPerSecond = 1'000'000;
inline constexpr int64_t kMicrosPerDay = 86'400 * kMicrosPerSecond;

struct CivilDate {
  int64_t year;  // 0 is 1 BC
  int month;     // 1..12
  int day;       // 1..31
};

constexpr bool isLeapYear(int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

constexpr int daysInMonth(int64_t year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && isLeapYear(year) ? 29 : kDays[month - 1];
}

constexpr bool isCivilDate(int64_t year, int month, int day) {
  return month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month);
}

// Days since 1970-01-01; the date must be one. Counted in eras of 400 years that begin on 1 March.
constexpr int64_t daysFromCivil(int64_t year, int month, int day) {
  const int64_t y = month <= 2 ? year - 1 : year;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t yearOfEra = y - era * 400;
  const int64_t dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146'097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719'468;
}

constexpr CivilDate civilFromDays(int64_t days) {
  days += 719'468;
  const int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const int64_t dayOfEra = days - era * 146'097;
  const int64_t yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36'524 - dayOfEra / 146'096) / 365;
  const int64_t dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
  const int64_t shifted = (5 * dayOfYear + 2) / 153;
  const int month = static_cast<int>(shifted < 10 ? shifted + 3 : shifted - 9);
  const int day = static_cast<int>(dayOfYear - (153 * shifted + 2) / 5 + 1);
  return {yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

constexpr int64_t floorDivide(int64_t value, int64_t divisor) {
  const int64_t quotient = value / divisor;
  return quotient * divisor > value ? quotient - 1 : quotient;
}

// ISO day of the week, 1 Monday … 7 Sunday.
constexpr int isoDayOfWeek(int64_t days) {
  return static_cast<int>(days + 3 - floorDivide(days + 3, 7) * 7) + 1;
}

constexpr int dayOfYear(const CivilDate& date) {
  return static_cast<int>(daysFromCivil(date.year, date.month, date.day) - daysFromCivil(date.year, 1, 1)) +
         1;
}

}  // namespace thalweg
