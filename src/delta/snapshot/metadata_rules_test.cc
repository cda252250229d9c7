// Conditions are those of Spark 4.2 with Delta 4.4, asked for each case.
#include "delta/snapshot/metadata_rules.h"

#include <gtest/gtest.h>

#include "common/testing/condition_of.h"
#include "types/ddl.h"
#include "types/schema_json.h"

namespace thalweg::delta {
namespace {

Metadata metadataOf(const std::string& ddl, const char* feed) {
  Metadata metadata;
  metadata.schemaString = toSchemaJson(*parseSchemaDdl(ddl));
  if (feed) metadata.configuration["delta.enableChangeDataFeed"] = feed;
  return metadata;
}

TEST(MetadataRulesTest, TheFeedsNamesAreItsOwnWhereItIsOn) {
  const Metadata plain = metadataOf("a INT", "true");
  for (const char* name : {"_change_type", "_commit_version", "_commit_timestamp"}) {
    const Metadata on = metadataOf("a INT, " + std::string(name) + " BIGINT", "true");
    EXPECT_EQ(conditionOf([&] { checkNewMetadata(nullptr, on); }),
              "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS");
    EXPECT_EQ(conditionOf([&] { checkNewMetadata(&plain, on); }), "RESERVED_CDC_COLUMNS_ON_WRITE");
    const Metadata off = metadataOf("a INT, " + std::string(name) + " BIGINT", nullptr);
    EXPECT_EQ(conditionOf([&] { checkNewMetadata(nullptr, off); }), "none");
    EXPECT_EQ(conditionOf([&] { checkNewMetadata(&off, on); }), "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS");
  }
}

TEST(MetadataRulesTest, OtherNamesAreTheUsers) {
  EXPECT_EQ(conditionOf([] { checkNewMetadata(nullptr, metadataOf("_Commit_Version INT", "true")); }),
            "none");
  EXPECT_EQ(conditionOf([] { checkNewMetadata(nullptr, metadataOf("s STRUCT<_change_type: INT>", "true")); }),
            "none");
}

TEST(MetadataRulesTest, IntervalsAreNoColumnsOfDelta) {
  for (const char* type : {"INTERVAL DAY", "INTERVAL YEAR TO MONTH", "STRUCT<x: INTERVAL DAY>",
                           "ARRAY<INTERVAL MONTH>", "MAP<INT, INTERVAL HOUR TO SECOND>"}) {
    const Metadata metadata = metadataOf("a INT, c " + std::string(type), nullptr);
    EXPECT_EQ(conditionOf([&] { checkNewMetadata(nullptr, metadata); }), "DELTA_UNSUPPORTED_DATA_TYPES")
        << type;
  }
}

}  // namespace
}  // namespace thalweg::delta
