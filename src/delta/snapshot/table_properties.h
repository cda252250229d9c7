// The properties that Delta gives a meaning: their names and what values they take.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace thalweg::delta {

// Whether a property of this name means something to Delta; case counts not.
bool isTableProperty(std::string_view name);

// Whether a property is about one table's history or files, so that a table that is made like it has its own.
bool isOfOneTable(std::string_view name);

// The name as the log has it: Delta's own are known in any case ("DELTA.CHECKPOINTPOLICY"), others are as
// given.
std::string tablePropertyName(std::string_view name);

// For a property that a user sets, under its name in the log: throws Error DELTA_UNKNOWN_CONFIGURATION where
// the name begins with "delta." and is none (unless `allowUnknown`), DELTA_CANNOT_MODIFY_TABLE_PROPERTY for
// one that Delta sets, DELTA_INVALID_INTERVAL, DELTA_INVALID_CALENDAR_INTERVAL_EMPTY,
// DELTA_INVALID_ISOLATION_LEVEL and UNSUPPORTED_TABLE_CHANGE where it does not take the value. Features and
// constraints have names of their own, and are passed over; whether columns are the table's,
// checkStatisticsColumns says (delta/snapshot/statistics_columns.h).
void checkTableProperty(std::string_view name, std::string_view value, bool allowUnknown);

// For all that one statement sets, under their names in the log: throws Error UNSUPPORTED_TABLE_CHANGE where
// the log would be kept for a shorter time than removed files (their defaults, where it sets one of them).
void checkRetentions(const std::map<std::string, std::string>& properties);

}  // namespace thalweg::delta
