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

// Asked of Spark 4.2: writeStream.trigger(processingTime=…).
TEST(Intervals, OfATriggerSayWhatIsWrong) {
  const std::pair<const char*, const char*> faults[] = {
      {"whenever", "INVALID_INTERVAL_FORMAT.UNRECOGNIZED_NUMBER"},
      {"1 second x", "INVALID_INTERVAL_FORMAT.UNRECOGNIZED_NUMBER"},
      {"nan seconds", "INVALID_INTERVAL_FORMAT.UNRECOGNIZED_NUMBER"},
      {"interval", "INVALID_INTERVAL_FORMAT.INPUT_IS_EMPTY"},
      {"10", "INVALID_INTERVAL_FORMAT.MISSING_UNIT"},
      {"5 seconds 6", "INVALID_INTERVAL_FORMAT.MISSING_UNIT"},
      {"10 parsecs", "INVALID_INTERVAL_FORMAT.INVALID_UNIT"},
      {"1.5 days", "INVALID_INTERVAL_FORMAT.INVALID_FRACTION"},
      {"10x seconds", "INVALID_INTERVAL_FORMAT.INVALID_VALUE"},
      {"1e3 seconds", "INVALID_INTERVAL_FORMAT.INVALID_VALUE"},
      {"99999999999999999999 days", "INVALID_INTERVAL_FORMAT.ARITHMETIC_EXCEPTION"},
      {"10 month", "_LEGACY_ERROR_TEMP_3262"}};
  for (const auto& [text, condition] : faults)
    EXPECT_EQ(conditionOf([&] { parseTriggerIntervalMicros(text); }), condition) << text;
  EXPECT_EQ(parseTriggerIntervalMicros("1 second"), 1'000'000);
}

}  // namespace
}  // namespace thalweg
