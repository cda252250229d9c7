// The parts of the datetime family's table.
#pragma once

#include <vector>

#include "functions/registry.h"

namespace thalweg {

std::vector<FunctionRow> fieldRows();       // year, hour, extract, …
std::vector<FunctionRow> dateShiftRows();   // date_add, add_months, datediff, last_day, trunc, …
std::vector<FunctionRow> timeTextRows();    // date_format, to_date, to_timestamp, unix_timestamp, from_unixtime
std::vector<FunctionRow> epochRows();       // timestamp_seconds, unix_millis, from_utc_timestamp, make_date
std::vector<FunctionRow> windowRows();      // window, window_time

// Dates and timestamps plus or minus intervals and numbers of days; null where the operands are none of these.
ExpressionPtr resolveTimeArithmetic(const FunctionCall& call, const FunctionContext& context);

}  // namespace thalweg
