#include "types/ddl.h"

#include <gtest/gtest.h>

#include "common/testing/condition_of.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

TEST(Ddl, ACommentMayHoldAnyBytes) {
  const SchemaPtr schema = parseSchemaDdl("a INT COMMENT 'x\xf1'");
  EXPECT_EQ(schema->fields()[0].metadata, "{\"comment\":\"x\xEF\xBF\xBD\"}");
  const std::string json = toSchemaJson(*schema);
  EXPECT_EQ(toSchemaJson(*parseSchemaJson(json)), json);
}

// Spark 4.2 answers FAILED_TO_PARSE_TOO_COMPLEX in a statement and overflows its stack elsewhere.
TEST(Ddl, TypesNestToADepth) {
  const auto nested = [](int levels) {
    std::string text;
    for (int i = 0; i < levels; ++i) text += "array<";
    return text + "int" + std::string(static_cast<size_t>(levels), '>');
  };
  EXPECT_EQ(parseTypeDdl(nested(150))->id(), TypeId::Array);
  size_t length = 0;
  EXPECT_EQ(conditionOf([&] { parseTypeDdl(nested(5000)); }), "TOO_DEEPLY_NESTED");
  EXPECT_EQ(conditionOf([&] { parseTypeDdlPrefix(nested(5000), &length); }), "TOO_DEEPLY_NESTED");
  EXPECT_EQ(conditionOf([&] { parseSchemaDdl("a " + nested(5000)); }), "TOO_DEEPLY_NESTED");
  EXPECT_EQ(conditionOf([&] { parseUserSchema("a " + nested(5000)); }), "TOO_DEEPLY_NESTED");
  EXPECT_EQ(conditionOf([&] { parseUserSchema(nested(5000)); }), "TOO_DEEPLY_NESTED");
}

}  // namespace
}  // namespace thalweg
