#include "streaming/watermark/watermark_tracker.h"

#include <algorithm>

#include "common/error.h"
#include "common/options.h"

namespace thalweg {

WatermarkPolicy parseWatermarkPolicy(std::string_view text) {
  if (equalsIgnoreCase(text, "min")) return WatermarkPolicy::Min;
  if (equalsIgnoreCase(text, "max")) return WatermarkPolicy::Max;
  throw Error(ErrorKind::IllegalArgument, "INVALID_CONF_VALUE.REQUIREMENT",
              "spark.sql.streaming.multipleWatermarkPolicy is 'min' or 'max', not '" + std::string(text) + "'.",
              {{"confName", "spark.sql.streaming.multipleWatermarkPolicy"}, {"confValue", std::string(text)}});
}

WatermarkTracker::WatermarkTracker(std::vector<int64_t> delaysMs, WatermarkPolicy policy, int64_t currentMs)
    : delaysMs_(std::move(delaysMs)), policy_(policy), ofOperators_(delaysMs_.size(), 0), currentMs_(currentMs) {}

void WatermarkTracker::update(const std::vector<EventTimes>& seen) {
  if (delaysMs_.empty()) return;
  for (size_t i = 0; i < delaysMs_.size(); ++i) {
    if (seen[i].count > 0) ofOperators_[i] = std::max(ofOperators_[i], seen[i].max - delaysMs_[i]);
  }
  const auto [least, greatest] = std::minmax_element(ofOperators_.begin(), ofOperators_.end());
  currentMs_ = std::max(currentMs_, policy_ == WatermarkPolicy::Min ? *least : *greatest);
}

}  // namespace thalweg
