// The table of error conditions: each one's SQLSTATE and kind, one line an entry.
#pragma once

#include <string_view>

#include "common/error.h"

namespace thalweg {

struct ErrorCondition {
  std::string_view name;      // with or without a sub-condition; an entry without one holds for all of its own
  std::string_view sqlState;  // five characters, or empty where Spark gives none
  ErrorKind kind;
};

// The entry for a condition: the whole name first, then the part before the dot; INTERNAL_ERROR's where there is none.
const ErrorCondition& findErrorCondition(std::string_view name);

// True when the table has the condition or its part before the dot (tools/check_conditions holds all uses to it).
bool hasErrorCondition(std::string_view name);

}  // namespace thalweg
