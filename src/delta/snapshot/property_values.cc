#include "delta/snapshot/property_values.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "common/options.h"

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

int64_t checkpointInterval(const Metadata& metadata) {
  constexpr int64_t kDefault = 10;
  const auto text = tableProperty(metadata, "delta.checkpointInterval");
  if (!text) return kDefault;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc() && end == text->data() + text->size() && value > 0 ? value : kDefault;
}

std::optional<int64_t> parseRetentionMs(std::string_view text) {
  const std::string lower = toLowerAscii(text);
  std::vector<std::string> words;
  for (size_t begin = lower.find_first_not_of(' '); begin != std::string::npos;) {
    const size_t end = std::min(lower.find(' ', begin), lower.size());
    words.push_back(lower.substr(begin, end - begin));
    begin = lower.find_first_not_of(' ', end);
  }
  if (!words.empty() && words[0] == "interval") words.erase(words.begin());
  if (words.empty() || words.size() % 2 != 0) return std::nullopt;
  int64_t total = 0;
  for (size_t i = 0; i < words.size(); i += 2) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(words[i].data(), words[i].data() + words[i].size(), number);
    if (error != std::errc() || end != words[i].data() + words[i].size()) return std::nullopt;
    std::string unit = words[i + 1];
    if (unit.ends_with('s')) unit.pop_back();
    int64_t unitMs = 0;
    if (unit == "week") unitMs = kWeekMs;
    if (unit == "day") unitMs = kWeekMs / 7;
    if (unit == "hour") unitMs = 3600 * 1000;
    if (unit == "minute") unitMs = 60 * 1000;
    if (unit == "second") unitMs = 1000;
    if (unit == "millisecond") unitMs = 1;
    int64_t part = 0;
    if (unitMs == 0 || __builtin_mul_overflow(number, unitMs, &part) ||
        __builtin_add_overflow(total, part, &total)) {
      return std::nullopt;
    }
  }
  return total;
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
