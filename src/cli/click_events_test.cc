#include "cli/click_events.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace thalweg::cli {
namespace {

TEST(ClickEvents, AreAFunctionOfSeedAndNumber) {
  ClickEvents first(7);
  ClickEvents second(7);
  const std::string late(first.event(999'999).json);
  for (int64_t number = 0; number < 100; ++number) second.event(number);
  EXPECT_EQ(second.event(999'999).json, late);
  EXPECT_NE(ClickEvents(8).event(999'999).json, late);
  EXPECT_NE(second.event(1).json, late);
}

TEST(ClickEvents, AreJsonWithTheFieldsOfAClick) {
  ClickEvents events(42);
  size_t bytes = 0;
  for (int64_t number = 0; number < 1000; ++number) {
    const ClickEvents::Event event = events.event(number);
    bytes += event.json.size();
    const auto json = nlohmann::json::parse(event.json);
    EXPECT_EQ(json.size(), 5u);
    EXPECT_EQ(json.at("user_id"), event.userId);
    EXPECT_EQ(json.at("product_id").get<std::string>().size(), 6u);
    EXPECT_TRUE(json.at("action").is_string());
    EXPECT_EQ(json.at("timestamp").get<std::string>().size(), 24u);
    EXPECT_NEAR(json.at("price").get<double>() * 100, static_cast<double>(event.priceCents), 0.01);
    EXPECT_GE(event.priceCents, 240);
    EXPECT_LE(event.priceCents, 12'000);
  }
  EXPECT_NEAR(static_cast<double>(bytes) / 1000, 113, 5);
}

// 1768471200 is 2026-01-15T10:00:00Z; event 8 comes two seconds later, at most two seconds out of order.
TEST(ClickEvents, TellTheTimeTheyCarry) {
  ClickEvents events(42);
  const ClickEvents::Event event = events.event(8);
  EXPECT_GT(event.timestampMs, 1'768'471'200'000);
  EXPECT_LE(event.timestampMs, 1'768'471'202'000);
  EXPECT_NE(std::string(event.json).find("\"timestamp\":\"2026-01-15T10:00:0"), std::string::npos) << event.json;
}

}  // namespace
}  // namespace thalweg::cli
