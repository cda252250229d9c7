// A query's watermark: how far its event time has come.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "exec/pipeline/event_times.h"

namespace thalweg {

// Of several watermarks in one plan: the slowest counts, or the fastest (spark.sql.streaming.multipleWatermarkPolicy).
enum class WatermarkPolicy { Min, Max };
// Throws Error INVALID_CONF_VALUE.… for other texts than min and max.
WatermarkPolicy parseWatermarkPolicy(std::string_view text);

// Used on the query's thread. A watermark whose input had no row so far counts as 0, and the whole never goes back.
class WatermarkTracker {
 public:
  // `delaysMs`: of the plan's watermarks in their order. `currentMs`: where the checkpoint says the query is.
  WatermarkTracker(std::vector<int64_t> delaysMs, WatermarkPolicy policy, int64_t currentMs);

  // What a finished batch saw, one entry a watermark.
  void update(const std::vector<EventTimes>& seen);
  // The watermark in force from the next batch on, in milliseconds since the epoch.
  int64_t currentMs() const { return currentMs_; }
  bool hasWatermarks() const { return !delaysMs_.empty(); }

 private:
  std::vector<int64_t> delaysMs_;
  WatermarkPolicy policy_;
  std::vector<int64_t> ofOperators_;  // empty before the first batch
  int64_t currentMs_;
};

}  // namespace thalweg
