#include "types/column_metadata.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(ColumnMetadata, AKeyIsSetAndOthersStay) {
  EXPECT_EQ(withMetadataKey("", kWatermarkDelayKey, "10000"), R"({"spark.watermarkDelayMs":10000})");
  EXPECT_EQ(withMetadataKey(R"({"comment":"c","spark.watermarkDelayMs":1})", kWatermarkDelayKey, "2"),
            R"({"comment":"c","spark.watermarkDelayMs":2})");
  EXPECT_EQ(withMetadataKey("no object", kTimeWindowKey, "true"), R"({"spark.timeWindow":true})");
}

TEST(ColumnMetadata, AKeyIsFound) {
  EXPECT_TRUE(hasMetadataKey(R"({"spark.timeWindow":true})", kTimeWindowKey));
  EXPECT_FALSE(hasMetadataKey(R"({"spark.timeWindow":true})", kWatermarkDelayKey));
  EXPECT_FALSE(hasMetadataKey("", kWatermarkDelayKey));
}

TEST(ColumnMetadata, ATableKeepsWhatTheUserSaidAndNoneOfTheQuerysMarks) {
  const SchemaPtr schema = DataType::structOf(
      {{"ts", timestampType(), true, R"({"spark.watermarkDelayMs":10000})"},
       {"w", timestampType(), true, R"({"comment":"c","spark.timeWindow":true,"spark.sessionWindow":true})"},
       {"v", longType(), false, R"({"unit":"m"})"}});
  const SchemaPtr stored = withoutQueryMarks(*schema);
  EXPECT_EQ(stored->fields()[0].metadata, "");
  EXPECT_EQ(stored->fields()[1].metadata, R"({"comment":"c"})");
  EXPECT_EQ(stored->fields()[2].metadata, R"({"unit":"m"})");
  EXPECT_FALSE(stored->fields()[2].nullable);
}

}  // namespace
}  // namespace thalweg
