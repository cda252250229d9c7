// A column's metadata: a JSON object's text, empty for {}; and the keys by which Spark marks columns within a query.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "types/data_type.h"

namespace thalweg {

// Makes a column the event time: its watermark's delay in milliseconds.
inline constexpr std::string_view kWatermarkDelayKey = "spark.watermarkDelayMs";
// A column of windows, of sessions.
inline constexpr std::string_view kTimeWindowKey = "spark.timeWindow";
inline constexpr std::string_view kSessionWindowKey = "spark.sessionWindow";

// The object with a key set to a JSON value; metadata that is no object counts as {}.
std::string withMetadataKey(const std::string& metadata, std::string_view key, const std::string& jsonValue);
bool hasMetadataKey(const std::string& metadata, std::string_view key);
// A key's whole number; none where it has another value.
std::optional<int64_t> metadataNumber(const std::string& metadata, std::string_view key);
// A key's text; none where it has another value.
std::optional<std::string> metadataText(const std::string& metadata, std::string_view key);
// Whether a key is true.
bool metadataFlag(const std::string& metadata, std::string_view key);
// The object without the key; empty where nothing is left.
std::string withoutMetadataKey(const std::string& metadata, std::string_view key);

// The schema without the keys above: they hold within a query and mean nothing in a table.
SchemaPtr withoutQueryMarks(const Schema& schema);

}  // namespace thalweg
