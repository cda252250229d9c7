#include "common/options.h"

#include <gtest/gtest.h>

#include "common/option_choice.h"

namespace thalweg {
namespace {

TEST(Durations, HaveJavasUnits) {
  EXPECT_EQ(parseDurationMs("7"), 7);
  EXPECT_EQ(parseDurationMs("2500us"), 2);
  EXPECT_EQ(parseDurationMs("500ms"), 500);
  EXPECT_EQ(parseDurationMs("5 s"), 5000);
  EXPECT_EQ(parseDurationMs("2M"), 120'000);
  EXPECT_EQ(parseDurationMs("3min"), 180'000);
  EXPECT_EQ(parseDurationMs("1h"), 3'600'000);
  EXPECT_EQ(parseDurationMs("7d"), 604'800'000);
}

TEST(Durations, AnythingElseIsNone) {
  for (const char* text :
       {"", "s", "-1", "-1s", "1.5s", "5 s ", "1w", "nan", "9223372036854775807d", "99999999999999999999"}) {
    EXPECT_EQ(parseDurationMs(text), std::nullopt) << text;
  }
}

TEST(FirstGiven, IsTheNameThatCounts) {
  const auto choose = [](const Options& options) {
    return firstGiven(options, {"own", "spark.sql.setting"});
  };
  EXPECT_EQ(choose({{"OWN", ""}, {"spark.sql.setting", "1"}}), "own");
  EXPECT_EQ(choose({{"spark.sql.setting", "1"}}), "spark.sql.setting");
  EXPECT_EQ(choose({}), "spark.sql.setting");
}

}  // namespace
}  // namespace thalweg
