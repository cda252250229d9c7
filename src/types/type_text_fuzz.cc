// Any bytes as a schema (DDL or JSON), a number, a time, or a datetime pattern with its text: a value or an
// Error; what was read survives writing.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/error.h"
#include "common/options.h"
#include "types/ddl.h"
#include "types/schema_json.h"
#include "types/text/datetime_pattern.h"
#include "types/text/intervals.h"
#include "types/text/number_text.h"
#include "types/text/time_text.h"

using namespace thalweg;

namespace {

void schemas(std::string_view text) {
  try {
    const SchemaPtr schema = parseUserSchema(text);
    const std::string json = toSchemaJson(*schema);
    if (toSchemaJson(*parseSchemaJson(json)) != json) std::abort();
    toDdl(*schema);
  } catch (const Error&) {
  }
  try {
    const DataTypePtr type = parseTypeDdl(text);
    if (!parseTypeDdl(type->simpleString())) std::abort();
  } catch (const Error&) {
  }
  try {
    parseSchemaJson(text);
  } catch (const Error&) {
  }
  parseTypeName(text);
}

void values(std::string_view text) {
  static const TimeZone zone = TimeZone::parse("America/New_York");
  parseIntegral(text, INT64_MIN, INT64_MAX, true);
  parseDouble(text);
  parseFloat(text);
  parseBoolean(text);
  arrow::Decimal128 decimal;
  if (parseDecimal(text, 38, 18, &decimal) == DecimalParse::Ok) {
    std::string written;
    appendDecimal(decimal, 18, &written);
    arrow::Decimal128 again;
    if (parseDecimal(written, 38, 18, &again) != DecimalParse::Ok || again != decimal) std::abort();
  }
  if (const auto micros = parseTimestampNtz(text)) {
    std::string written;
    appendTimestamp(*micros, &written);
    if (parseTimestampNtz(written) != micros) std::abort();
  }
  if (const auto days = parseDate(text)) {
    std::string written;
    appendDate(*days, &written);
    if (parseDate(written) != days) std::abort();
  }
  parseTimestamp(text, zone);
  int64_t micros = 0;
  bool utc = false;
  parseIsoTimestamp(text.data(), text.size(), &micros, &utc);
  parseZone(text);
  parseDurationMs(text);
  try {
    parseIntervalMicros(text);
  } catch (const Error&) {
  }
}

// A pattern, a newline, a text for it.
void patterns(std::string_view input) {
  const size_t newline = input.find('\n');
  const std::string_view text =
      newline == std::string_view::npos ? std::string_view() : input.substr(newline + 1);
  static const TimeZone zone = TimeZone::parse("Europe/Paris");
  try {
    const DateTimePattern pattern = DateTimePattern::compile(input.substr(0, newline));
    std::string written;
    pattern.format(1'700'000'000'123'456, 1'699'996'400'123'456, zone, &written);
    pattern.requireParsable();
    pattern.parseTimestamp(text, zone);
    pattern.parseTimestampNtz(text);
    pattern.parseDate(text);
    pattern.parse(written);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  schemas(text);
  values(text);
  patterns(text);
  return 0;
}
