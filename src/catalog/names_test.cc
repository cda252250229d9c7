// What a name means, and which names may be given. The rules are Spark's, as it answered them.
#include "catalog/names.h"

#include <gtest/gtest.h>

#include "common/testing/condition_of.h"

namespace thalweg {
namespace {

TEST(QualifyTable, fillsInTheCurrentCatalogAndSchemaInLowerCase) {
  const NameScope scope{"spark_catalog", "sales"};
  EXPECT_EQ(qualifyTable({"Orders"}, scope), (TableName{"spark_catalog", "sales", "orders"}));
  EXPECT_EQ(qualifyTable({"Web", "T"}, scope), (TableName{"spark_catalog", "web", "t"}));
  EXPECT_EQ(qualifyTable({"SPARK_CATALOG", "web", "t"}, scope), (TableName{"spark_catalog", "web", "t"}));
}

TEST(QualifyTable, refusesNamespacesOfSeveralParts) {
  EXPECT_EQ(conditionOf([] { qualifyTable({"a", "b", "c"}, {}); }), "REQUIRES_SINGLE_PART_NAMESPACE");
  EXPECT_EQ(conditionOf([] { qualifyTable({"a", "b", "c", "d"}, {}); }), "REQUIRES_SINGLE_PART_NAMESPACE");
  EXPECT_EQ(conditionOf([] {
              qualifyTable({"spark_catalog", "b", "c", "d"}, {});
            }),
            "REQUIRES_SINGLE_PART_NAMESPACE");
}

TEST(QualifySchema, takesACatalogBeforeIt) {
  EXPECT_EQ(qualifySchema({"Web"}, {}), (SchemaName{"spark_catalog", "web"}));
  EXPECT_EQ(qualifySchema({"spark_catalog", "web"}, {}), (SchemaName{"spark_catalog", "web"}));
  EXPECT_EQ(conditionOf([] { qualifySchema({"a", "b"}, {}); }), "REQUIRES_SINGLE_PART_NAMESPACE");
}

TEST(NewName, isLettersDigitsAndUnderscores) {
  for (const char* name : {"t", "T_1", "0", "_"})
    EXPECT_EQ(conditionOf([&] { checkNewName(name); }), "none") << name;
  for (const char* name : {"", ".", "..", "a.b", "a/b", "../x", "a b", "a-b", "é", "a\n", "\xff"}) {
    EXPECT_EQ(conditionOf([&] { checkNewName(name); }), "INVALID_SCHEMA_OR_RELATION_NAME") << name;
  }
  EXPECT_EQ(conditionOf([] { checkNewName(std::string("a\0b", 3)); }), "INVALID_SCHEMA_OR_RELATION_NAME");
  EXPECT_EQ(conditionOf([] { checkNewName(std::string(256, 'a')); }), "INVALID_SCHEMA_OR_RELATION_NAME");
}

TEST(QuotedName, doublesBackTicks) {
  EXPECT_EQ(quotedName({"a", "b`c"}), "`a`.`b``c`");
}

TEST(Pattern, hasStarsAndAlternatives) {
  EXPECT_TRUE(matchesPattern("*", "anything"));
  EXPECT_TRUE(matchesPattern("P*", "pt"));
  EXPECT_TRUE(matchesPattern("x|p*t", "pivot"));
  EXPECT_TRUE(matchesPattern("a*b*c", "aXbbXc"));
  EXPECT_FALSE(matchesPattern("p", "pt"));
  EXPECT_FALSE(matchesPattern("", "pt"));
  EXPECT_FALSE(matchesPattern("a*b", "abc"));
  // Other letters of regular expressions stand for themselves.
  EXPECT_FALSE(matchesPattern("p.", "pt"));
}

TEST(Pattern, takesTimeThatGrowsWithItsLengthOnly) {
  const std::string stars(2000, '*');
  EXPECT_FALSE(matchesPattern("a" + stars + "b", std::string(2000, 'a')));
}

}  // namespace
}  // namespace thalweg
