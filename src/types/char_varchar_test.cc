// CHAR and VARCHAR in types, metadata and schemas. The texts are those that Spark 4.2 with Delta 4.4 writes.
#include "types/char_varchar.h"

#include <gtest/gtest.h>

#include "common/testing/condition_of.h"
#include "types/ddl.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

using Kind = StringBound::Kind;

DataTypePtr parse(const std::string& text, StringBounds* bounds) {
  size_t length = 0;
  return parseTypeDdlPrefix(text, &length, bounds);
}

std::string roundTrip(const std::string& text) {
  StringBounds bounds;
  const DataTypePtr type = parse(text, &bounds);
  return boundedTypeString(*type, bounds);
}

TEST(CharVarchar, ATypeKeepsWhatWasDeclaredOfItsStrings) {
  StringBounds bounds;
  const DataTypePtr type = parse("STRUCT<x: VARCHAR(2), y: STRING, z: ARRAY<CHARACTER(4)>>", &bounds);
  EXPECT_EQ(type->simpleString(), "struct<x:string,y:string,z:array<string>>");
  EXPECT_EQ(bounds, (StringBounds{{Kind::Varchar, 2}, {}, {Kind::Char, 4}}));
}

TEST(CharVarchar, TextsAreSparks) {
  EXPECT_EQ(roundTrip("VARCHAR(3)"), "varchar(3)");
  EXPECT_EQ(roundTrip("STRUCT<x: VARCHAR(2), y: CHAR(2)>"), "struct<x:varchar(2),y:char(2)>");
  EXPECT_EQ(roundTrip("ARRAY<VARCHAR(2)>"), "array<varchar(2)>");
  EXPECT_EQ(roundTrip("MAP<CHAR(2), VARCHAR(3)>"), "map<char(2),varchar(3)>");
}

TEST(CharVarchar, TheColumnsMetadataHasThem) {
  StringBounds bounds;
  const DataTypePtr type = parse("MAP<CHAR(2), VARCHAR(3)>", &bounds);
  const std::string metadata = withStringBounds("{}", *type, bounds);
  EXPECT_EQ(metadata, R"({"__CHAR_VARCHAR_TYPE_STRING":"map<char(2),varchar(3)>"})");
  EXPECT_EQ(stringBoundsOf(*type, metadata), bounds);
  EXPECT_EQ(stringBoundsOf(*type, R"({"comment":"x"})"), StringBounds());
}

TEST(CharVarchar, MetadataThatDoesNotFitTheTypeIsNone) {
  EXPECT_EQ(
      stringBoundsOf(*stringType(), R"({"__CHAR_VARCHAR_TYPE_STRING":"struct<x:varchar(2),y:char(2)>"})"),
      StringBounds());
  EXPECT_EQ(stringBoundsOf(*stringType(), R"({"__CHAR_VARCHAR_TYPE_STRING":"varchar("})"), StringBounds());
  EXPECT_EQ(stringBoundsOf(*stringType(), R"({"__CHAR_VARCHAR_TYPE_STRING":7})"), StringBounds());
}

TEST(CharVarchar, ALengthMustBeGiven) {
  EXPECT_EQ(conditionOf([] { parseTypeDdl("CHAR"); }), "DATATYPE_MISSING_SIZE");
  EXPECT_EQ(conditionOf([] { parseTypeDdl("VARCHAR"); }), "DATATYPE_MISSING_SIZE");
}

TEST(CharVarchar, SchemasOfReadersRefuseThem) {
  EXPECT_EQ(conditionOf([] { parseUserSchema("a VARCHAR(3)"); }), "UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING");
  EXPECT_EQ(conditionOf([] { parseSchemaDdl("a ARRAY<CHAR(3)>"); }), "UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING");
  EXPECT_EQ(conditionOf([] { parseUserSchema("struct<a: char(3)>"); }),
            "UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING");
}

// A field that is added to a struct does not lose what was declared of the others.
TEST(CharVarchar, FieldsMayComeAndGo) {
  StringBounds bounds;
  const DataTypePtr type = parse("STRUCT<x: VARCHAR(2), y: CHAR(2)>", &bounds);
  const SchemaPtr table = DataType::structOf({{"s", type, true, withStringBounds("{}", *type, bounds)}});
  std::vector<StructField> inner = spreadStringBounds(table)->fields()[0].type->fields();
  inner
      .insert(inner.begin(), {"w", stringType(), true, R"({"__CHAR_VARCHAR_TYPE_STRING":"char(4)"}) "});
      inner.pop_back();
  const SchemaPtr changed = gatherStringBounds(DataType::structOf({{"s", DataType::structOf(inner)}}));
  EXPECT_EQ(toSchemaJson(*changed),
            R"({"type":"struct","fields":[{"name":"s","type":{"type":"struct","fields":[)"
            R"({"name":"w","type":"string","nullable":true,"metadata":{}},)"
            R"({"name":"x","type":"string","nullable":true,"metadata":{}}]},"nullable":true,)"
            R"("metadata":{"__CHAR_VARCHAR_TYPE_STRING":"struct<w:char(4),x:varchar(2)>"}}]})");
}

TEST(CharVarchar, ColumnsGrowOnly) {
  const auto may = [](StringBound from, StringBound to) {
    return canChangeBounds(*stringType(), {from}, {to});
  };
  EXPECT_TRUE(may({Kind::Varchar, 3}, {Kind::Varchar, 5}));
  EXPECT_FALSE(may({Kind::Varchar, 5}, {Kind::Varchar, 2}));
  EXPECT_TRUE(may({Kind::Varchar, 5}, {}));
  EXPECT_FALSE(may({}, {Kind::Varchar, 10}));
  EXPECT_FALSE(may({Kind::Char, 5}, {Kind::Char, 7}));
  EXPECT_TRUE(may({Kind::Char, 5}, {Kind::Varchar, 7}));
  EXPECT_TRUE(may({Kind::Char, 5}, {Kind::Char, 5}));
}

TEST(CharVarchar, CharactersAreCountedNotBytes) {
  EXPECT_EQ(numCharacters("ab"), 2);
  EXPECT_EQ(numCharacters("\xC3\xA9\xE2\x82\xAC"), 2);
  EXPECT_EQ(numCharacters(""), 0);
}

}  // namespace
}  // namespace thalweg
