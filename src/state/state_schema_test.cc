#include "state/state_schema.h"

#include <gtest/gtest.h>

#include "common/error.h"
#include "types/ddl.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

std::string outcome(const char* storedKey, const char* storedValue, const char* key, const char* value,
                    ValueCheck check = ValueCheck::Types) {
  try {
    checkStateSchema({parseSchemaDdl(storedKey), parseSchemaDdl(storedValue)},
                     {parseSchemaDdl(key), parseSchemaDdl(value)}, check);
  } catch (const Error& error) {
    return error.condition();
  }
  return "ok";
}

TEST(StateSchema, NamesMayChangeTypesAndCountsMayNot) {
  const char* kKey = "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE";
  const char* kValue = "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE";
  EXPECT_EQ(outcome("a INT", "c BIGINT", "b INT", "d BIGINT"), "ok");
  EXPECT_EQ(outcome("w STRUCT<s: INT>", "c BIGINT", "w STRUCT<t: INT>", "c BIGINT"), "ok");
  EXPECT_EQ(outcome("a INT", "c BIGINT", "a BIGINT", "c BIGINT"), kKey);
  EXPECT_EQ(outcome("a INT", "c BIGINT", "a INT, b INT", "c BIGINT"), kKey);
  EXPECT_EQ(outcome("a INT", "c BIGINT", "a INT", "c BIGINT, d BIGINT"), kValue);
  EXPECT_EQ(outcome("a INT", "c BIGINT, d DOUBLE", "a INT", "d DOUBLE, c BIGINT"), kValue);
  EXPECT_EQ(outcome("a INT", "c DECIMAL(10,2)", "a INT", "c DECIMAL(10,3)"), kValue);
  EXPECT_EQ(outcome("a INT", "c BIGINT", "a INT", "c DOUBLE", ValueCheck::Skip), "ok");
}

TEST(StateSchema, NullsMayGoButNotCome) {
  EXPECT_EQ(outcome("a INT", "c BIGINT", "a INT NOT NULL", "c BIGINT NOT NULL"), "ok");
  EXPECT_EQ(outcome("a INT NOT NULL", "c BIGINT", "a INT", "c BIGINT"),
            "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE");
}

TEST(StateSchema, LongSchemasAndAllOfUnicodeGoThroughJavasForm) {
  std::vector<StructField> fields;
  for (int i = 0; i < 2000; ++i) fields.push_back({"größe 𝄞 " + std::to_string(i), longType(), true, {}});
  const StateSchema schema{DataType::structOf(fields), DataType::structOf({{"v", stringType(), true, {}}})};
  const std::string bytes = formatStateSchema(schema);
  EXPECT_GT(static_cast<uint8_t>(bytes[7]), 1) << "several pieces";
  const StateSchema again = parseStateSchema(bytes, "file");
  EXPECT_EQ(toSchemaJson(*again.key), toSchemaJson(*schema.key));
  EXPECT_EQ(toSchemaJson(*again.value), toSchemaJson(*schema.value));
}

TEST(StateSchema, DamagedFilesAreRefusedByName) {
  const std::string whole = formatStateSchema({parseSchemaDdl("a INT"), parseSchemaDdl("b INT")});
  for (size_t size = 0; size < whole.size(); ++size) {
    try {
      parseStateSchema(std::string_view(whole).substr(0, size), "/cp/schema");
      ADD_FAILURE() << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.condition(), "STATE_STORE_CHECKPOINT_CORRUPT");
      EXPECT_NE(error.text().find("/cp/schema"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace thalweg
