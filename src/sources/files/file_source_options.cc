#include "sources/files/file_source_options.h"

#include <charconv>
#include <limits>

#include "common/error.h"
#include "common/option_choice.h"
#include "types/text/number_text.h"
#include "types/text/time_text.h"

namespace thalweg {
namespace {

constexpr int64_t kDefaultMaxFileAgeMs = int64_t{7} * 24 * 3600 * 1000;

[[noreturn]] void refuse(const std::string& option, const std::string& text) {
  throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION", text, {{"option", option}});
}

std::optional<int64_t> positive(const Options& options, const std::string& name) {
  const auto text = options.get(name);
  if (!text) return std::nullopt;
  const auto value = parseIntegral(*text, 1, std::numeric_limits<int64_t>::max(), false);
  if (!value)
    refuse(name, fmt::format("Invalid value '{}' for option '{}', must be a positive integer", *text, name));
  return value;
}

// Java's time units: "7d", "12h", "90m", "30s", "500ms", "10us"; milliseconds without a unit.
int64_t durationMs(const std::string& name, const std::string& text) {
  if (const auto milliseconds = parseDurationMs(trimBlanks(text))) return *milliseconds;
  refuse(name,
         fmt::format("Invalid value '{}' for option '{}', must be a duration such as 7d or 12h", text, name));
}

std::optional<int64_t> timeMs(const Options& options, const std::string& name, const TimeZone& zone) {
  const auto text = options.get(name);
  if (!text) return std::nullopt;
  const auto micros = parseTimestamp(*text, zone);
  if (!micros) {
    refuse(name,
           fmt::format("The option '{}' is '{}', which is no time such as 2026-01-15T10:00:00", name, *text));
  }
  return *micros / 1000;
}

}  // namespace

FileListOptions FileListOptions::parse(const Options& options, const std::string& sessionZone) {
  FileListOptions parsed;
  parsed.recursive = options.getBool("recursiveFileLookup", false);
  if (const auto filter = options.get("pathGlobFilter")) parsed.nameFilter.emplace(*filter);
  parsed.basePath = options.get("basePath");
  const TimeZone zone = TimeZone::parse(options.getOr("timeZone", sessionZone));
  parsed.modifiedBeforeMs = timeMs(options, "modifiedBefore", zone);
  parsed.modifiedAfterMs = timeMs(options, "modifiedAfter", zone);
  // The session's settings come among the options, under their own names.
  parsed.ignoreMissingFiles = options.getBool(
      firstGiven(options, {"ignoreMissingFiles", "spark.sql.files.ignoreMissingFiles"}), false);
  parsed.ignoreCorruptFiles = options.getBool(
      firstGiven(options, {"ignoreCorruptFiles", "spark.sql.files.ignoreCorruptFiles"}), false);
  return parsed;
}

FileStreamOptions FileStreamOptions::parse(const Options& options) {
  FileStreamOptions parsed;
  for (const char* name : {"modifiedBefore", "modifiedAfter"}) {
    if (options.has(name))
      refuse(name, fmt::format("The option '{}' is not allowed in file stream sources", name));
  }
  parsed.maxFilesPerTrigger = positive(options, "maxFilesPerTrigger");
  parsed.maxBytesPerTrigger = positive(options, "maxBytesPerTrigger");
  if (parsed.maxFilesPerTrigger && parsed.maxBytesPerTrigger) {
    refuse("maxBytesPerTrigger",
           "Options 'maxFilesPerTrigger' and 'maxBytesPerTrigger' can't be both set at the same time");
  }
  parsed.latestFirst = options.getBool("latestFirst", false);
  const auto age = options.get("maxFileAge");
  parsed.maxFileAgeMs = age ? durationMs("maxFileAge", *age) : kDefaultMaxFileAgeMs;
  const bool limited = parsed.maxFilesPerTrigger || parsed.maxBytesPerTrigger;
  // The newest come first, so that what waits is old and must not fall out.
  if (parsed.latestFirst && limited) parsed.maxFileAgeMs = std::numeric_limits<int64_t>::max();
  parsed.fileNameOnly = options.getBool("fileNameOnly", false);
  if (!equalsIgnoreCase(options.getOr("cleanSource", "off"), "off")) {
    throw unsupported("The file source's option cleanSource other than 'off'");
  }
  if (const auto cached = options.getLong("maxCachedFiles")) {
    if (*cached < 0) refuse("maxCachedFiles", "The option 'maxCachedFiles' must be zero or more");
    parsed.maxCachedFiles = *cached;
  }
  if (const auto ratio = options.get("discardCachedInputRatio")) {
    const auto value = parseDouble(*ratio);
    if (!value || !(*value >= 0 && *value <= 1)) {
      refuse("discardCachedInputRatio", "The option 'discardCachedInputRatio' must be between 0 and 1");
    }
    parsed.discardCachedInputRatio = *value;
  }
  return parsed;
}

}  // namespace thalweg
