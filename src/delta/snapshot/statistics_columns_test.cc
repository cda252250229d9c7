// delta.dataSkippingStatsColumns: what it takes, as Spark 4.2 with Delta 4.4 answered when asked.
#include "delta/snapshot/statistics_columns.h"

#include <gtest/gtest.h>

#include "common/testing/condition_of.h"
#include "types/ddl.h"
#include "types/schema_json.h"

namespace thalweg::delta {
namespace {

std::string answer(const std::string& columns) {
  Metadata metadata;
  metadata.schemaString =
      toSchemaJson(*parseSchemaDdl("id INT, s STRING, b BINARY, st STRUCT<x: INT, y: STRING>, a ARRAY<INT>, "
                                   "bo BOOLEAN, ts TIMESTAMP, p INT"));
  metadata.partitionColumns = {"p"};
  metadata.configuration[std::string(kStatisticsColumns)] = columns;
  return conditionOf([&] { checkStatisticsColumns(metadata); });
}

TEST(StatisticsColumns, AreColumnsOfTheTableWithLeastAndGreatestValues) {
  for (const char* columns : {"id", "ID", "st", "st.x,id", "ts, s", "`id`", "a.element", "", " "})
    EXPECT_EQ(answer(columns), "none") << columns;
  EXPECT_EQ(answer("nope"), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA");
  EXPECT_EQ(answer("st.nope"), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA");
  EXPECT_EQ(answer("st.x.z"), "DELTA_COLUMN_PATH_NOT_NESTED");
  for (const char* columns : {"b", "a", "bo"})
    EXPECT_EQ(answer(columns), "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE") << columns;
  EXPECT_EQ(answer("id,id"), "DELTA_DUPLICATE_DATA_SKIPPING_COLUMNS");
  EXPECT_EQ(answer("st,st.x"), "DELTA_DUPLICATE_DATA_SKIPPING_COLUMNS");
  EXPECT_EQ(answer("p"), "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_PARTITIONED_COLUMN");
}

TEST(StatisticsColumns, AreAListOfNames) {
  using Paths = std::vector<std::vector<std::string>>;
  EXPECT_EQ(parseColumnList("a, b.c ,`d.e`.f"), (Paths{{"a"}, {"b", "c"}, {"d.e", "f"}}));
  EXPECT_EQ(parseColumnList("`a``b`"), (Paths{{"a`b"}}));
  EXPECT_EQ(parseColumnList(" "), Paths());
  for (const char* text : {"id,", ",", "id;s", "'id'", "a b", "`a", "a."})
    EXPECT_EQ(parseColumnList(text), std::nullopt) << text;
}

}  // namespace
}  // namespace thalweg::delta
