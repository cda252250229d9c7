// The options of from_json, to_json and the JSON file format, checked once.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "common/options.h"
#include "types/time_zone.h"

namespace thalweg {

enum class ParseMode { Permissive, DropMalformed, FailFast };

// Spark's JSON options; names and defaults are Spark's. Immutable once parsed, cheap to copy.
struct JsonOptions {
  // Reads the options of one use. `sessionZone` holds unless the option timeZone is given. Unknown names are
  // ignored, as Spark does; a value that does not fit throws Error (IllegalArgument, INVALID_TIMEZONE, …)
  // naming the option.
  static JsonOptions parse(const Options& options, const TimeZone& sessionZone = TimeZone());

  ParseMode mode = ParseMode::Permissive;
  std::string corruptRecordColumn = "_corrupt_record";
  TimeZone zone;

  // Patterns of DateTimePattern, compiled where a column needs them; none: the cast grammar.
  std::optional<std::string> timestampFormat;
  std::optional<std::string> timestampNtzFormat;
  std::optional<std::string> dateFormat;

  bool allowComments = false;
  bool allowUnquotedFieldNames = false;
  bool allowSingleQuotes = true;
  bool allowNumericLeadingZeros = false;
  bool allowNonNumericNumbers = true;
  bool allowBackslashEscapingAnyCharacter = false;
  bool allowUnquotedControlChars = false;

  bool primitivesAsString = false;  // schema inference
  bool prefersDecimal = false;      // schema inference
  bool dropFieldIfAllNull = false;  // schema inference
  double samplingRatio = 1.0;       // schema inference

  bool multiLine = false;
  std::optional<std::string> lineSeparator;  // none: \n, \r and \r\n
  std::string encoding;  // upper case; empty: found from each record's first bytes, UTF-8 as a rule

  bool ignoreNullFields = true;  // writing
  bool pretty = false;           // writing

  int maxNestingDepth = 1000;
  size_t maxNumberLength = 1000;
  size_t maxStringLength = 100'000'000;
};

}  // namespace thalweg
