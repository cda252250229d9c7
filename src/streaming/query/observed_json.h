// What observe() saw, as a progress report shows it.
#pragma once

#include <string>

#include "exec/pipeline/observed_metrics.h"
#include "types/time_zone.h"

namespace thalweg {

// The row as a JSON object, by Spark's rules for a row: numbers as numbers, times as text in the zone without
// fractions of a second, binaries in base64, structs and maps with text keys as objects (a map's keys
// sorted), other maps as lists of {key, value}.
std::string observedJson(const ObservedMetrics& observed, const TimeZone& zone);

}  // namespace thalweg
