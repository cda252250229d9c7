#include "commands/schema_fields.h"

#include <gtest/gtest.h>

#include "common/error.h"
#include "common/testing/condition_of.h"
#include "types/ddl.h"

namespace thalweg {
namespace {

constexpr auto kSchema =
    "a INT, s STRUCT<x: INT, y: INT>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, STRUCT<x: INT>>";

SchemaPtr schema() {
  return parseSchemaDdl(kSchema);
}

StructField intField(const char* name) {
  return {name, DataType::primitive(TypeId::Int), true, "{}"};
}

// The schema with the field z put below `parent`.
std::string withZ(const sql::Name& parent, bool first = false, std::optional<std::string> after = {}) {
  const auto put = [&](std::vector<StructField>* siblings) {
    place(siblings, intField("z"), first, after, {"z"});
  };
  return withChangedFields(schema(), parent, put)->simpleString();
}

TEST(SchemaFields, AreFoundAtEveryDepthWhateverTheirCase) {
  for (const sql::Name& path :
       std::vector<sql::Name>{{"A"}, {"s"}, {"S", "Y"}, {"l", "element", "x"}, {"m", "VALUE", "x"}})
    EXPECT_TRUE(hasField(*schema(), path)) << dotted(path);
  for (const sql::Name& path : std::vector<sql::Name>{{"z"},
                                                      {"s", "z"},
                                                      {"z", "x"},
                                                      {"a", "x"},
                                                      {"l", "x"},
                                                      {"l", "element"},
                                                      {"m", "key"},
                                                      {"m", "key", "x"}})
    EXPECT_FALSE(hasField(*schema(), path)) << dotted(path);
}

TEST(SchemaFields, ComeWhereTheStatementPutsThem) {
  EXPECT_EQ(withZ({"s"}),
            "struct<a:int,s:struct<x:int,y:int,z:int>,l:array<struct<x:int>>,m:map<string,struct<x:int>>>");
  EXPECT_EQ(withZ({"S"}, /*first=*/true),
            "struct<a:int,s:struct<z:int,x:int,y:int>,l:array<struct<x:int>>,m:map<string,struct<x:int>>>");
  EXPECT_EQ(withZ({"s"}, false, "X"),
            "struct<a:int,s:struct<x:int,z:int,y:int>,l:array<struct<x:int>>,m:map<string,struct<x:int>>>");
  EXPECT_EQ(withZ({"l", "element"}),
            "struct<a:int,s:struct<x:int,y:int>,l:array<struct<x:int,z:int>>,m:map<string,struct<x:int>>>");
  EXPECT_EQ(withZ({"m", "value"}, true),
            "struct<a:int,s:struct<x:int,y:int>,l:array<struct<x:int>>,m:map<string,struct<z:int,x:int>>>");
}

TEST(SchemaFields, TypesAreExchangedAtEveryDepth) {
  const auto withLong = [](const sql::Name& path) {
    return withChangedType(schema(), path, [](const DataTypePtr&) { return longType(); })->simpleString();
  };
  EXPECT_EQ(withLong({"A"}),
            "struct<a:bigint,s:struct<x:int,y:int>,l:array<struct<x:int>>,m:map<string,struct<x:int>>>");
  EXPECT_EQ(withLong({"s", "y"}),
            "struct<a:int,s:struct<x:int,y:bigint>,l:array<struct<x:int>>,m:map<string,struct<x:int>>>");
  EXPECT_EQ(withLong({"l", "element", "x"}),
            "struct<a:int,s:struct<x:int,y:int>,l:array<struct<x:bigint>>,m:map<string,struct<x:int>>>");
  EXPECT_EQ(withLong({"l", "Element"}),
            "struct<a:int,s:struct<x:int,y:int>,l:array<bigint>,m:map<string,struct<x:int>>>");
  EXPECT_EQ(withLong({"m", "KEY"}),
            "struct<a:int,s:struct<x:int,y:int>,l:array<struct<x:int>>,m:map<bigint,struct<x:int>>>");
  EXPECT_EQ(withLong({"m", "value", "x"}),
            "struct<a:int,s:struct<x:int,y:int>,l:array<struct<x:int>>,m:map<string,struct<x:bigint>>>");
  for (const sql::Name& path :
       std::vector<sql::Name>{{"z"}, {"s", "z"}, {"a", "element"}, {"l", "key"}, {"m", "element"}})
    EXPECT_EQ(conditionOf([&] { withLong(path); }), "UNRESOLVED_COLUMN.WITH_SUGGESTION") << dotted(path);
}

TEST(SchemaFields, NeedAPlace) {
  EXPECT_EQ(conditionOf([] { withZ({"a"}); }), "DELTA_ADD_COLUMN_PARENT_NOT_STRUCT");
  EXPECT_EQ(conditionOf([] { withZ({"l"}); }), "DELTA_ADD_COLUMN_PARENT_NOT_STRUCT");
  EXPECT_EQ(conditionOf([] { withZ({"gone"}); }), "UNRESOLVED_COLUMN.WITH_SUGGESTION");
  EXPECT_EQ(conditionOf([] { withZ({"s"}, false, "gone"); }), "UNRESOLVED_COLUMN.WITH_SUGGESTION");
}

}  // namespace
}  // namespace thalweg
