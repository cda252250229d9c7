// Dates and timestamps as text, by Spark's cast rules. Units everywhere: days, or microseconds, since
// 1970-01-01. Parsing functions never throw; text may hold any bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "types/time_zone.h"

namespace thalweg {

// CAST(text AS TIMESTAMP): [+-]yyyy*[-m[m][-d[d][( |T)h[h][:m[m][:s[s][.fraction][zone]]]]]], a time alone
// ("12:30", "T12:30": today in the zone), blanks around. A fraction is cut to microseconds. `zone` holds
// where the text names none. The text's zone is an offset ("Z", "+1", "-08:30", "UTC+5") or a region. Empty
// where the text is no such timestamp.
std::optional<int64_t> parseTimestamp(std::string_view text, const TimeZone& zone);

// CAST(text AS TIMESTAMP_NTZ): as above without a time alone. A zone is ignored or, without `allowZone`,
// makes it invalid.
std::optional<int64_t> parseTimestampNtz(std::string_view text, bool allowZone = true);

// CAST(text AS DATE): [+-]yyyy*[-m[m][-d[d][( |T)anything]]], blanks around.
std::optional<int32_t> parseDate(std::string_view text);

// The common form "2026-01-15T10:00:01.123Z" (T or blank, fraction of 0 to 6 digits, Z or nothing): local
// microseconds in
// `*micros`, `*utc` set where it ended with Z. False for every other text, valid or not.
bool parseIsoTimestamp(const char* text, size_t size, int64_t* micros, bool* utc);

// A zone as timestamps and options may give it ("Z", "+1", "+1:2", "UTC+5", "Europe/Paris", "PST"); empty
// where none.
std::optional<TimeZone> parseZone(std::string_view text);

// CAST(value AS STRING): "2024-05-06", years before 0 and after 9999 with a sign.
void appendDate(int32_t days, std::string* out);
// CAST(timestamp AS STRING) of wall-clock microseconds: "2024-05-06 07:08:09.12", zeros at the fraction's end
// cut.
void appendTimestamp(int64_t localMicros, std::string* out);
// to_json's form of wall-clock microseconds: "2024-05-06T07:08:09.123", always three digits, the rest cut.
void appendIsoTimestamp(int64_t localMicros, std::string* out);
// "+01:00", or "Z" for 0 (pattern XXX).
void appendZoneOffset(int32_t offsetSeconds, std::string* out);

}  // namespace thalweg
