// As Spark's UnresolvedAttribute.parseAttributeName reads names.
#include "plan/analyze/attribute_name.h"

#include <gtest/gtest.h>

#include "common/testing/condition_of.h"

namespace thalweg {
namespace {

using Parts = std::vector<std::string>;

TEST(AttributeNameTest, DotsPartNames) {
  EXPECT_EQ(parseAttributeName("a"), Parts({"a"}));
  EXPECT_EQ(parseAttributeName("t.a.b"), Parts({"t", "a", "b"}));
}

TEST(AttributeNameTest, NothingButDotsAndBackticksMeansAnything) {
  for (const char* name : {"sum(v)", "count(1)", "a b", "1", "a-b", "a:b", "a/b", "a$", "a@b", "x,y", "a+b", "%", "'q'",
                           "CAST(a AS INT)", "select", "\xC3\xA4", "-- a", "/* a */", ""})
    EXPECT_EQ(parseAttributeName(name), Parts({name}));
  EXPECT_EQ(parseAttributeName("s.sum(v)"), Parts({"s", "sum(v)"}));
}

TEST(AttributeNameTest, BackticksKeepDots) {
  EXPECT_EQ(parseAttributeName("`a.b`"), Parts({"a.b"}));
  EXPECT_EQ(parseAttributeName("t.`a.b`.c"), Parts({"t", "a.b", "c"}));
  EXPECT_EQ(parseAttributeName("`round(1.5)`"), Parts({"round(1.5)"}));
  EXPECT_EQ(parseAttributeName("``"), Parts({""}));
}

TEST(AttributeNameTest, TwoBackticksInsideAreOne) {
  EXPECT_EQ(parseAttributeName("`a``b`"), Parts({"a`b"}));
  EXPECT_EQ(parseAttributeName("````"), Parts({"`"}));
}

TEST(AttributeNameTest, OtherNamesAreRefused) {
  for (const char* name : {"a.", ".a", "a..b", ".", "`a", "a`", "a`b`", "`a`b", "a.`b", "`a`.", "```"})
    EXPECT_EQ(conditionOf([&] { parseAttributeName(name); }), "INVALID_ATTRIBUTE_NAME_SYNTAX") << name;
}

}  // namespace
}  // namespace thalweg
