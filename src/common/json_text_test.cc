#include "common/json_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace thalweg {
namespace {

std::string nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') + std::string(static_cast<size_t>(depth), ']');
}

TEST(JsonText, WhatIsNoJsonIsDiscarded) {
  EXPECT_TRUE(parseJson("{").is_discarded());
  EXPECT_TRUE(parseJson("").is_discarded());
  EXPECT_TRUE(parseJson("{\"a\":\"\xff\"}").is_discarded());
  EXPECT_EQ(parseJson("{\"a\":[1]}")["a"][0], 1);
}

TEST(JsonText, WhatIsNestedTooDeeplyIsDiscarded) {
  EXPECT_FALSE(parseJson(nested(kJsonDepth)).is_discarded());
  EXPECT_TRUE(parseJson(nested(kJsonDepth + 1)).is_discarded());
  EXPECT_TRUE(parseOrderedJson(nested(1'000'000)).is_discarded());
}

TEST(JsonText, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(quotedJson("a\"\n\xff"), "\"a\\\"\\n\xEF\xBF\xBD\"");
  EXPECT_EQ(toJsonText(nlohmann::json{{"k\xC3", "v"}}), "{\"k\xEF\xBF\xBD\":\"v\"}");
  EXPECT_EQ(toJsonText(nlohmann::ordered_json{{"z", 1}, {"a", 2}}), "{\"z\":1,\"a\":2}");
}

}  // namespace
}  // namespace thalweg
