#include "streaming/watermark/watermark_tracker.h"

#include <gtest/gtest.h>

#include "common/error.h"

namespace thalweg {
namespace {

EventTimes times(std::initializer_list<int64_t> values) {
  EventTimes seen;
  for (const int64_t value : values) seen.add(value);
  return seen;
}

TEST(WatermarkTracker, IsTheGreatestTimeLessTheDelay) {
  WatermarkTracker tracker({10}, WatermarkPolicy::Min, 0);
  EXPECT_EQ(tracker.currentMs(), 0);
  tracker.update({times({50, 100, 70})});
  EXPECT_EQ(tracker.currentMs(), 90);
}

TEST(WatermarkTracker, NeverGoesBack) {
  WatermarkTracker tracker({10}, WatermarkPolicy::Min, 500);
  tracker.update({times({100})});
  EXPECT_EQ(tracker.currentMs(), 500) << "where the checkpoint says it is";
  tracker.update({times({1000})});
  tracker.update({times({600})});
  tracker.update({times({})});
  EXPECT_EQ(tracker.currentMs(), 990);
}

TEST(WatermarkTracker, OfSeveralTheSlowestCountsAndOneWithoutRowsHoldsAllBack) {
  WatermarkTracker tracker({10, 20}, WatermarkPolicy::Min, 0);
  tracker.update({times({1000}), times({})});
  EXPECT_EQ(tracker.currentMs(), 0);
  tracker.update({times({}), times({500})});
  EXPECT_EQ(tracker.currentMs(), 480);
}

TEST(WatermarkTracker, OrTheFastest) {
  WatermarkTracker tracker({10, 20}, WatermarkPolicy::Max, 0);
  tracker.update({times({1000}), times({})});
  EXPECT_EQ(tracker.currentMs(), 990);
}

TEST(WatermarkTracker, PolicyTexts) {
  EXPECT_EQ(parseWatermarkPolicy("MAX"), WatermarkPolicy::Max);
  EXPECT_THROW(parseWatermarkPolicy("avg"), Error);
}

}  // namespace
}  // namespace thalweg
