#include "sources/delta/delta_time_travel.h"

#include <limits>

#include "common/error.h"
#include "types/text/number_text.h"
#include "types/text/time_text.h"
#include "types/time_zone.h"

namespace thalweg {
namespace {

constexpr int64_t kMaxVersion = std::numeric_limits<int64_t>::max() - 1;

// "yyyyMMddHHmmssSSS" of a path, as a text that casts to a timestamp.
std::optional<std::string> timestampInPath(std::string_view digits) {
  if (digits.size() != 17 || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  const auto part = [&](size_t from, size_t count) { return digits.substr(from, count); };
  return fmt::format("{}-{}-{} {}:{}:{}.{}", part(0, 4), part(4, 2), part(6, 2), part(8, 2), part(10, 2),
                     part(12, 2), part(14, 3));
}

int64_t versionOption(const std::string& text) {
  const auto version = parseIntegral(text, std::numeric_limits<int64_t>::min(), kMaxVersion, false);
  if (version) return *version;
  throw Error("DELTA_TIME_TRAVEL_INVALID_BEGIN_VALUE",
              "The option versionAsOf is '" + text + "', which is no version number.",
              {{"timeTravelKey", "versionAsOf"}});
}

}  // namespace

DeltaAddress parseDeltaAddress(std::string_view address) {
  const size_t at = address.rfind('@');
  if (at != std::string_view::npos && at > 0) {
    const std::string_view suffix = address.substr(at + 1);
    const std::string path(address.substr(0, at));
    if (suffix.starts_with('v')) {
      if (const auto version = parseIntegral(suffix.substr(1), 0, kMaxVersion, false))
        return {path, version, std::nullopt};
    } else if (auto timestamp = timestampInPath(suffix)) {
      return {path, std::nullopt, std::move(timestamp)};
    }
  }
  return {std::string(address), std::nullopt, std::nullopt};
}

bool asksForVersion(const Options& options) {
  return options.has("versionAsOf") || options.has("timestampAsOf");
}

int64_t parseTravelTime(const std::string& text, const std::string& timeZone) {
  if (const auto micros = parseTimestamp(text, TimeZone::parse(timeZone))) {
    const int64_t ms = *micros / 1000;
    return *micros % 1000 < 0 ? ms - 1 : ms;
  }
  throw Error(
      "DELTA_TIMESTAMP_INVALID",
      "'" + text + "' is no time to travel to: give one like 2026-01-15 10:00:00 or 2026-01-15T10:00:00Z.",
      {{"expr", "'" + text + "'"}});
}

delta::SnapshotPtr travelTo(delta::DeltaLog& log, const DeltaAddress& address, const Options& options,
                            const std::string& timeZone) {
  if (address.travels() && asksForVersion(options)) {
    throw Error("DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS",
                "The path and the options both say which version of the table to read: say it once.");
  }
  const auto versionText = options.get("versionAsOf");
  const auto timestampText = options.get("timestampAsOf");
  if (versionText && timestampText) {
    throw Error("DELTA_ONEOF_IN_TIMETRAVEL", "Give either 'timestampAsOf' or 'versionAsOf', not both.");
  }
  if (versionText) return log.snapshotAt(versionOption(*versionText));
  if (address.version) return log.snapshotAt(*address.version);
  const auto timestamp = timestampText ? timestampText : address.timestamp;
  return timestamp ? log.snapshotAtTimestamp(parseTravelTime(*timestamp, timeZone)) : nullptr;
}

}  // namespace thalweg
