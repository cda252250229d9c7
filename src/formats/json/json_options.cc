#include "formats/json/json_options.h"

#include <algorithm>
#include <charconv>

#include "common/error.h"
#include "types/text/time_text.h"

namespace thalweg {
namespace {

ParseMode parseMode(std::string_view name) {
  if (equalsIgnoreCase(name, "FAILFAST")) return ParseMode::FailFast;
  if (equalsIgnoreCase(name, "DROPMALFORMED")) return ParseMode::DropMalformed;
  // Spark warns of an unknown mode and goes on with PERMISSIVE.
  return ParseMode::Permissive;
}

TimeZone parseZoneOption(const Options& options, const TimeZone& sessionZone) {
  const auto name = options.get("timeZone");
  if (!name) return sessionZone;
  if (const auto zone = parseZone(*name)) return *zone;
  throw Error(
      "INVALID_TIMEZONE",
      "The option timeZone takes a region such as 'Europe/Paris' or an offset such as '+01:00', not '" +
          *name + "'.",
      {{"timeZone", *name}});
}

std::string parseEncoding(const Options& options) {
  auto name = options.get("encoding");
  if (!name) name = options.get("charset");
  if (!name) return {};
  std::string upper;
  for (char c : *name) upper.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c);
  for (const char* known : {"UTF-8", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32", "ISO-8859-1", "US-ASCII"}) {
    if (upper == known) return upper;
  }
  throw Error(
      ErrorKind::IllegalArgument, "INVALID_PARAMETER_VALUE.CHARSET",
      "The option encoding takes iso-8859-1, us-ascii, utf-8, utf-16, utf-16be, utf-16le or utf-32, not '" +
          *name + "'.",
      {{"functionName", "JSONOptionsInRead"}, {"parameter", "charset"}, {"charset", *name}});
}

size_t parseLimit(const Options& options, const char* name, size_t fallback) {
  const auto value = options.getLong(name);
  if (!value) return fallback;
  if (*value < 0) {
    throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
                std::string("The option '") + name + "' takes no negative number.");
  }
  return static_cast<size_t>(*value);
}

double parseRatio(const Options& options) {
  const auto text = options.get("samplingRatio");
  if (!text) return 1.0;
  double value = 0;
  const auto [end, status] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (status != std::errc() || end != text->data() + text->size() || value <= 0) {
    throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
                "The option 'samplingRatio' takes a number greater than 0, not '" + *text + "'.");
  }
  return value;
}

std::optional<std::string> parseLineSeparator(const Options& options) {
  auto text = options.get("lineSep");
  if (text && text->empty()) {
    throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
                "The option 'lineSep' takes at least one character.");
  }
  return text;
}

// Records are found by their separator's bytes, which only the encodings below keep as they are written.
void checkLineEncoding(const JsonOptions& options) {
  if (options.multiLine || options.encoding.empty()) return;
  if (options.encoding == "UTF-16" || options.encoding == "UTF-32") {
    throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
                "The encoding " + options.encoding +
                    " can be read with multiLine only: its byte order is unknown inside a file.");
  }
  if (options.encoding != "UTF-8" && !options.lineSeparator) {
    throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
                "The option lineSep is needed with the encoding " + options.encoding + ".");
  }
}

}  // namespace

JsonOptions JsonOptions::parse(const Options& options, const TimeZone& sessionZone) {
  JsonOptions result;
  result.mode = parseMode(options.getOr("mode", "PERMISSIVE"));
  result.corruptRecordColumn = options.getOr("columnNameOfCorruptRecord", "_corrupt_record");
  result.zone = parseZoneOption(options, sessionZone);
  result.timestampFormat = options.get("timestampFormat");
  result.timestampNtzFormat = options.get("timestampNTZFormat");
  result.dateFormat = options.get("dateFormat");
  result.allowComments = options.getBool("allowComments", false);
  result.allowUnquotedFieldNames = options.getBool("allowUnquotedFieldNames", false);
  result.allowSingleQuotes = options.getBool("allowSingleQuotes", true);
  result.allowNumericLeadingZeros = options.getBool("allowNumericLeadingZeros", false);
  result.allowNonNumericNumbers = options.getBool("allowNonNumericNumbers", true);
  result.allowBackslashEscapingAnyCharacter = options.getBool("allowBackslashEscapingAnyCharacter", false);
  result.allowUnquotedControlChars = options.getBool("allowUnquotedControlChars", false);
  result.primitivesAsString = options.getBool("primitivesAsString", false);
  result.prefersDecimal = options.getBool("prefersDecimal", false);
  result.dropFieldIfAllNull = options.getBool("dropFieldIfAllNull", false);
  result.samplingRatio = parseRatio(options);
  result.multiLine = options.getBool("multiLine", false);
  result.lineSeparator = parseLineSeparator(options);
  result.encoding = parseEncoding(options);
  result.ignoreNullFields = options.getBool("ignoreNullFields", true);
  result.pretty = options.getBool("pretty", false);
  result.maxNestingDepth =
      static_cast<int>(std::min<size_t>(parseLimit(options, "maxNestingDepth", 1000), 10'000));
  result.maxNumberLength = parseLimit(options, "maxNumLen", 1000);
  result.maxStringLength = parseLimit(options, "maxStringLen", 100'000'000);
  checkLineEncoding(result);
  return result;
}

}  // namespace thalweg
