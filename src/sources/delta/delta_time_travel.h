// Which version of a table a reader asks for: in its path, by options.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/options.h"
#include "delta/snapshot/delta_log.h"

namespace thalweg {

// A path with its version in the name: "/data/t@v3", "/data/t@20260115103000000" (in the session's zone).
struct DeltaAddress {
  std::string path;
  std::optional<int64_t> version;
  std::optional<std::string> timestamp;  // as parseTravelTime takes it

  bool travels() const { return version || timestamp; }
};
DeltaAddress parseDeltaAddress(std::string_view address);

// Whether options ask for a version: versionAsOf, timestampAsOf.
bool asksForVersion(const Options& options);

// Milliseconds since the epoch of a text that casts to a timestamp, in `timeZone` unless the text has its
// own. Throws Error DELTA_TIMESTAMP_INVALID.
int64_t parseTravelTime(const std::string& text, const std::string& timeZone);

// The snapshot that the address or the options ask for; null where neither does. Throws Error
// DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS where both do, DELTA_ONEOF_IN_TIMETRAVEL,
// DELTA_TIME_TRAVEL_INVALID_BEGIN_VALUE, DELTA_TIMESTAMP_INVALID, and as DeltaLog::snapshotAt and
// versionAtTimestamp.
delta::SnapshotPtr travelTo(delta::DeltaLog& log, const DeltaAddress& address, const Options& options,
                            const std::string& timeZone);

}  // namespace thalweg
