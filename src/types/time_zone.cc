#include "types/time_zone.h"

#include <charconv>
#include <map>
#include <optional>

#include <date/tz.h>

#include "common/error.h"
#include "types/text/calendar.h"

namespace thalweg {

struct TimeZone::Rules {
  std::string name;
  const date::time_zone* region = nullptr;  // null for a fixed offset
  int32_t fixedOffset = 0;                  // seconds
};

namespace {

constexpr int32_t kMaxOffset = 18 * 3600;

std::optional<int> parseNumber(std::string_view text) {
  if (text.empty() || text.size() > 2) return std::nullopt;
  int value = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "+h", "+hh", "+hh:mm", "+hhmm", "+hh:mm:ss" (java.time's ZoneOffset, and Spark's lenient "+h:mm").
std::optional<int32_t> parseOffset(std::string_view text) {
  if (text.size() < 2 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const int sign = text[0] == '-' ? -1 : 1;
  text.remove_prefix(1);
  std::optional<int> parts[3] = {std::nullopt, 0, 0};
  if (text.find(':') == std::string_view::npos) {
    if (text.size() == 4 || text.size() == 6) {
      for (size_t i = 0; i * 2 < text.size(); ++i) parts[i] = parseNumber(text.substr(i * 2, 2));
    } else {
      parts[0] = parseNumber(text);
    }
  } else {
    for (int i = 0; i < 3 && !text.empty(); ++i) {
      const auto colon = text.find(':');
      parts[i] = parseNumber(text.substr(0, colon));
      if (colon == std::string_view::npos) {
        text = {};
      } else {
        text.remove_prefix(colon + 1);
        if (text.empty()) return std::nullopt;
      }
    }
    if (!text.empty()) return std::nullopt;
  }
  if (!parts[0] || !parts[1] || !parts[2] || *parts[1] > 59 || *parts[2] > 59) return std::nullopt;
  const int32_t seconds = *parts[0] * 3600 + *parts[1] * 60 + *parts[2];
  if (seconds > kMaxOffset) return std::nullopt;
  return sign * seconds;
}

// Java's ZoneId.SHORT_IDS: names that the zone database lacks or means differently.
const std::map<std::string_view, std::string_view>& shortNames() {
  static const std::map<std::string_view, std::string_view> names = {
      {"ACT", "Australia/Darwin"}, {"AET", "Australia/Sydney"}, {"AGT", "America/Argentina/Buenos_Aires"},
      {"ART", "Africa/Cairo"}, {"AST", "America/Anchorage"}, {"BET", "America/Sao_Paulo"}, {"BST", "Asia/Dhaka"},
      {"CAT", "Africa/Harare"}, {"CNT", "America/St_Johns"}, {"CST", "America/Chicago"}, {"CTT", "Asia/Shanghai"},
      {"EAT", "Africa/Addis_Ababa"}, {"ECT", "Europe/Paris"}, {"IET", "America/Indiana/Indianapolis"},
      {"IST", "Asia/Kolkata"}, {"JST", "Asia/Tokyo"}, {"MIT", "Pacific/Apia"}, {"NET", "Asia/Yerevan"},
      {"NST", "Pacific/Auckland"}, {"PLT", "Asia/Karachi"}, {"PNT", "America/Phoenix"}, {"PRT", "America/Puerto_Rico"},
      {"PST", "America/Los_Angeles"}, {"SST", "Pacific/Guadalcanal"}, {"VST", "Asia/Ho_Chi_Minh"},
      {"EST", "-05:00"}, {"MST", "-07:00"}, {"HST", "-10:00"}};
  return names;
}

std::optional<int32_t> parseFixed(std::string_view name) {
  if (name == "Z" || name == "UTC" || name == "GMT" || name == "UT") return 0;
  for (std::string_view prefix : {"UTC", "GMT", "UT"}) {
    if (name.starts_with(prefix)) return parseOffset(name.substr(prefix.size()));
  }
  return parseOffset(name);
}

}  // namespace

TimeZone::TimeZone() {
  static const auto utc = std::make_shared<const Rules>(Rules{"UTC", nullptr, 0});
  rules_ = utc;
}

TimeZone::TimeZone(std::shared_ptr<const Rules> rules) : rules_(std::move(rules)) {}

TimeZone TimeZone::parse(std::string_view name) {
  std::string_view wanted = name;
  if (auto it = shortNames().find(name); it != shortNames().end()) wanted = it->second;
  if (const auto offset = parseFixed(wanted)) {
    return TimeZone(std::make_shared<const Rules>(Rules{std::string(name), nullptr, *offset}));
  }
  try {
    return TimeZone(std::make_shared<const Rules>(Rules{std::string(name), date::locate_zone(std::string(wanted)), 0}));
  } catch (const std::runtime_error&) {
    throw Error("INVALID_CONF_VALUE.TIME_ZONE",
                "'" + std::string(name) + "' is no time zone: give a region such as 'Europe/Paris' or an offset such as '+01:00'.",
                {{"confName", "spark.sql.session.timeZone"}, {"confValue", std::string(name)}});
  }
}

const std::string& TimeZone::name() const { return rules_->name; }

bool TimeZone::isUtc() const { return !rules_->region && rules_->fixedOffset == 0; }

int32_t TimeZone::offsetSeconds(int64_t utcMicros) const {
  if (!rules_->region) return rules_->fixedOffset;
  const date::sys_seconds instant{std::chrono::seconds(floorDivide(utcMicros, kMicrosPerSecond))};
  return static_cast<int32_t>(rules_->region->get_info(instant).offset.count());
}

int64_t TimeZone::toLocalMicros(int64_t utcMicros) const {
  return utcMicros + offsetSeconds(utcMicros) * kMicrosPerSecond;
}

int64_t TimeZone::toUtcMicros(int64_t localMicros) const {
  if (!rules_->region) return localMicros - rules_->fixedOffset * kMicrosPerSecond;
  const date::local_seconds local{std::chrono::seconds(floorDivide(localMicros, kMicrosPerSecond))};
  // In a gap and in an overlap alike java.time takes the offset in force before the transition.
  const date::local_info info = rules_->region->get_info(local);
  return localMicros - info.first.offset.count() * kMicrosPerSecond;
}

}  // namespace thalweg
