#include "commands/column_type_change.h"

#include <gtest/gtest.h>

#include "common/testing/condition_of.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

std::string changed(const sql::Name& path, const std::string& to, bool widens = true) {
  const SchemaPtr schema =
      parseSchemaDdl("i INT, l BIGINT, d DATE, c DECIMAL(10,4), g STRING, s STRUCT<x: INT>, a ARRAY<INT>");
  const DataTypePtr type = parseSchemaDdl("t " + to)->fields()[0].type;
  std::string result;
  const std::string condition = conditionOf([&] {
    result = withWiderType(schema, path, type, {"t", widens, [] {}})->simpleString();
  });
  return condition == "none" ? result : condition;
}

// The conditions are those of Spark 4.2 with Delta 4.4.
TEST(ColumnTypeChange, WidensWhatReadersCanUndo) {
  const std::string rest = "d:date,c:decimal(10,4),g:string,s:struct<x:int>,a:array<int>>";
  EXPECT_EQ(changed({"i"}, "BIGINT"), "struct<i:bigint,l:bigint," + rest);
  EXPECT_EQ(changed({"I"}, "DOUBLE"), "struct<i:double,l:bigint," + rest);
  EXPECT_EQ(changed({"l"}, "DECIMAL(20,0)"), "struct<i:int,l:decimal(20,0)," + rest);
  EXPECT_EQ(changed({"i"}, "INT", /*widens=*/false), "struct<i:int,l:bigint," + rest) << "no change";
}

TEST(ColumnTypeChange, IsRefusedUnderSparksConditions) {
  EXPECT_EQ(changed({"i"}, "BIGINT", /*widens=*/false), "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP");
  EXPECT_EQ(changed({"l"}, "DECIMAL(20,0)", /*widens=*/false), "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP");
  EXPECT_EQ(changed({"d"}, "TIMESTAMP"), "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP");
  EXPECT_EQ(changed({"l"}, "INT"), "NOT_SUPPORTED_CHANGE_COLUMN");
  EXPECT_EQ(changed({"g"}, "INT"), "NOT_SUPPORTED_CHANGE_COLUMN");
  EXPECT_EQ(changed({"g"}, "BINARY"), "NOT_SUPPORTED_CHANGE_COLUMN");
  EXPECT_EQ(changed({"c"}, "DECIMAL(10,2)"), "NOT_SUPPORTED_CHANGE_COLUMN");
  EXPECT_EQ(changed({"c"}, "DOUBLE"), "NOT_SUPPORTED_CHANGE_COLUMN");
  EXPECT_EQ(changed({"s"}, "STRUCT<x: DOUBLE>"), "CANNOT_UPDATE_FIELD.STRUCT_TYPE");
  EXPECT_EQ(changed({"a"}, "ARRAY<DOUBLE>"), "CANNOT_UPDATE_FIELD.ARRAY_TYPE");
  EXPECT_EQ(changed({"i"}, "ARRAY<INT>"), "CANNOT_UPDATE_FIELD.ARRAY_TYPE");
  EXPECT_EQ(changed({"i"}, "STRING"), "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP");
  const SchemaPtr schema = parseSchemaDdl("i INT");
  EXPECT_EQ(conditionOf([&] {
              withWiderType(schema, {"i"}, stringType(), {"t", true, [] {}, "VARCHAR(3)"});
            }),
            "NOT_SUPPORTED_CHANGE_COLUMN");
  EXPECT_EQ(changed({"nope"}, "INT"), "UNRESOLVED_COLUMN.WITH_SUGGESTION");
}

}  // namespace
}  // namespace thalweg
