#include "types/text/intervals.h"

#include <gtest/gtest.h>

#include "common/testing/condition_of.h"

namespace thalweg {
namespace {

TEST(Intervals, AreSumsOfUnits) {
  EXPECT_EQ(parseIntervalMicros("10 seconds"), 10'000'000);
  EXPECT_EQ(parseIntervalMicros("interval 1 hour 30 minutes"), 5'400'000'000);
  EXPECT_EQ(parseIntervalMicros("1.5 seconds"), 1'500'000);
}

TEST(Intervals, WhatIsNoNumberIsRefused) {
  for (const char* text :
       {"", "nan seconds", "inf seconds", "-inf second", "1 second x", "1.5 hours", "9e300 days"}) {
    EXPECT_EQ(conditionOf([&] { parseIntervalMicros(text); }), "CANNOT_PARSE_INTERVAL") << text;
  }
}

}  // namespace
}  // namespace thalweg
