#include "delta/snapshot/property_values.h"

#include <algorithm>
#include <charconv>

#include "common/error.h"
#include "common/options.h"
#include "types/text/intervals.h"

namespace thalweg::delta {
namespace {

constexpr int64_t kWeekMs = 7LL * 24 * 3600 * 1000;

}  // namespace

std::optional<std::string> tableProperty(const Metadata& metadata, std::string_view name) {
  for (const auto& [key, value] : metadata.configuration) {
    if (equalsIgnoreCase(key, name)) return value;
  }
  return std::nullopt;
}

bool tableFlag(const Metadata& metadata, std::string_view name, bool fallback) {
  const auto value = tableProperty(metadata, name);
  return value ? equalsIgnoreCase(*value, "true") : fallback;
}

std::optional<int64_t> parsePropertyNumber(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

int64_t checkpointInterval(const Metadata& metadata) {
  constexpr int64_t kDefault = 10;
  const auto text = tableProperty(metadata, "delta.checkpointInterval");
  const int64_t value = text ? parsePropertyNumber(*text).value_or(kDefault) : kDefault;
  return value > 0 ? value : kDefault;
}

std::optional<int64_t> parseRetentionMs(std::string_view text) {
  if (countsMonths(text)) return std::nullopt;
  try {
    return parseIntervalMicros(text) / 1000;
  } catch (const Error&) {
    return std::nullopt;
  }
}

namespace {

int64_t retentionProperty(const Metadata& metadata, std::string_view name, int64_t fallbackMs) {
  const auto text = tableProperty(metadata, name);
  const auto parsed = text ? parseRetentionMs(*text) : std::nullopt;
  return parsed && *parsed >= 0 ? *parsed : fallbackMs;
}

}  // namespace

int64_t deletedFileRetentionMs(const Metadata& metadata) {
  return retentionProperty(metadata, "delta.deletedFileRetentionDuration", kWeekMs);
}

int64_t logRetentionMs(const Metadata& metadata) {
  return retentionProperty(metadata, kLogRetention, 30 * kWeekMs / 7);
}

int64_t truncateHistoryRetentionMs(const Metadata& metadata) {
  return retentionProperty(metadata, "delta.dropFeatureTruncateHistory.retentionDuration", kWeekMs / 7);
}

}  // namespace thalweg::delta
