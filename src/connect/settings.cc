#include "connect/settings.h"

#include <charconv>
#include <string>
#include <utility>

#include "common/options.h"
#include "session/service.h"

namespace thalweg::connect {
namespace {

struct Unit {
  std::string_view name;
  int64_t factor;
};

constexpr Unit kSizes[] = {{"", 1},        {"b", 1},        {"k", 1 << 10}, {"kb", 1 << 10},
                           {"m", 1 << 20}, {"mb", 1 << 20}, {"g", 1 << 30}, {"gb", 1 << 30}};

template <size_t N>
std::optional<int64_t> parseQuantity(std::string_view text, const Unit (&units)[N]) {
  const std::string lower = toLowerAscii(text);
  int64_t number = 0;
  const auto [end, problem] = std::from_chars(lower.data(), lower.data() + lower.size(), number);
  if (problem != std::errc()) return std::nullopt;
  const std::string_view suffix(end, lower.data() + lower.size() - end);
  for (const Unit& unit : units) {
    int64_t product = 0;
    if (unit.name == suffix && !__builtin_mul_overflow(number, unit.factor, &product)) return product;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::chrono::milliseconds> parseDuration(std::string_view text) {
  const auto millis = parseDurationMs(text);
  return millis ? std::optional(std::chrono::milliseconds(*millis)) : std::nullopt;
}

std::optional<int64_t> parseByteSize(std::string_view text) {
  return parseQuantity(text, kSizes);
}

std::chrono::milliseconds durationSetting(SessionService& session, std::string_view key,
                                          std::chrono::milliseconds fallback) {
  return parseDuration(session.configValue(key)).value_or(fallback);
}

int64_t byteSizeSetting(SessionService& session, std::string_view key, int64_t fallback) {
  return parseByteSize(session.configValue(key)).value_or(fallback);
}

}  // namespace thalweg::connect
