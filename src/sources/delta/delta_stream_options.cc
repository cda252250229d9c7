#include "sources/delta/delta_stream_options.h"

#include <limits>

#include "common/error.h"
#include "types/text/number_text.h"
#include "types/text/time_text.h"

namespace thalweg {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& text, const std::string& explain) {
  throw Error("DELTA_ILLEGAL_OPTION",
              fmt::format("Invalid value '{}' for option '{}', {}", text, name, explain),
              {{"name", name}, {"input", text}, {"explain", explain}});
}

bool flag(const Options& options, const std::string& name, bool fallback = false) {
  const auto text = options.get(name);
  if (!text) return fallback;
  if (equalsIgnoreCase(*text, "true")) return true;
  if (equalsIgnoreCase(*text, "false")) return false;
  refuse(name, *text, "must be 'true' or 'false'");
}

void parseLimits(const Options& options, DeltaStreamOptions& parsed) {
  const auto files = options.get("maxFilesPerTrigger");
  const auto bytes = options.get("maxBytesPerTrigger");
  if (bytes) {
    const auto value = parseByteSize(*bytes);
    if (!value) refuse("maxBytesPerTrigger", *bytes, "must be a size configuration such as '10g'");
    parsed.maxBytesPerTrigger = *value;
    parsed.maxFilesPerTrigger = INT64_MAX;
  }
  if (files) {
    const auto value = parseIntegral(*files, 1, std::numeric_limits<int32_t>::max(), false);
    if (!value) refuse("maxFilesPerTrigger", *files, "must be a positive integer");
    parsed.maxFilesPerTrigger = *value;
  }
}

void parseStart(const Options& options, DeltaStreamOptions& parsed) {
  const auto version = options.get("startingVersion");
  parsed.startingTimestamp = options.get("startingTimestamp");
  if (version && *version == "latest") {
    parsed.startLatest = true;
  } else if (version) {
    parsed.startingVersion = parseIntegral(*version, 0, std::numeric_limits<int64_t>::max() - 2, false);
    if (!parsed.startingVersion) refuse("startingVersion", *version, "must be greater than or equal to zero");
  }
  if (version && parsed.startingTimestamp) {
    throw Error("DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET",
                "Give either 'startingVersion' or 'startingTimestamp', not both.",
                {{"version", "startingVersion"}, {"timestamp", "startingTimestamp"}});
  }
}

}  // namespace

std::optional<int64_t> parseByteSize(std::string_view text) {
  text = trimBlanks(text);
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const auto count = parseIntegral(text.substr(0, digits), 1, std::numeric_limits<int64_t>::max(), false);
  if (!count) return std::nullopt;
  const std::string unit = toLowerAscii(trimBlanks(text.substr(digits)));
  static constexpr std::pair<std::string_view, int> kShifts[] = {
      {"", 0},   {"b", 0},   {"k", 10}, {"kb", 10}, {"m", 20}, {"mb", 20},
      {"g", 30}, {"gb", 30}, {"t", 40}, {"tb", 40}, {"p", 50}, {"pb", 50}};
  for (const auto& [name, shift] : kShifts) {
    if (unit != name) continue;
    if (*count > (std::numeric_limits<int64_t>::max() >> shift)) return std::nullopt;
    return *count << shift;
  }
  return std::nullopt;
}

bool readsChangeFeed(const Options& options) {
  return flag(options, "readChangeFeed") || flag(options, "readChangeData");
}

SchemaTrackingOptions SchemaTrackingOptions::of(const Options& options) {
  SchemaTrackingOptions tracking;
  tracking.location = options.get("schemaTrackingLocation");
  if (!tracking.location) tracking.location = options.get("schemaLocation");
  tracking.trackingId = options.get("streamingSourceTrackingId");
  tracking.allowRename = options.get("allowSourceColumnRename");
  tracking.allowDrop = options.get("allowSourceColumnDrop");
  tracking.allowTypeChange = options.get("allowSourceColumnTypeChange");
  return tracking;
}

DeltaStreamOptions DeltaStreamOptions::parse(const Options& options) {
  DeltaStreamOptions parsed;
  parseLimits(options, parsed);
  parsed.ignoreChanges = flag(options, "ignoreFileDeletion");
  parsed.ignoreChanges = flag(options, "ignoreChanges") || parsed.ignoreChanges;
  parsed.ignoreDeletes = flag(options, "ignoreDeletes");
  parsed.skipChangeCommits = flag(options, "skipChangeCommits");
  parsed.failOnDataLoss = flag(options, "failOnDataLoss", true);
  parsed.withEventTimeOrder = flag(options, "withEventTimeOrder");
  parsed.readChangeFeed = readsChangeFeed(options);
  if (const auto pattern = options.get("excludeRegex"))
    parsed.exclude = std::make_shared<const ExcludePattern>(*pattern);
  parseStart(options, parsed);
  parsed.schemaTracking = SchemaTrackingOptions::of(options);
  if (parsed.schemaTracking.location && !parsed.failOnDataLoss) {
    refuse("failOnDataLoss", "false",
           "for a commit that is gone may have changed the schema that schemaTrackingLocation follows");
  }
  return parsed;
}

}  // namespace thalweg
