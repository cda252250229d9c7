#include "exec/state/expiry_panes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace thalweg {
namespace {

std::vector<uint32_t> sorted(std::vector<uint32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

using Numbers = std::vector<uint32_t>;

TEST(ExpiryPanes, GiveWhatTheWatermarkHasPassedItselfIncluded) {
  ExpiryPanes panes;
  panes.add(1'500'000, 1);
  panes.add(1'500'001, 2);
  panes.add(3'000'000, 3);
  panes.add(-1, 4);
  EXPECT_EQ(panes.take(-2), Numbers());
  EXPECT_EQ(panes.take(-1), Numbers{4});
  EXPECT_EQ(panes.take(1'500'000), Numbers{1});
  EXPECT_EQ(panes.take(2'999'999), Numbers{2});
  panes.add(3'000'000, 5);
  EXPECT_EQ(sorted(panes.take(3'000'000)), (Numbers{3, 5}));
  EXPECT_EQ(panes.take(INT64_MAX), Numbers());
}

TEST(ExpiryPanes, TimesInAnyOrder) {
  std::mt19937_64 random(7);
  ExpiryPanes panes;
  std::vector<int64_t> times;
  int64_t watermark = 0;
  std::vector<bool> gone;
  for (int step = 0; step < 200; ++step) {
    for (int i = 0; i < 50; ++i) {
      times.push_back(watermark - 2'000'000 + static_cast<int64_t>(random() % 10'000'000));
      gone.push_back(false);
      panes.add(times.back(), static_cast<uint32_t>(times.size() - 1));
    }
    watermark += static_cast<int64_t>(random() % 1'000'000);
    Numbers expected;
    for (uint32_t i = 0; i < times.size(); ++i) {
      if (gone[i] || times[i] > watermark) continue;
      gone[i] = true;
      expected.push_back(i);
    }
    ASSERT_EQ(sorted(panes.take(watermark)), expected);
  }
}

TEST(ExpiryPanes, TheEndsOfTheRangeOfTimes) {
  ExpiryPanes panes;
  panes.add(INT64_MIN, 1);
  panes.add(INT64_MAX, 2);
  EXPECT_EQ(panes.take(INT64_MIN), Numbers{1});
  EXPECT_EQ(panes.take(INT64_MAX), Numbers{2});
}

}  // namespace
}  // namespace thalweg
