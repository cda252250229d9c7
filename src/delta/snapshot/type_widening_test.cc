#include "delta/snapshot/type_widening.h"

#include <gtest/gtest.h>

#include "common/testing/condition_of.h"
#include "types/ddl.h"
#include "types/schema_json.h"

namespace thalweg::delta {
namespace {

std::string recorded(const std::string& from, const std::string& to) {
  return toSchemaJson(*withRecordedTypeChanges(*parseSchemaDdl(from), parseSchemaDdl(to)));
}

// The texts are those of Spark 4.2 with Delta 4.4 after ALTER TABLE … ALTER COLUMN … TYPE.
TEST(TypeWidening, ASchemaSaysWhatWasChanged) {
  EXPECT_EQ(
      recorded("b SMALLINT, g STRING", "b BIGINT, g STRING"),
      R"({"type":"struct","fields":[{"name":"b","type":"long","nullable":true,"metadata":{"delta.typeChanges":)"
      R"([{"toType":"long","fromType":"short"}]}},{"name":"g","type":"string","nullable":true,"metadata":{}}]})");
  EXPECT_EQ(
      recorded("m MAP<INT, SMALLINT>", "m MAP<BIGINT, INT>"),
      R"({"type":"struct","fields":[{"name":"m","type":{"type":"map","keyType":"long","valueType":"integer",)"
      R"("valueContainsNull":true},"nullable":true,"metadata":{"delta.typeChanges":[{"toType":"long",)"
      R"("fromType":"integer","fieldPath":"key"},{"toType":"integer","fromType":"short","fieldPath":"value"}]}}]})");
  // In the field next to it, however deep that lies.
  EXPECT_EQ(
      recorded("aa ARRAY<ARRAY<STRUCT<y: TINYINT>>>", "aa ARRAY<ARRAY<STRUCT<y: INT>>>"),
      R"({"type":"struct","fields":[{"name":"aa","type":{"type":"array","elementType":{"type":"array",)"
      R"("elementType":{"type":"struct","fields":[{"name":"y","type":"integer","nullable":true,"metadata":)"
      R"({"delta.typeChanges":[{"toType":"integer","fromType":"byte"}]}}]},"containsNull":true},)"
      R"("containsNull":true},"nullable":true,"metadata":{}}]})");
}

TEST(TypeWidening, LaterChangesStandBehindEarlierOnes) {
  const SchemaPtr once = withRecordedTypeChanges(*parseSchemaDdl("b TINYINT"), parseSchemaDdl("b SMALLINT"));
  std::vector<StructField> fields = once->fields();
  fields[0].type = longType();
  fields.push_back({"added", stringType(), true, "{}"});
  const SchemaPtr twice = withRecordedTypeChanges(*once, DataType::structOf(fields));
  EXPECT_EQ(
      twice->fields()[0].metadata,
      R"({"delta.typeChanges":[{"toType":"short","fromType":"byte"},{"toType":"long","fromType":"short"}]})");
  EXPECT_EQ(twice->fields()[1].metadata, "{}");
  checkTypeChanges(*twice, "t");
}

TEST(TypeWidening, NestedPathsAndDecimals) {
  const SchemaPtr from = parseSchemaDdl("a ARRAY<MAP<DECIMAL(5,2), ARRAY<FLOAT>>>");
  const SchemaPtr to = parseSchemaDdl("a ARRAY<MAP<DECIMAL(10,4), ARRAY<DOUBLE>>>");
  EXPECT_EQ(
      withRecordedTypeChanges(*from, to)->fields()[0].metadata,
      R"j({"delta.typeChanges":[{"toType":"decimal(10,4)","fromType":"decimal(5,2)",)j"
      R"j("fieldPath":"element.key"},{"toType":"double","fromType":"float","fieldPath":"element.value.element"}]})j");
}

TEST(TypeWidening, ChangesThatNoReaderCouldUndoAreRefused) {
  for (const char* to : {"a INT", "a STRING", "a DOUBLE", "a DECIMAL(10,0)", "a ARRAY<BIGINT>"})
    EXPECT_EQ(conditionOf([&] { recorded("a BIGINT", to); }), "DELTA_UNSUPPORTED_TYPE_CHANGE_IN_SCHEMA")
        << to;
}

// What a write with mergeSchema widens: see Delta's typeWidening.allowAutomaticWidening, same_family_type.
TEST(TypeWidening, WritesWidenWithinAFamily) {
  const auto widens = [](const char* from, const char* to) {
    return widensByItself(*parseSchemaDdl(std::string("a ") + from)->fields()[0].type,
                          *parseSchemaDdl(std::string("a ") + to)->fields()[0].type);
  };
  EXPECT_TRUE(widens("TINYINT", "SMALLINT"));
  EXPECT_TRUE(widens("SMALLINT", "BIGINT"));
  EXPECT_TRUE(widens("FLOAT", "DOUBLE"));
  EXPECT_TRUE(widens("DATE", "TIMESTAMP_NTZ"));
  EXPECT_TRUE(widens("DECIMAL(5,2)", "DECIMAL(6,2)"));
  EXPECT_FALSE(widens("INT", "DOUBLE"));
  EXPECT_FALSE(widens("INT", "DECIMAL(12,0)"));
  EXPECT_FALSE(widens("BIGINT", "INT"));
  EXPECT_FALSE(widens("BIGINT", "BIGINT"));
  EXPECT_FALSE(widens("INT", "STRING"));
}

}  // namespace
}  // namespace thalweg::delta
