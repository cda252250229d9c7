// What holds for a whole batch while its rows are evaluated.
#pragma once

#include <cstdint>

#include <arrow/type_fwd.h>

#include "types/time_zone.h"

namespace thalweg {

// One execution's constants: a micro-batch's (time from the offset log, the same on replay) or one batch query's.
struct BatchContext {
  int64_t timestampMicros = 0;  // current_timestamp
  int64_t batchId = 0;
  TimeZone timeZone;  // the session's
  int64_t randomSeed = 0;
};

// A task's view of it. `pool` null means Arrow's default.
struct EvaluationContext {
  const BatchContext* batch = nullptr;
  arrow::MemoryPool* pool = nullptr;
  int partition = 0;

  arrow::MemoryPool* memoryPool() const;
};

}  // namespace thalweg
