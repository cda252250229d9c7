#include "types/ddl.h"

#include <gtest/gtest.h>

#include "types/schema_json.h"

namespace thalweg {
namespace {

TEST(Ddl, ACommentMayHoldAnyBytes) {
  const SchemaPtr schema = parseSchemaDdl("a INT COMMENT 'x\xf1'");
  EXPECT_EQ(schema->fields()[0].metadata, "{\"comment\":\"x\xEF\xBF\xBD\"}");
  const std::string json = toSchemaJson(*schema);
  EXPECT_EQ(toSchemaJson(*parseSchemaJson(json)), json);
}

}  // namespace
}  // namespace thalweg
