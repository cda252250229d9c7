// The values of a table's properties that the library itself obeys. What other values there may be, and who
// checks them, is in table_properties.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "delta/actions/actions.h"

namespace thalweg::delta {

inline constexpr std::string_view kAppendOnly = "delta.appendOnly";
inline constexpr std::string_view kEnableChangeDataFeed = "delta.enableChangeDataFeed";
inline constexpr std::string_view kEnableDeletionVectors = "delta.enableDeletionVectors";
inline constexpr std::string_view kRowTracking = "delta.enableRowTracking";
inline constexpr std::string_view kRowTrackingSuspended = "delta.rowTrackingSuspended";
inline constexpr std::string_view kEnableInCommitTimestamps = "delta.enableInCommitTimestamps";

inline constexpr std::string_view kCheckpointPolicy = "delta.checkpointPolicy";
inline constexpr std::string_view kLogRetention = "delta.logRetentionDuration";
inline constexpr std::string_view kCheckpointProtection = "delta.requireCheckpointProtectionBeforeVersion";

// A property's text, or nullopt.
std::optional<std::string> tableProperty(const Metadata& metadata, std::string_view name);
// True for "true" in any case.
bool tableFlag(const Metadata& metadata, std::string_view name, bool fallback = false);
// A whole number as Java reads one: digits behind an optional sign. Nothing for other text, and where it does
// not fit.
std::optional<int64_t> parsePropertyNumber(std::string_view text);
// delta.checkpointInterval, 10 unless set to a positive number.
int64_t checkpointInterval(const Metadata& metadata);
// delta.deletedFileRetentionDuration in ms, one week unless set to an interval ("interval 1 week", "2 days 12
// hours").
int64_t deletedFileRetentionMs(const Metadata& metadata);
// delta.logRetentionDuration in ms, 30 days unless set.
int64_t logRetentionMs(const Metadata& metadata);
// delta.dropFeatureTruncateHistory.retentionDuration in ms, 24 hours unless set.
int64_t truncateHistoryRetentionMs(const Metadata& metadata);
// A text of number and unit pairs, with or without a leading "interval"; nullopt for months, years and other
// text.
std::optional<int64_t> parseRetentionMs(std::string_view text);

}  // namespace thalweg::delta
